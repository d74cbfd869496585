// The graph of chunks with the traffic between each two of them: the input of Algorithm 1 of DGC (SIGMOD'23, section
// 4.2).
#pragma once

#include <cstdint>
#include <vector>

#include "harness/placement/chunks/label_sums.hpp"
#include "harness/placement/chunks/super_graph.hpp"

namespace strobe {

struct ChunkGraph {
  /// Chunk of each node; chunks are numbered by their labels.
  std::vector<std::uint32_t> of_node;
  std::vector<std::int64_t> cells;  // [C], each at least 1
  /// h(a, a') of Eq. 3 for the chunks a' that share an edge with a, ascending. It is the weight of all edges between
  /// the two, in the columns of TrafficWeights (decisions G5). Symmetric.
  std::vector<std::int64_t> offsets;  // [C + 1]
  std::vector<std::uint32_t> neighbours;
  std::vector<std::int64_t> traffic;

  std::int64_t count() const { return static_cast<std::int64_t>(cells.size()); }
};

/// From one label in [0, nodes) for each node of `graph`. Memory: 12 bytes a cell, and 12 for each pair of neighbouring
/// chunks, both ways. Cost O(edges + p). p counts pairs of chunks that meet in a sequence, if edges reach whole
/// sequences.
ChunkGraph chunk_graph(const SuperGraph& graph, std::vector<std::uint32_t> labels);
/// The same from chunks [0, count) of the nodes. A share of a graph also has remote nodes: cells and rows are those of
/// its own.
ChunkGraph chunk_graph(const SuperGraph& graph, std::vector<std::uint32_t> chunk, std::uint32_t count);

/// Appends the row of the next chunk: the weights that it shares with each other chunk.
void append_row(const LabelSums& shared, ChunkGraph& chunks);

/// The weight of edges between nodes that are in different parts. `part` is by chunk.
std::int64_t cut_between(const ChunkGraph& chunks, const std::vector<Rank>& part);
/// The same with each chunk as a part.
std::int64_t cut_between_chunks(const ChunkGraph& chunks);

}  // namespace strobe
