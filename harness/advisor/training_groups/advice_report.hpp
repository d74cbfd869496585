// The advice of DistTGL's rule, as JSON and as text.
#pragma once

#include <string>
#include <vector>

#include "core/fields.hpp"
#include "harness/advisor/training_groups/advice.hpp"

namespace strobe {

/// Limits and places, with the rule's cost there; docs/plan.md describes the keys. Absent values are null.
Json advice_json(const GroupPlanAdvice& advice, const std::vector<PlanOutcome>& outcomes);

/// The rule's choice and the fastest configurations for every place. Also the rule's steps on the most ranks of each
/// cluster.
std::string advice_text(const GroupPlanAdvice& advice, const std::vector<PlanOutcome>& outcomes);

}  // namespace strobe
