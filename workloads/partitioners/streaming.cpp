#include "workloads/partitioners/streaming.hpp"

#include <algorithm>

#include "workloads/partitioners/partitioning.hpp"
#include "workloads/partitioners/vertex_lists.hpp"

namespace strobe {
namespace {

/// Blocks that a large graph is read in, and the vertices that are worth a block.
constexpr std::int64_t stream_blocks = 16, stream_block_vertices = 1 << 16;

StreamTotals totals_of(const PreparedGraph& graph, int parts) {
  StreamTotals totals{graph.vertices, graph.nonzeros() + graph.steps * graph.vertices, graph.nonzeros(), parts};
  const std::int64_t* row = graph.row_offsets.data();
  for (std::int64_t t = 0; t < graph.steps; ++t) {
    for (VertexId v = 0; v < graph.vertices; ++v, ++row) {
      const VertexId* columns = graph.columns.data();
      totals.edges -= std::binary_search(columns + row[0], columns + row[1], v) ? 1 : 0;
    }
  }
  return totals;
}

void place_block(const VertexLists& lists, StreamedParts& parts) {
  for (std::int64_t i = 0; i < lists.vertices.count; ++i) {
    const std::int64_t first = lists.offsets[i];
    const auto count = static_cast<std::size_t>(lists.offsets[static_cast<std::size_t>(i) + 1] - first);
    parts.place(static_cast<VertexId>(lists.vertices.first + i), lists.work[i],
                {lists.neighbours.data() + first, count}, {lists.weights.data() + first, count});
  }
}

}  // namespace

std::int64_t StreamTotals::capacity() const {
  return static_cast<std::int64_t>(allowed_imbalance * static_cast<double>(work) / parts);
}

StreamedParts::StreamedParts(const StreamRule& rule, const StreamTotals& totals)
    : owner(totals.vertices, -1),
      load(totals.parts, 0),
      rule_(rule),
      totals_(totals),
      price_(totals.parts, rule.price(totals, 0)),
      weight_(totals.parts, 0) {}

void StreamedParts::place(VertexId v, std::int64_t work, std::span<const VertexId> neighbours,
                          std::span<const std::int32_t> weights) {
  std::fill(weight_.begin(), weight_.end(), 0);
  for (std::size_t i = 0; i < neighbours.size(); ++i) {
    const Rank part = owner[neighbours[i]];
    if (part >= 0) weight_[part] += weights[i];
  }
  const Rank part = best_part(work);
  owner[v] = part;
  load[part] += work;
  price_[part] = rule_.price(totals_, static_cast<double>(load[part]));
}

Rank StreamedParts::best_part(std::int64_t work) const {
  const std::int64_t capacity = totals_.capacity();
  Rank best = -1;
  double most = 0;
  for (Rank p = 0; p < totals_.parts; ++p) {
    if (load[p] + work > capacity) continue;
    const double score = rule_.score(static_cast<double>(weight_[p]), static_cast<double>(work), price_[p]);
    if (best >= 0 && (score < most || (score == most && load[p] >= load[best]))) continue;
    best = p;
    most = score;
  }
  if (best >= 0) return best;
  return static_cast<Rank>(std::min_element(load.begin(), load.end()) - load.begin());
}

std::vector<Rank> stream_vertices(const PreparedGraph& graph, int parts, const StreamRule& rule) {
  require_structure(graph, rule.partitioner);
  StreamedParts placed(rule, totals_of(graph, parts));
  const std::int64_t block = std::max(stream_block_vertices, (graph.vertices - 1) / stream_blocks + 1);
  for (std::int64_t first = 0; first < graph.vertices; first += block) {
    place_block(merged_lists(graph, {first, std::min(block, graph.vertices - first)}), placed);
  }
  fill_empty_parts(placed.owner, parts);
  return std::move(placed.owner);
}

}  // namespace strobe
