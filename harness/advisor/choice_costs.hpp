// Why the best point of a plan chooses what it does: what each other choice would take in its place.
#pragma once

#include <string>
#include <vector>

#include "harness/advisor/evaluate.hpp"

namespace strobe {

/// A point that differs from the best one by one choice alone, and by what follows from it, on the same nodes.
struct ChoiceCost {
  std::size_t index = 0;      // of its outcome
  std::string choice, value;  // "vertices", "20%"
  double times = 0;           // its job over the best one's; 0 where there is none
  std::string reason;         // one sentence
};

/// In the order of choices, then of the outcomes. Cost O(points x choices).
std::vector<ChoiceCost> choice_costs(const std::vector<PlanOutcome>& outcomes, const PlanOutcome& best);

/// For reading; "" when there are none.
std::string choice_costs_text(const std::vector<ChoiceCost>& costs);

}  // namespace strobe
