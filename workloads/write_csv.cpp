// Events as Strobe's own csv, with the fewest digits that read back to the same numbers.
#include <fmt/format.h>

#include "workloads/atomic_file.hpp"
#include "workloads/workload.hpp"

namespace strobe {

void write_csv(const EventGraph& graph, const std::string& path) {
  AtomicFile file(path);
  file.write(graph.stepped ? "source,target,step" : "source,target,time");
  file.write(graph.weight.empty() ? "\n" : ",weight\n");
  fmt::memory_buffer line;
  for (std::size_t e = 0; e < graph.source.size(); ++e) {
    line.clear();
    // fmt's {} prints the shortest digits that read back to the same number.
    fmt::format_to(std::back_inserter(line), "{},{},{}", graph.original_id[static_cast<std::size_t>(graph.source[e])],
                   graph.original_id[static_cast<std::size_t>(graph.target[e])], graph.time[e]);
    if (!graph.weight.empty()) fmt::format_to(std::back_inserter(line), ",{}", graph.weight[e]);
    line.push_back('\n');
    file.write({line.data(), line.size()});
  }
  file.commit();
}

}  // namespace strobe
