// Host memory of the plan of a snapshot case, counted from its arrays.
#pragma once

#include "backends/memory_part.hpp"
#include "harness/full_batch/plan/full_batch_plan.hpp"

namespace strobe {

using HostBytes = PerMemoryPart<std::uint64_t>;

/// Private bytes of the arrays of a graph as it was read or made: none for arrays in a mapped file. Equal steps that
/// share one snapshot count once.
HostBytes bytes_of_parts(const SnapshotGraph& graph);
/// The same as models read it.
HostBytes bytes_of_parts(const PreparedGraph& graph);
std::uint64_t bytes_of(const Samples& samples);

/// Bytes of everything that this process holds for the plan: both graphs, samples, placements, exchanges. Cost:
/// O(T + P) arrays.
HostBytes host_parts(const FullBatchPlan& plan);
/// The part of both graphs, presence and samples.
HostBytes host_parts(const DataPlan& data);

}  // namespace strobe
