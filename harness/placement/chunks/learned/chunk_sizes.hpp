// Sizes of a chunk of cells, from which its workload is predicted.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "harness/placement/chunks/super_graph.hpp"

namespace strobe {

struct ChunkSizes {
  double cells = 0;
  double edges = 0;  // non-zeros of its rows of A, self-loops too
  /// Steps that a time encoder walks for a sequence that has cells in the chunk, their mean and the most: of its runs
  /// of steps within the chunk (a recurrence, a window), or from its beginning up to its last cell there (an attention,
  /// which reads all of them).
  double mean_length = 0, longest = 0;
  /// Rounds in which its runs of steps are walked, since a run waits for those before it in its sequence, which other
  /// chunks have (docs/cells.md); and steps that follow each other, of each round its longest run. One round, from the
  /// beginning, for an attention.
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
  std::vector<ChunkSizes> of_chunks(const std::vector<std::uint32_t>& of_node, std::size_t count) const;

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
