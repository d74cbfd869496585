// Sizes of a chunk of cells, the inputs for predicting its workload.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "harness/placement/chunks/super_graph.hpp"

namespace strobe {

struct ChunkSizes {
  double cells = 0;
  double edges = 0;  // non-zeros of its rows of A, self-loops too
  /// Steps that a time encoder walks per sequence with cells in the chunk: their mean and their maximum. A recurrence
  /// or a window walks the sequence's runs of steps within the chunk. An attention reads all cells from the beginning
  /// up to the last cell in the chunk.
  double mean_length = 0, longest = 0;
  /// Rounds that walk the chunk's runs of steps. A run waits for the earlier runs of its sequence, which other chunks
  /// have (docs/explanation/cells.md). Also consecutive steps: the sum of each round's longest run. An attention has
  /// one round, from the beginning.
  double rounds = 0, walked = 0;
};

/// Sizes of chunks of one graph.
class SizedCells {
 public:
  /// `from_beginning`: how lengths are counted. Both must outlive this. Cost O(T N).
  SizedCells(const PreparedGraph& graph, const SuperGraph& super, bool from_beginning);

  /// Sizes of the chunk with these nodes, ascending. Cost O(nodes).
  ChunkSizes operator()(std::span<const NodeId> nodes) const;
  /// Sizes of the chunks [0, count), from the chunk of each node.
  std::vector<ChunkSizes> of_chunks(std::span<const std::uint32_t> of_node, std::size_t count) const;

  /// The row t N + v of A of each node.
  const std::vector<std::int64_t>& rows() const { return row_; }
  const NodeSequence& sequence(NodeId node) const { return super_.sequences[sequence_[node]]; }

 private:
  const PreparedGraph& graph_;
  const SuperGraph& super_;
  bool from_beginning_;
  std::vector<std::int64_t> row_;
  std::vector<std::uint32_t> sequence_;  // of each node
};

}  // namespace strobe
