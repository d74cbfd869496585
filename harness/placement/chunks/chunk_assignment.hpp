// Assigns chunks to ranks: Algorithm 1 of DGC (SIGMOD'23, section 4.2) with the readings of decisions 4.2.
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

/// Assigns each chunk to one of `ranks`, in descending order of `workload` [C]. Chunks of equal workload go in the
/// order of their numbers. `method` is one of:
/// - score: the rank with the largest s_m = (mean - load_m) * traffic with its chunks (Eq. 3), where
///   mean = sum of workloads / ranks. Ties go to the rank with the most room left, then to the first. If no rank has
///   room left, the least loaded one wins. A rank may stay empty (decisions G4b).
/// - lpt: the least loaded rank, whatever the traffic (longest processing time first).
/// - score_then_fill: as score. Then each empty rank gets a chunk of a rank that has several. It is the chunk with the
///   least traffic with its rank's other chunks; on a tie, the one with the smallest workload.
/// Cost O(C (log C + ranks) + neighbouring pairs).
ChunkAssignment assign_chunks(const ChunkGraph& chunks, const std::vector<double>& workload, int ranks,
                              const std::string& method);

/// lambda = largest over smallest load (DGC section 2.2.2); infinite where a rank is empty.
double divergence(const std::vector<double>& load);

}  // namespace strobe
