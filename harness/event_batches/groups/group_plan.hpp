// What a case's groups of ranks come to: the order of batches, sizes of a copy of the memory, and what is not exact.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/event_batches/batches/batch_order.hpp"
#include "harness/event_batches/batches/event_case.hpp"
#include "harness/event_batches/groups/memory_daemon.hpp"
#include "harness/event_batches/groups/remote_rows.hpp"

namespace strobe {

/// What all ranks' trainers know.
struct GroupPlan {
  std::shared_ptr<const EventCase> events;
  BatchOrder order;
  MemoryShape memory;                        // of a copy; width 0: the model has none
  std::vector<std::string> metrics;          // names that an evaluation gives, in one order on all ranks
  std::shared_ptr<const RemoteRows> remote;  // of a memory that lies on several nodes; else null

  /// Whether each copy lies on the device of its only rank.
  bool on_device() const { return events->options.memory_on == "device"; }
  /// Sweeps that copy 0 has ended when an epoch begins.
  std::int64_t sweeps_before(std::int64_t epoch) const { return order.first_iteration(epoch) / order.batches(); }
  /// Whether weights are evaluated after an epoch: of `evaluate=copy0` behind one in which copy 0 ends a sweep.
  bool evaluates_after(std::int64_t epoch) const;
};

/// Sizes of a copy of the case's memory, and of what its daemon and ranks pass each other.
MemoryShape memory_shape(const EventCase& c);

/// The daemons that keep the memory; none where it lies on devices, or there is none.
std::vector<HelperRequest> memory_daemons(const GroupPlan& plan);

/// Name of what a checkpoint keeps of a plan's groups, and its values: only the same groups can go on from it.
inline constexpr const char* kept_groups = "groups";
std::vector<double> groups_to_keep(const GroupPlan& plan);

/// Of a case with one rank too. Throws InvalidRequest where groups do not fit the ranks, the nodes or the events.
GroupPlan plan_of_groups(const std::shared_ptr<const EventCase>& c);

/// What makes training in these groups another one than that of one rank with the same global batch.
std::vector<std::string> approximations_of(const TrainingGroups& groups);

}  // namespace strobe
