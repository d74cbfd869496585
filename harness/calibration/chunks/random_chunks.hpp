// Cuts chunks at random from a graph, to train the learned workload.
#pragma once

#include <cstdint>
#include <vector>

#include "core/random.hpp"
#include "harness/placement/chunks/super_graph.hpp"

namespace strobe {

/// Parameters for drawing one chunk.
struct ChunkDraw {
  std::int64_t cells = 1;
  double temporal_share = 0.5;  // share of growth steps in time, to the cell before or after
};

/// Grows connected chunks in one graph, like those of label propagation. Starts at a random cell and follows random
/// edges, in space or in time, to cells outside the chunk. If no edge leaves the chunk any more, continues at another
/// random cell.
class ChunkGrower {
 public:
  /// `super` must outlive this and list spatial edges.
  explicit ChunkGrower(const SuperGraph& super);
  /// Distinct nodes, ascending: `draw.cells` of them, or all if there are fewer. Cost O(edges of the chunk's cells).
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
