#include "harness/calibration/chunks/random_chunks.hpp"

#include <algorithm>

namespace strobe {
namespace {

NodeId draw_from(std::vector<NodeId>& nodes, const RandomStream& random, std::uint64_t index) {
  std::swap(nodes[random.below(index, nodes.size())], nodes.back());
  const NodeId node = nodes.back();
  nodes.pop_back();
  return node;
}

}  // namespace

ChunkGrower::ChunkGrower(const SuperGraph& super)
    : super_(super),
      starts_(static_cast<std::size_t>(super.nodes()) + 1, false),
      taken_by_(static_cast<std::size_t>(super.nodes()), 0) {
  for (const NodeSequence& sequence : super.sequences) starts_[sequence.first] = true;
  starts_.back() = true;
}

void ChunkGrower::take(NodeId node) {
  taken_by_[node] = chunk_;
  taken_.push_back(node);
  for (std::int64_t e = super_.offsets[node]; e < super_.offsets[node + 1]; ++e)
    spatial_.push_back(super_.neighbours[e]);
  if (!starts_[node]) temporal_.push_back(node - 1);
  if (!starts_[node + 1]) temporal_.push_back(node + 1);
}

NodeId ChunkGrower::next(const ChunkDraw& draw, const RandomStream& random) {
  while (!spatial_.empty() || !temporal_.empty()) {
    const bool wants_temporal = random.uniform(drawn_++) < draw.temporal_share;
    const bool temporal = spatial_.empty() || (wants_temporal && !temporal_.empty());
    const NodeId node = draw_from(temporal ? temporal_ : spatial_, random, drawn_++);
    if (taken_by_[node] != chunk_) return node;
  }
  for (;;) {
    const auto node = static_cast<NodeId>(random.below(drawn_++, taken_by_.size()));
    if (taken_by_[node] != chunk_) return node;
  }
}

std::vector<NodeId> ChunkGrower::grow(const ChunkDraw& draw, const RandomStream& random) {
  ++chunk_, drawn_ = 0;
  spatial_.clear(), temporal_.clear(), taken_.clear();
  const std::size_t count = std::min(draw.cells, super_.nodes());
  while (taken_.size() < count) take(next(draw, random));
  std::sort(taken_.begin(), taken_.end());
  return taken_;
}

}  // namespace strobe
