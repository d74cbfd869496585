#include "harness/full_batch/inputs/file_rows.hpp"

#include <algorithm>

#include "workloads/storage/pages.hpp"

namespace strobe {
namespace {

using Advise = void (*)(const void* data, std::size_t bytes);

/// Values [first, end) of an array, if it has any.
template <class T>
void advise_part(const Column<T>& values, std::int64_t first, std::int64_t end, Advise advise) {
  if (values.empty() || end <= first) return;
  advise(values.data() + first, static_cast<std::size_t>(end - first) * sizeof(T));
}

void advise_rows(const PreparedGraph& graph, const GraphRows& rows, Advise advise) {
  const std::int64_t width = graph.feature_width;
  for (const Column<float>* cells : {&graph.features32, &graph.products32})
    advise_part(*cells, rows.first * width, rows.end * width, advise);
  for (const Column<double>* cells : {&graph.features64, &graph.products64})
    advise_part(*cells, rows.first * width, rows.end * width, advise);
  if (!graph.has_structure()) return;
  const std::int64_t first = graph.row_offsets[rows.first], end = graph.row_offsets[rows.end];
  advise_part(graph.columns, first, end, advise);
  advise_part(graph.values32, first, end, advise);
  advise_part(graph.values64, first, end, advise);
  advise_part(graph.row_offsets, rows.first, rows.end + 1, advise);
}

double nonzeros_of(const PreparedGraph& graph, const GraphRows& rows) {
  if (graph.has_structure()) return static_cast<double>(graph.row_offsets[rows.end] - graph.row_offsets[rows.first]);
  double sum = 0;
  for (std::int64_t begin = rows.first; begin < rows.end;) {
    const Step t = begin / graph.vertices;
    const std::int64_t end = std::min(rows.end, (t + 1) * graph.vertices);
    sum += static_cast<double>(graph.step_nonzeros(t)) * static_cast<double>(end - begin) /
           static_cast<double>(graph.vertices);
    begin = end;
  }
  return sum;
}

}  // namespace

std::vector<GraphRows> rows_read(const Placement& placement, Rank rank, std::int64_t first_step) {
  std::vector<GraphRows> rows;
  for (Step t = 0; t < placement.steps(); ++t) {
    const std::vector<Run>& runs = placement.map(t).runs_of(rank);
    if (runs.empty()) continue;
    const std::int64_t begin = (first_step + t) * placement.vertices;
    const GraphRows here{begin + runs.front().first, begin + runs.back().first + runs.back().count};
    if (!rows.empty() && rows.back().end == here.first) {
      rows.back().end = here.end;
    } else {
      rows.push_back(here);
    }
  }
  return rows;
}

void bring_rows(const PreparedGraph& graph, const std::vector<GraphRows>& rows) {
  for (const GraphRows& some : rows) advise_rows(graph, some, bring_pages);
}

void let_go(const PreparedGraph& graph, const std::vector<GraphRows>& rows) {
  for (const GraphRows& some : rows) advise_rows(graph, some, rest_pages);
}

double bytes_of_rows(const PreparedGraph& graph, const std::vector<GraphRows>& rows, std::size_t value_bytes) {
  double bytes = 0;
  for (const GraphRows& some : rows) {
    const double cells = static_cast<double>(some.end - some.first);
    bytes += cells * static_cast<double>(sizeof(std::int64_t) + graph.cell_width() * value_bytes) +
             nonzeros_of(graph, some) * static_cast<double>(sizeof(VertexId) + value_bytes);
  }
  return bytes;
}

}  // namespace strobe
