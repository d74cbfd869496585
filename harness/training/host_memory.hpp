// Refuses cases that would take more host memory than `host_memory_limit_gib`, before they are trained.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "backends/cluster.hpp"
#include "core/data_cache.hpp"
#include "harness/process/ranks.hpp"
#include "harness/schedule/planned_case.hpp"
#include "harness/training/planned_peak.hpp"

namespace strobe {

inline constexpr const char* host_limit_place = "/host_memory_limit_gib";
/// The beginning of the note with the planned bytes.
inline constexpr const char* host_limit_note = "host_memory_limit_gib: training is planned to take ";

/// The processes of a job as one of its nodes sees them.
struct NodeRanks {
  std::int64_t nodes = 1, processes = 1;  // processes: of this node
  std::vector<Rank> ranks;                // of this node; empty: all ranks are threads of this process
  double program_bytes = 0;               // of a process that trains, without data; 0: planning is not measured
  std::set<std::string> files;            // names of the output files that each case writes at its end
};

/// Call it before data are loaded.
NodeRanks ranks_of_node(const Ranks& ranks);

/// The least limit of the cases, in bytes; 0 without one.
double least_host_limit(const std::vector<Case>& cases);

/// Whether a case's data lie by node (memory_layout=distributed), so that no process may hold all of them.
bool any_lies_by_node(const std::vector<Case>& cases);

/// Throws InvalidRequest("/host_memory_limit_gib") when the graph has no room as it is read or made, as far as its
/// counts are known beforehand. Does nothing without a limit.
void check_room_to_read(const Case& request);

/// Whether a case keeps within its limit.
struct HostVerdict {
  double bytes = 0, training = 0;  // of the fullest node, at its most and in training
  std::string reason;              // why that is too much; "" when it is not
};

/// Compares the limit with the node's programs, what their plans hold, and the tensors and metrics of each rank.
/// `peak` counts where tensors lie in the memory of the host. Mapped files need none. `planning_bytes` is the memory
/// that planning took in this process, at its most, and `also_held` what it holds next to the plan. All processes of a
/// run call it, and get the same verdict.
HostVerdict judge_host_memory(const PlannedCase& plan, const PlannedPeak& peak, PlanUse use, const NodeRanks& here,
                              double planning_bytes, double also_held = 0);

/// `make_plan` in a process that knows the ranks of its node. `make_plan` alone takes all ranks for threads of one
/// process. Both choose what the case leaves open so that the node keeps within its limit too.
std::shared_ptr<const PlannedCase> make_plan_here(const Case& request, PlanUse use, const DataCache& cache,
                                                  const NodeRanks& here);

/// A node's memory in training, planned under a limit; nothing without one.
struct TrainingMemory {
  double bytes = 0;
  std::string note;
  bool reads_again = false;  // whether a simulated node reads blocks from its disk again
};

/// Throws InvalidRequest("/host_memory_limit_gib") after such a verdict, with the number of nodes that would do. Throws
/// InvalidRequest("/cluster") when a simulated job would read blocks again from a disk whose rate is not known.
/// Cost: planned_peak.
TrainingMemory check_host_memory(const PlannedCase& plan, const NodeRanks& here, double planning_bytes);

/// The cluster of a case with a limit, whose nodes keep pages of files in the memory that training leaves.
/// `training_bytes` comes from check_host_memory.
std::shared_ptr<const Cluster> with_page_cache(const Case& c, const std::shared_ptr<const Cluster>& cluster,
                                               double training_bytes);

/// The same for the epoch of `measuring` that comes before training, while `plan` is kept (fusion_memory=measured).
/// Returns the end of that note.
std::string check_measuring_epoch(const PlannedCase& measuring, const PlannedCase& plan, const NodeRanks& here);

}  // namespace strobe
