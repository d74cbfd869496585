// The planned memory of a case, for a dry run.
#pragma once

#include "core/fields.hpp"
#include "harness/schedule/planned_case.hpp"

namespace strobe {

/// Adds the memory of every rank, by part and in bytes, to the description of its plan: `planned_memory_bytes`, and
/// `planned_evaluation_bytes` for training whose peak does not have the evaluation of weights.
void describe_planned_memory(const PlannedCase& plan, Json& described);

}  // namespace strobe
