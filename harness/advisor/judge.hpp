// Which points of a plan are worth taking, and why the others are not.
#pragma once

#include "harness/advisor/evaluate.hpp"

namespace strobe {

struct PlanLimits {
  std::optional<double> deadline_seconds;
  std::optional<double> budget;
  std::string currency = "USD";  // of the budget, ISO 4217
};

/// What the best point has least of; with `time_to_metric`, of time of a job that lasts until a metric has a value.
enum class PlanGoal { time, dollars, memory, time_to_metric };

/// A verdict on one point, by its position among the outcomes. `kept` points form the Pareto front of (job seconds,
/// cost, peak bytes): no other point within the limits is at least as good in all three and better in one. A point
/// without a price costs more than any that has one. Costs in two currencies do not compare, so no point of one
/// dominates a point of the other.
struct PlanVerdict {
  std::size_t index = 0;
  bool kept = false;
  std::string cause;   // out_of_memory | cannot_divide | cannot_combine | cannot_extend | cannot_compare |
                       // not_reached | failed | over_deadline | no_price | other_currency | over_budget | dominated;
                       // "" when kept
  std::string reason;  // one sentence; "" when kept
  std::size_t dominated_by = 0;  // with cause `dominated`: a kept point
};

/// Verdicts in the order of the plan: kept points by the goal, then dominated ones by the goal, then the rest in the
/// order of the outcomes. Ties go to the other two quantities, then to the point's id. By cost, currencies stand one
/// after the other, by name. Cost O(points x front).
std::vector<PlanVerdict> judge(const std::vector<PlanOutcome>& outcomes, const PlanLimits& limits, PlanGoal goal);

}  // namespace strobe
