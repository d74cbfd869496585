// Which rank each chunk goes to: Algorithm 1 of DGC (SIGMOD'23, section 4.2) with the readings of decisions 4.2.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/placement/chunks/chunk_graph.hpp"

namespace strobe {

struct ChunkAssignment {
  std::vector<Rank> rank;    // [C]
  std::vector<double> load;  // [P] predicted workload of each rank's chunks
};

/// Chunks in descending order of `workload` [C], those alike by number, each to one of `ranks`:
/// - score: the rank with the largest s_m = (mean - load_m) * traffic with its chunks (Eq. 3), mean = sum of workloads
/// /
///   ranks; of ties the one with the most room left, then the first; where no rank has room left, the least loaded one.
///   A rank may stay empty (decisions G4b).
/// - lpt: the least loaded rank, whatever the traffic (longest processing time first).
/// - score_then_fill: as score; then each empty rank gets the chunk that shares the least traffic with its rank's
/// others,
///   of ties the one with the smallest workload, of ranks that have several.
/// Cost O(C (log C + ranks) + neighbouring pairs).
ChunkAssignment assign_chunks(const ChunkGraph& chunks, const std::vector<double>& workload, int ranks,
                              const std::string& method);

/// lambda = largest over smallest load (DGC section 2.2.2); infinite where a rank is empty.
double divergence(const std::vector<double>& load);

}  // namespace strobe
