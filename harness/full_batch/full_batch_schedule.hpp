// Full-batch training as a kind of training: its plan behind the seam.
#pragma once

#include "harness/full_batch/plan/full_batch_plan.hpp"
#include "harness/schedule/planned_case.hpp"

namespace strobe {

/// The full-batch plan behind a planned case. Throws Error for a case of another kind of training.
const FullBatchPlan& full_batch(const PlannedCase& plan);

/// The same, null for a case of another kind.
const FullBatchPlan* full_batch_or_null(const PlannedCase& plan);

/// A full-batch plan behind the seam.
std::shared_ptr<const SchedulePlan> full_batch_schedule(std::shared_ptr<const FullBatchPlan> plan);

}  // namespace strobe
