// Chunks that several processes make together, each from its share of the super graph: label propagation among cells,
// then among chunks, level by level. The result is the same at every number of processes.
// Rows of a graph of chunks lie with the process that counted the cells of the label. It gets the sums that other
// processes make of their own cells' edges. Only the last graph is gathered whole.
// Memory of a process: its share, twice 16 bytes for each pair of neighbouring chunks that meet in it or that it holds,
// then the whole result: 4 bytes a cell, and the last graph of chunks.
#pragma once

#include <cstdint>

#include "harness/placement/chunks/synchronous_propagation.hpp"

namespace strobe {

struct ChunksTogether {
  ChunkGraph chunks;            // of all processes
  std::int64_t rounds = 0;      // of label propagation among cells
  std::int64_t moved_last = 0;  // cells that changed their label in the last of them
  std::int64_t levels = 1;      // levels that found chunks, including that of the cells
};

/// Makes chunks in at most `levels` levels. Leaves the sequences of `share` and releases the rest. All `holders` call
/// it.
ChunksTogether make_chunks_together(SuperGraphShare& share, const PropagationLimits& limits, std::int64_t levels,
                                    const ShareHolders& holders);

}  // namespace strobe
