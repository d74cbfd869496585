// Explains the choices of a plan's best point by the cost of each other choice in its place.
#pragma once

#include <string>
#include <vector>

#include "harness/advisor/evaluate.hpp"

namespace strobe {

/// A point that differs from the best one in one choice, and in the choices that follow from it, on the same nodes.
struct ChoiceCost {
  std::size_t index = 0;      // of its outcome
  std::string choice, value;  // "vertices", "20%"
  double times = 0;           // its job time over the best one's; 0 without a job time
  std::string reason;         // one sentence
};

/// Sorted by choice, then in the order of the outcomes. Cost O(points x choices).
std::vector<ChoiceCost> choice_costs(const std::vector<PlanOutcome>& outcomes, const PlanOutcome& best);

/// The costs as text; "" when there are none.
std::string choice_costs_text(const std::vector<ChoiceCost>& costs);

}  // namespace strobe
