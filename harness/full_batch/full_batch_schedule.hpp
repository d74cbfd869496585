// Full-batch training as one kind of training, registered through the common interface.
#pragma once

#include "harness/full_batch/plan/full_batch_plan.hpp"
#include "harness/schedule/planned_case.hpp"

namespace strobe {

/// The full-batch plan of a planned case. Throws Error for a case of another kind of training.
const FullBatchPlan& full_batch(const PlannedCase& plan);

/// The same, but null for a case of another kind.
const FullBatchPlan* full_batch_or_null(const PlannedCase& plan);

/// The plan as a plan of the common interface.
std::shared_ptr<const SchedulePlan> full_batch_schedule(std::shared_ptr<const FullBatchPlan> plan);

/// The same. Where each rank is a process, `plan` then keeps the part of this rank only (keep_own_part).
std::shared_ptr<const SchedulePlan> own_full_batch_schedule(std::shared_ptr<FullBatchPlan> plan);

}  // namespace strobe
