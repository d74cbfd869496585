// Cost O(steps * vertices of the chunk and of the cells that it reads + entries).
#include "harness/calibration/chunks/chunk_plan.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace strobe {
namespace {

constexpr Rank nobody = -1, chunk_rank = 0, other_rank = 1;

/// The part of a graph that a chunk needs: vertices renumbered in their order, steps from 0.
struct ChunkPart {
  std::int64_t whole_vertices = 0;
  std::vector<std::int64_t> rows;  // of the chunk's cells in the whole graph's numbers t N + v, ascending
  std::vector<VertexId> vertices;  // of the whole graph, ascending; an extra vertex after them reads the first cell
  std::int64_t steps = 0;
  std::vector<Rank> owner;           // [steps * count()]
  std::vector<std::int32_t> begins;  // [steps * count()]

  std::int64_t count() const { return static_cast<std::int64_t>(vertices.size()) + 1; }
  std::int64_t place(std::int64_t whole_row) const {
    const auto v = static_cast<VertexId>(whole_row % whole_vertices);
    const auto at = std::lower_bound(vertices.begin(), vertices.end(), v) - vertices.begin();
    return whole_row / whole_vertices * count() + at;
  }
  std::int64_t reader() const { return rows.front() / whole_vertices * count() + count() - 1; }
};

std::vector<const PreparedGraph*> graphs_of(const FullBatchCase& whole) {
  std::vector<const PreparedGraph*> graphs{whole.data.graph.get()};
  for (const auto& support : whole.data.supports) graphs.push_back(support.get());
  return graphs;
}

/// Visits the whole graph's rows t N + u that the chunk reads in space.
template <class Visit>
void for_read(const FullBatchCase& whole, const ChunkPart& part, const Visit& visit) {
  for (const PreparedGraph* graph : graphs_of(whole)) {
    for (const std::int64_t row : part.rows) {
      const std::int64_t step = row / part.whole_vertices;
      for (auto e = graph->row_offsets[row]; e < graph->row_offsets[static_cast<std::size_t>(row) + 1]; ++e)
        visit(step * part.whole_vertices + graph->columns[e]);
    }
  }
}

/// Sequences begin where the whole graph's do, or where the part lacks the cell before.
void add_begins(ChunkPart& part, const Presence* presence) {
  const std::int64_t count = part.count();
  part.begins.assign(part.owner.size(), -1);
  for (Step t = 0; t < part.steps; ++t) {
    for (std::int64_t v = 0; v < count; ++v) {
      const std::size_t at = t * count + v;
      if (part.owner[at] == nobody) continue;
      const bool continues = t > 0 && part.owner[at - static_cast<std::size_t>(count)] != nobody && v + 1 < count &&
                             (presence == nullptr || presence->begin(part.vertices[v], t) < t);
      part.begins[at] = continues ? part.begins[at - static_cast<std::size_t>(count)] : t;
    }
  }
}

ChunkPart part_of(const FullBatchCase& whole, const SizedCells& cells, std::span<const NodeId> nodes) {
  ChunkPart part;
  part.whole_vertices = whole.data.graph->vertices;
  for (const NodeId node : nodes) part.rows.push_back(cells.rows()[node]);
  std::sort(part.rows.begin(), part.rows.end());
  part.steps = part.rows.back() / part.whole_vertices + 1;
  const auto add_vertex = [&](std::int64_t row) {
    part.vertices.push_back(static_cast<VertexId>(row % part.whole_vertices));
  };
  for (const std::int64_t row : part.rows) add_vertex(row);
  for_read(whole, part, add_vertex);
  std::sort(part.vertices.begin(), part.vertices.end());
  part.vertices.erase(std::unique(part.vertices.begin(), part.vertices.end()), part.vertices.end());
  part.owner.assign(part.steps * part.count(), nobody);
  const auto own = [&](std::int64_t row, Rank rank) { part.owner[part.place(row)] = rank; };
  for_read(whole, part, [&](std::int64_t row) { own(row, other_rank); });
  for (const NodeId node : nodes) {
    const NodeId first = cells.sequence(node).first;
    for (NodeId earlier = node; earlier-- > first;) {
      Rank& owner = part.owner[part.place(cells.rows()[earlier])];
      if (owner == chunk_rank) break;
      owner = other_rank;
    }
    own(cells.rows()[node], chunk_rank);
  }
  part.owner[part.reader()] = other_rank;
  add_begins(part, whole.data.presence.get());
  return part;
}

/// Copies `width` values of each existing cell.
template <class T>
std::vector<T> cell_values(const Column<T>& whole, std::int64_t width, const ChunkPart& part) {
  if (whole.empty()) return {};
  std::vector<T> values(part.steps * part.count() * width, T(0));
  for (Step t = 0; t < part.steps; ++t) {
    for (std::int64_t v = 0; v + 1 < part.count(); ++v) {
      const std::int64_t at = t * part.count() + v;
      if (part.owner[at] == nobody) continue;
      const std::int64_t from = (t * part.whole_vertices + part.vertices[v]) * width;
      std::copy_n(whole.begin() + from, width, values.begin() + at * width);
    }
  }
  return values;
}

/// Adds the entries of the chunk's rows, and one entry of the cell that reads its first cell.
void add_entries(const PreparedGraph& whole, const ChunkPart& part, PreparedGraph& graph) {
  std::vector<std::int64_t> row_offsets(static_cast<std::size_t>(part.steps * part.count()) + 1, 0);
  std::vector<VertexId> columns;
  std::vector<double> values64;
  std::vector<float> values32;
  std::vector<std::pair<std::int64_t, std::int64_t>> filled;  // row of the part, row of the whole
  for (const std::int64_t row : part.rows) filled.emplace_back(part.place(row), row);
  filled.emplace_back(part.reader(), -1);
  std::sort(filled.begin(), filled.end());
  for (const auto& [row, from] : filled) {
    const std::size_t begin = from < 0 ? 0 : whole.row_offsets[from];
    const std::size_t end = from < 0 ? 0 : whole.row_offsets[static_cast<std::size_t>(from) + 1];
    for (std::size_t e = begin; e < end; ++e) {
      const std::int64_t read = from / part.whole_vertices * part.whole_vertices + whole.columns[e];
      columns.push_back(static_cast<VertexId>(part.place(read) % part.count()));
      if (!whole.values64.empty()) values64.push_back(whole.values64[e]);
      if (!whole.values32.empty()) values32.push_back(whole.values32[e]);
    }
    if (from < 0) {
      columns.push_back(static_cast<VertexId>(part.place(part.rows.front()) % part.count()));
      if (!whole.values64.empty()) values64.push_back(1);
      if (!whole.values32.empty()) values32.push_back(1);
    }
    row_offsets[static_cast<std::size_t>(row) + 1] = static_cast<std::int64_t>(columns.size());
  }
  std::int64_t last = 0;  // rows without entries end where the row before them ends
  for (std::int64_t& offset : row_offsets) last = offset = std::max(offset, last);
  graph.row_offsets = std::move(row_offsets);
  graph.columns = std::move(columns);
  graph.values64 = std::move(values64);
  graph.values32 = std::move(values32);
}

std::shared_ptr<const PreparedGraph> cut_graph(const PreparedGraph& whole, const ChunkPart& part) {
  auto graph = std::make_shared<PreparedGraph>();
  graph->vertices = part.count(), graph->steps = part.steps, graph->feature_width = whole.feature_width;
  graph->first_product_done = whole.first_product_done, graph->features_kept = whole.features_kept;
  graph->features32 = cell_values(whole.features32, whole.feature_width, part);
  graph->features64 = cell_values(whole.features64, whole.feature_width, part);
  graph->products32 = cell_values(whole.products32, whole.feature_width, part);
  graph->products64 = cell_values(whole.products64, whole.feature_width, part);
  graph->presence = std::make_shared<const Presence>(part.count(), part.begins);
  add_entries(whole, part, *graph);
  return graph;
}

Placement placement_of(const ChunkPart& part) {
  Placement placement{2, part.count(), {}, {}};
  for (Step t = 0; t < part.steps; ++t) {
    const auto begin = part.owner.begin() + t * part.count(), end = begin + part.count();
    if (t == 0 || !std::equal(begin, end, begin - part.count()))
      placement.maps.push_back(partial_vertex_map(std::vector<Rank>(begin, end), 2));
    placement.map_of_step.push_back(static_cast<std::int32_t>(placement.maps.size()) - 1);
  }
  return placement;
}

/// One sample, of the chunk's first cell, because a plan needs samples. Nothing is trained on it.
std::shared_ptr<const TaskData> one_sample(const ChunkPart& part) {
  auto data = std::make_shared<TaskData>();
  data->steps = part.steps;
  data->train.vertices.push_back(static_cast<VertexId>(part.place(part.rows.front()) % part.count()));
  data->train.step.push_back(static_cast<Step>(part.rows.front() / part.whole_vertices));
  data->train.label.push_back(0);
  return data;
}

}  // namespace

std::shared_ptr<const FullBatchPlan> plan_chunk_alone(const FullBatchCase& whole, const SizedCells& cells,
                                                      std::span<const NodeId> nodes) {
  const ChunkPart part = part_of(whole, cells, nodes);
  DataPlan data;
  data.graph = cut_graph(*whole.data.graph, part);
  for (const auto& support : whole.data.supports) data.supports.push_back(cut_graph(*support, part));
  data.presence = data.graph->presence;
  data.samples = one_sample(part);
  data.trained_steps = part.steps;
  const Placement placement = placement_of(part);
  return lay_out(FullBatchCase{whole.request, whole.use, whole.options, std::move(data), whole.model},
                 StrategyPlan{placement, placement, even_blocks(part.steps, 1), {}, {}});
}

}  // namespace strobe
