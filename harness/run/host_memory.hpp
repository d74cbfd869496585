// Refuses cases that would take more host memory than `host_memory_limit_gib`, before they are trained.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/process/ranks.hpp"
#include "harness/schedule/planned_case.hpp"

namespace strobe {

/// The processes of a job as one of its nodes sees them.
struct NodeRanks {
  std::int64_t nodes = 1, processes = 1;  // processes: of this node
  std::vector<Rank> ranks;                // of this node; empty: all ranks are threads of this process
  double program_bytes = 0;  // private memory of a process before it holds data; 0: planning is not measured
};

/// Call it before data are loaded.
NodeRanks ranks_of_node(const Ranks& ranks);

/// The least limit of the cases, in bytes; 0 without one.
double least_host_limit(const std::vector<Case>& cases);

/// Throws InvalidRequest("/host_memory_limit_gib") when the graph has no room as it is read or made, as far as its
/// counts are known beforehand. Does nothing without a limit.
void check_room_to_read(const Case& request);

/// Compares the limit with the node's programs, what their plans hold, and the planned peak of each rank whose device
/// memory is the host's. Mapped files need no memory. `planning_bytes` is the memory that planning took in this
/// process, at its most. Throws InvalidRequest("/host_memory_limit_gib") on all processes alike, with the number of
/// nodes that would do. Does nothing without a limit. All processes of the case call it. Cost: planned_peak.
void check_host_memory(const PlannedCase& plan, const NodeRanks& here, double planning_bytes);

}  // namespace strobe
