#include "workloads/partitioners/streaming.hpp"

#include <algorithm>

#include "workloads/partitioners/partitioning.hpp"
#include "workloads/partitioners/vertex_lists.hpp"

namespace strobe {
namespace {

/// Blocks that a large graph is read in, and the vertices that are worth a block.
constexpr std::int64_t stream_blocks = 16, stream_block_vertices = 1 << 16;

StreamTotals totals_of(const GraphShare& share, int parts) {
  const std::vector<std::int64_t> sums = share.holders.sums({share.work, share.edges});
  return {share.vertices, sums[0], sums[1], parts};
}

void place_block(const VertexLists& lists, StreamedParts& parts) {
  for (std::int64_t i = 0; i < lists.vertices.count; ++i) {
    const std::int64_t first = lists.offsets[i];
    const auto count = static_cast<std::size_t>(lists.offsets[static_cast<std::size_t>(i) + 1] - first);
    parts.place(static_cast<VertexId>(lists.vertices.first + i), lists.work[i],
                {lists.neighbours.data() + first, count}, {lists.weights.data() + first, count});
  }
}

/// Owners of the share's vertices.
std::vector<Rank> place_share(const GraphShare& share, std::int64_t block, StreamedParts& placed) {
  const std::int64_t end = share.own.first + share.own.count;
  for (std::int64_t first = share.own.first; first < end; first += block)
    place_block(share.lists({first, std::min(block, end - first)}), placed);
  return {placed.owner.begin() + share.own.first, placed.owner.begin() + end};
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

void StreamedParts::take(std::int64_t first, const std::vector<Rank>& owners, std::vector<std::int64_t> loads) {
  std::copy(owners.begin(), owners.end(), owner.begin() + first);
  load = std::move(loads);
  for (std::size_t p = 0; p < load.size(); ++p) price_[p] = rule_.price(totals_, static_cast<double>(load[p]));
}

std::vector<Rank> stream_vertices(const GraphShare& share, int parts, const StreamRule& rule) {
  StreamedParts placed(rule, totals_of(share, parts));
  const std::int64_t block = std::max(stream_block_vertices, (share.vertices - 1) / stream_blocks + 1);
  std::int64_t first = 0;
  for (int turn = 0; turn < share.holders.size; ++turn) {
    const bool own = turn == share.holders.rank;
    std::vector<Rank> owners;
    share.holders.together([&] {
      if (own) owners = place_share(share, block, placed);
    });
    if (!share.holders.several()) break;
    owners = share.holders.broadcast(turn, owners);
    const std::vector<std::int64_t> loads = share.holders.broadcast(turn, placed.load);
    const auto count = static_cast<std::int64_t>(owners.size());
    if (!own) placed.take(first, owners, loads);
    first += count;
  }
  return std::move(placed.owner);
}

}  // namespace strobe
