// Judges the points of a plan: which ones are worth choosing, and why the others are not.
#pragma once

#include "harness/advisor/evaluate.hpp"

namespace strobe {

struct PlanLimits {
  std::optional<double> deadline_seconds;
  std::optional<double> budget;
  std::string currency = "USD";  // of the budget, ISO 4217
};

/// The quantity that the best point minimises. With `time_to_metric`, it is the time of a job that lasts until a metric
/// has a value.
enum class PlanGoal { time, dollars, memory, time_to_metric };

/// Whether the times of two points are of the same job. Jobs until a metric always are. Jobs of a number of epochs are
/// only if they train the same model, since epochs of two models are other work.
bool same_job(const PlanOutcome& a, const PlanOutcome& b);

/// A verdict on one point, given by its position among the outcomes. `kept` points form the Pareto front of (job
/// seconds, cost, peak bytes): no other point within the limits is at least as good in all three and better in one. A
/// point without a price counts as more expensive than any point with one. Points of different jobs never dominate each
/// other. Costs in different currencies do not
/// compare, so their points never dominate each other.
struct PlanVerdict {
  std::size_t index = 0;
  bool kept = false;
  std::string cause;   // out_of_memory | out_of_host_memory | cannot_divide | cannot_combine | cannot_extend |
                       // cannot_compare | not_reached | failed | over_deadline | no_price | other_currency |
                       // over_budget | dominated; "" when kept
  std::string reason;  // one sentence; "" when kept or dominated
  std::size_t dominated_by = 0;  // with cause `dominated`: a kept point
};

/// Whether the goal puts `a` before `b`. Ties are decided by the other two quantities, then by the point's id.
bool comes_before(const PlanOutcome& a, const PlanOutcome& b, PlanGoal goal);

/// Verdicts in the order of the plan: kept points by the goal, then dominated ones by the goal, then the rest in the
/// order of the outcomes. Ties are decided by the other two quantities, then by the point's id. When sorted by cost,
/// points are grouped by currency name. Cost O(points x front).
std::vector<PlanVerdict> find_front(const std::vector<PlanOutcome>& outcomes, const PlanLimits& limits, PlanGoal goal);

}  // namespace strobe
