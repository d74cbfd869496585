// Label propagation goes on where cells are at rest: on the graph of chunks, by the same rule (Eq. 2 of DGC,
// SIGMOD'23), each chunk with the weight of all its edges and the size of all its cells. With ties kept (decisions G8)
// cells come to rest early, in small chunks that nothing pulls apart; merging them as graph coarsening does (the idea
// that DGC's section 4 starts from) only lowers the cut and keeps the cap. DGC prints the first level alone.
#pragma once

#include <cstdint>

#include "harness/placement/chunks/chunk_graph.hpp"

namespace strobe {

/// Merges chunks, at most `levels` times, each by at most `rounds` rounds, until nothing merges; no chunk gets more
/// than `max_cells` cells. The order is seeded; one thread walks it. Returns the levels that merged any. Cost of a
/// round: O(neighbouring pairs of the chunks asked).
std::int64_t merge_chunks(ChunkGraph& chunks, std::int64_t max_cells, std::int64_t levels, std::int64_t rounds,
                          std::uint64_t seed);

}  // namespace strobe
