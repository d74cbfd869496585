// Events as Strobe's own csv, with the fewest digits that read back to the same numbers. Vertices are written by the
// file's names where these identify all vertices, times as dates where the file wrote dates.
#include <fmt/format.h>

#include "core/errors.hpp"
#include "workloads/graph/exact_values.hpp"
#include "workloads/reading/ids/vertex_names.hpp"
#include "workloads/reading/text/dates.hpp"
#include "workloads/reading/text/quoted_csv.hpp"
#include "workloads/storage/atomic_file.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

/// The text of each vertex: [vertices]. Names that look like numbers are quoted, so that the reader of the first row
/// recognises them as names.
std::vector<std::string> vertex_cells(const EventGraph& graph) {
  std::vector<std::string> cells;
  if (names_tell_apart(graph.vertex_name)) {
    for (const std::string& name : graph.vertex_name) {
      const bool digits = name.find_first_not_of("+-.0123456789eE") == std::string::npos;
      cells.push_back(digits ? quoted_cell(name) : csv_cell(name));
    }
  } else {
    for (const std::int64_t id : graph.original_id) cells.push_back(fmt::format("{}", id));
  }
  return cells;
}

}  // namespace

void write_csv(const EventGraph& graph, const std::string& path) {
  if (graph.removals)
    throw InvalidRequest(
        "OUT", "csv cannot hold the rows of weight -1 that remove edges from this network; write a .strobe file");
  AtomicFile file(path);
  file.write(graph.stepped ? "source,target,step" : "source,target,time");
  file.write(graph.weight.empty() ? "\n" : ",weight\n");
  const std::vector<std::string> vertices = vertex_cells(graph);
  const bool dates = graph.dated && !graph.stepped, time_of_day = dates && !all_midnights(graph.time);
  fmt::memory_buffer line;
  for (std::size_t e = 0; e < graph.source.size(); ++e) {
    line.clear();
    fmt::format_to(std::back_inserter(line), "{},{},", vertices[graph.source[e]], vertices[graph.target[e]]);
    // fmt's {} prints the shortest digits that read back to the same number.
    if (dates)
      fmt::format_to(std::back_inserter(line), "{}", date_text(graph.time[e], time_of_day));
    else
      fmt::format_to(std::back_inserter(line), "{}", graph.time[e]);
    if (!graph.weight.empty()) fmt::format_to(std::back_inserter(line), ",{}", exact_weight(graph, e));
    line.push_back('\n');
    file.write({line.data(), line.size()});
  }
  file.commit();
}

}  // namespace strobe
