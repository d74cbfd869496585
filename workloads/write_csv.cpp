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

/// The text of a vertex: its name, or without `by_name` its id. Names that look like numbers are quoted, so that the
/// reader of the first row recognises them as names.
void add_vertex(const EventGraph& graph, bool by_name, VertexId v, fmt::memory_buffer& line) {
  if (!by_name) {
    fmt::format_to(std::back_inserter(line), "{},", graph.original_id[v]);
    return;
  }
  const std::string_view name = graph.vertex_name[v];
  const bool digits = name.find_first_not_of("+-.0123456789eE") == std::string_view::npos;
  fmt::format_to(std::back_inserter(line), "{},", digits ? quoted_cell(name) : csv_cell(name));
}

}  // namespace

void write_csv(const EventGraph& graph, const std::string& path) {
  if (graph.removals)
    throw InvalidRequest(
        "OUT", "csv cannot hold the rows of weight -1 that remove edges from this network; write a .strobe file");
  AtomicFile file(path);
  file.write(graph.stepped ? "source,target,step" : "source,target,time");
  file.write(graph.weight.empty() ? "\n" : ",weight\n");
  const bool by_name = names_tell_apart(graph.vertex_name);
  const bool dates = graph.dated && !graph.stepped, time_of_day = dates && !all_midnights(graph.time);
  fmt::memory_buffer line;
  for (std::size_t e = 0; e < graph.source.size(); ++e) {
    line.clear();
    add_vertex(graph, by_name, graph.source[e], line);
    add_vertex(graph, by_name, graph.target[e], line);
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
