// What DistTGL's rule advises, as JSON and as text.
#pragma once

#include <string>
#include <vector>

#include "core/fields.hpp"
#include "harness/advisor/training_groups/advice.hpp"

namespace strobe {

/// Limits and places with what the rule costs there; docs/plan.md describes the keys. Absent values are null.
Json advice_json(const GroupPlanAdvice& advice, const std::vector<PlanOutcome>& outcomes);

/// The rule's choice beside the fastest ones for every place, and the rule's steps on the most ranks of each cluster.
std::string advice_text(const GroupPlanAdvice& advice, const std::vector<PlanOutcome>& outcomes);

}  // namespace strobe
