// Continues label propagation on the graph of chunks, once no cell moves any more. The rule is the same (Eq. 2 of DGC,
// SIGMOD'23): each chunk has the weight of all its edges and the size of all its cells.
// With ties kept (decisions G8), cells stop moving early, in small chunks. Merging these chunks is graph coarsening,
// the idea that DGC's section 4 starts from. It only lowers the cut, and it keeps the size limit. DGC itself prints the
// first level alone.
#pragma once

#include <cstdint>
#include <span>

#include "harness/placement/chunks/chunk_graph.hpp"

namespace strobe {

/// Merges chunks in at most `levels` levels of at most `rounds` rounds each, until nothing merges. No chunk gets more
/// than `max_cells` cells. The order is seeded, and one thread walks it.
/// Returns the number of levels that merged any. Cost of a round: O(neighbouring pairs of the chunks asked).
std::int64_t merge_chunks(ChunkGraph& chunks, std::int64_t max_cells, std::int64_t levels, std::int64_t rounds,
                          std::uint64_t seed);

/// The graph whose nodes are the labels [0, count) of chunks. A share of a graph also has labels of remote chunks:
/// cells and rows are those of its own.
ChunkGraph contracted(ChunkGraph chunks, std::span<const std::uint32_t> label, std::uint32_t count);

}  // namespace strobe
