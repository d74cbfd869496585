// The plan of a case's groups of ranks: the order of batches, the sizes of a copy of the memory, and approximations.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "harness/event_batches/batches/batch_order.hpp"
#include "harness/event_batches/batches/event_case.hpp"
#include "harness/event_batches/batches/event_part.hpp"
#include "harness/event_batches/groups/memory_daemon.hpp"
#include "harness/event_batches/groups/remote_rows.hpp"
#include "harness/event_batches/trainer/evaluation_order.hpp"

namespace strobe {

/// The rows of an evaluation's draws. The first call of `get` counts them, for all ranks of the process. It
/// costs as much as all draws of the evaluation, so planning alone leaves it out.
class EvaluationRows {
 public:
  EvaluationRows(std::shared_ptr<const EvaluationOrder> order, std::int64_t ranks, std::int64_t nodes)
      : order_(std::move(order)), ranks_(ranks), nodes_(nodes) {}
  std::shared_ptr<const RemoteRows> get() const {
    std::call_once(counted_, [&] { rows_ = std::make_shared<const RemoteRows>(*order_, ranks_, nodes_); });
    return rows_;
  }

 private:
  std::shared_ptr<const EvaluationOrder> order_;
  std::int64_t ranks_, nodes_;
  mutable std::once_flag counted_;
  mutable std::shared_ptr<const RemoteRows> rows_;
};

/// An evaluation that all ranks make together, because the events and the memory lie by node.
struct JointEvaluationPlan {
  std::shared_ptr<const EvaluationOrder> order;  // null: rank 0 evaluates alone
  std::shared_ptr<const EvaluationRows> rows;
  std::shared_ptr<const EventPart> part;  // of the evaluated events; null: every rank reads all events
};

/// All ranks have the same plan.
struct GroupPlan {
  std::shared_ptr<const EventCase> events;
  BatchOrder order;
  MemoryShape memory;                        // of a copy; width 0: the model has none
  std::vector<std::string> metrics;          // names of an evaluation's metrics, in one order on all ranks
  std::shared_ptr<const RemoteRows> remote;  // for a memory that is spread over several nodes; else null
  /// The events that this process's node holds. Ranks ask each other for the rest. Null: every rank reads all events.
  std::shared_ptr<const EventPart> part;
  JointEvaluationPlan evaluation;

  /// Whether each copy is on the device of its only rank.
  bool on_device() const { return events->options.memory_on == "device"; }
  /// Sweeps that copy 0 has finished when an epoch begins.
  std::int64_t sweeps_before(std::int64_t epoch) const { return order.first_iteration(epoch) / order.batches(); }
  /// Whether weights are evaluated after an epoch. With `evaluate=copy0`, copy 0 must have finished a sweep in it.
  bool evaluates_after(std::int64_t epoch) const;
};

/// Sizes of a copy of the case's memory, and of the messages between its daemon and ranks.
MemoryShape memory_shape(const EventCase& c);

/// The daemons that keep the memory. None if memory is on devices, or the model has no memory.
std::vector<HelperRequest> memory_daemons(const GroupPlan& plan);

/// Name and values of the groups in a checkpoint. Only a plan with the same values can resume from it.
inline constexpr const char* kept_groups = "groups";
std::vector<double> groups_to_keep(const GroupPlan& plan);

/// Makes the plan, also for a case with one rank. Throws InvalidRequest if groups do not fit the ranks, the nodes or
/// the events.
GroupPlan plan_of_groups(const std::shared_ptr<const EventCase>& c);

/// The differences from training on one rank with the same global batch.
std::vector<std::string> approximations_of(const TrainingGroups& groups);

}  // namespace strobe
