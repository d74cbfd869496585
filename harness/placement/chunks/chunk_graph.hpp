// The graph of chunks with the traffic between each two of them: the input of Algorithm 1 of DGC (SIGMOD'23, section
// 4.2).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "harness/placement/chunks/label_sums.hpp"
#include "harness/placement/chunks/super_graph.hpp"
#include "workloads/storage/growing_column.hpp"

namespace strobe {

struct ChunkGraph {
  /// Chunk of each node; chunks are numbered by their labels.
  Column<std::uint32_t> of_node;
  Column<std::int64_t> cells;  // [C], each at least 1
  /// h(a, a') of Eq. 3 for the chunks a' that share an edge with a, ascending. It is the weight of all edges between
  /// the two, in the columns of TrafficWeights (decisions G5). Symmetric.
  Column<std::int64_t> offsets;  // [C + 1]
  Column<std::uint32_t> neighbours;
  Column<std::int64_t> traffic;

  std::int64_t count() const { return static_cast<std::int64_t>(cells.size()); }
};

/// From one label in [0, nodes) for each node of `graph`. Memory: 12 bytes a cell, and 12 for each pair of neighbouring
/// chunks, both ways. Under a bound of memory (reading_bound.hpp) large arrays lie in temporary files. Cost
/// O(edges + p). p counts pairs of chunks that meet in a sequence, if edges reach whole sequences.
ChunkGraph chunk_graph(const SuperGraph& graph, Column<std::uint32_t> labels);
/// The same from chunks [0, count) of the nodes. A share of a graph also has remote nodes: cells and rows are those of
/// its own.
ChunkGraph chunk_graph(const SuperGraph& graph, Column<std::uint32_t> chunk, std::uint32_t count);

/// The sequence of each node: [nodes].
GrowingColumn<std::uint32_t> sequence_of_nodes(const SuperGraph& graph);

/// Rows of a graph of chunks, made one after the other.
class ChunkRows {
 public:
  ChunkRows() { offsets_.push_back(0); }
  /// Takes room for pairs of neighbouring chunks.
  void reserve(std::size_t pairs) { neighbours_.reserve(pairs), traffic_.reserve(pairs); }
  /// The row of the next chunk: the weights that it shares with each other chunk.
  void append(const LabelSums& shared);
  void finish(ChunkGraph& chunks);

 private:
  GrowingColumn<std::int64_t> offsets_{}, traffic_{};
  GrowingColumn<std::uint32_t> neighbours_{};
  std::vector<std::pair<std::uint32_t, std::int64_t>> others_;  // of one row
};

/// The weight of edges between nodes that are in different parts. `part` is by chunk.
std::int64_t cut_between(const ChunkGraph& chunks, const std::vector<Rank>& part);
/// The same with each chunk as a part.
std::int64_t cut_between_chunks(const ChunkGraph& chunks);

}  // namespace strobe
