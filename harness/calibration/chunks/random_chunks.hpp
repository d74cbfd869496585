// Chunks cut at random from a graph: what the learned workload is trained on.
#pragma once

#include <cstdint>
#include <vector>

#include "core/random.hpp"
#include "harness/placement/chunks/super_graph.hpp"

namespace strobe {

/// How one chunk is drawn.
struct ChunkDraw {
  std::int64_t cells = 1;
  double temporal_share = 0.5;  // of the steps along which it grows, those to the cell before or after
};

/// Grows chunks in one graph: from a random cell, along random edges of those that leave what has been taken, to
/// neighbours in space or in time, as the chunks of label propagation hang together. Where nothing leaves it any more,
/// another random cell is taken.
class ChunkGrower {
 public:
  /// `super` must outlive this and list spatial edges.
  explicit ChunkGrower(const SuperGraph& super);
  /// Distinct nodes, ascending, `draw.cells` of them or all there are. Cost O(edges of the chunk's cells).
  std::vector<NodeId> grow(const ChunkDraw& draw, const RandomStream& random);

 private:
  void take(NodeId node);
  NodeId next(const ChunkDraw& draw, const RandomStream& random);

  const SuperGraph& super_;
  std::vector<bool> starts_;  // whether a node is its sequence's first
  std::vector<std::uint32_t> taken_by_;
  std::uint32_t chunk_ = 0;
  std::uint64_t drawn_ = 0;
  std::vector<NodeId> spatial_, temporal_, taken_;
};

}  // namespace strobe
