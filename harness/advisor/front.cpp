// Limits, then dominance. Returns one verdict per outcome.
// Invariants: every dominated point names a kept one that dominates it; kept points do not dominate each other.
// Cost: sorting once by (time, cost, memory), so that a point can be dominated by earlier ones only.
// Source: skyline by presorting, Chomicki et al., ICDE 2003.
#include "harness/advisor/front.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <tuple>

#include "core/units.hpp"

namespace strobe {
namespace {

/// The cost of a job. It sorts points with a price first, one currency after the other.
struct Cost {
  bool unsold = true;
  std::string currency;
  double amount = 0;
  auto operator<=>(const Cost&) const = default;
};

struct Objectives {
  double seconds = 0;
  Cost cost;
  double bytes = 0;
};

Objectives objectives_of(const PlanOutcome& outcome) {
  const Cost cost = outcome.dollars ? Cost{false, outcome.currency, *outcome.dollars} : Cost{};
  return {outcome.job_seconds, cost, static_cast<double>(outcome.peak_bytes)};
}

/// Amounts in two currencies do not compare.
bool costs_no_more(const Cost& a, const Cost& b) {
  return a <= b && (a.unsold || b.unsold || a.currency == b.currency);
}

bool dominates(const Objectives& a, const Objectives& b) {
  const bool no_worse = a.seconds <= b.seconds && costs_no_more(a.cost, b.cost) && a.bytes <= b.bytes;
  return no_worse && (a.seconds < b.seconds || a.cost < b.cost || a.bytes < b.bytes);
}

/// Sets the cause when a point is impossible or outside the limits, independent of the other points.
void apply_limits(const PlanOutcome& outcome, const PlanLimits& limits, PlanVerdict& verdict) {
  const auto discard = [&verdict](const char* cause, std::string reason) {
    verdict.cause = cause;
    verdict.reason = std::move(reason);
  };
  if (outcome.status != "ok") return discard(outcome.status.c_str(), outcome.reason);
  if (limits.deadline_seconds && outcome.job_seconds > *limits.deadline_seconds) {
    return discard("over_deadline",
                   fmt::format("the job takes {}, the deadline is {}", format_seconds(outcome.job_seconds),
                               format_seconds(*limits.deadline_seconds)));
  }
  if (!limits.budget) return;
  if (!outcome.dollars) {
    return discard("no_price", "the cluster is not sold, so its cost cannot be compared with the budget");
  }
  if (outcome.currency != limits.currency) {
    return discard("other_currency",
                   fmt::format("the cluster is priced in {}, the budget is in {}", outcome.currency, limits.currency));
  }
  if (*outcome.dollars > *limits.budget) {
    discard("over_budget", fmt::format("the job costs {:.2f} {}, the budget is {:.2f}", *outcome.dollars,
                                       outcome.currency, *limits.budget));
  }
}

/// Marks dominated points among those without a cause.
void mark_dominated(const std::vector<PlanOutcome>& outcomes, std::vector<PlanVerdict>& verdicts) {
  std::vector<std::size_t> order;
  for (const PlanVerdict& verdict : verdicts) {
    if (verdict.cause.empty()) order.push_back(verdict.index);
  }
  const auto key = [&](std::size_t i) {
    const Objectives o = objectives_of(outcomes[i]);
    return std::tuple(o.seconds, o.cost, o.bytes, outcomes[i].point.id);
  };
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  std::vector<std::size_t> front;
  for (const std::size_t i : order) {
    const Objectives own = objectives_of(outcomes[i]);
    const auto better = std::find_if(front.begin(), front.end(), [&](std::size_t f) {
      return same_job(outcomes[f], outcomes[i]) && dominates(objectives_of(outcomes[f]), own);
    });
    if (better == front.end()) {
      front.push_back(i);
      verdicts[i].kept = true;
      continue;
    }
    verdicts[i].cause = "dominated";
    verdicts[i].dominated_by = *better;
  }
}

bool comes_first(const Objectives& a, const Objectives& b, PlanGoal goal) {
  if (goal == PlanGoal::time || goal == PlanGoal::time_to_metric)
    return std::tie(a.seconds, a.cost, a.bytes) < std::tie(b.seconds, b.cost, b.bytes);
  if (goal == PlanGoal::dollars) return std::tie(a.cost, a.seconds, a.bytes) < std::tie(b.cost, b.seconds, b.bytes);
  return std::tie(a.bytes, a.seconds, a.cost) < std::tie(b.bytes, b.seconds, b.cost);
}

}  // namespace

bool same_job(const PlanOutcome& a, const PlanOutcome& b) {
  return (a.metric_updates && b.metric_updates) || a.point.request.model == b.point.request.model;
}

bool comes_before(const PlanOutcome& a, const PlanOutcome& b, PlanGoal goal) {
  const Objectives p = objectives_of(a), q = objectives_of(b);
  if (comes_first(p, q, goal) || comes_first(q, p, goal)) return comes_first(p, q, goal);
  return a.point.id < b.point.id;
}

std::vector<PlanVerdict> find_front(const std::vector<PlanOutcome>& outcomes, const PlanLimits& limits, PlanGoal goal) {
  std::vector<PlanVerdict> verdicts(outcomes.size());
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    verdicts[i].index = i;
    apply_limits(outcomes[i], limits, verdicts[i]);
  }
  mark_dominated(outcomes, verdicts);
  const auto group = [](const PlanVerdict& v) { return v.kept ? 0 : v.cause == "dominated" ? 1 : 2; };
  std::stable_sort(verdicts.begin(), verdicts.end(), [&](const PlanVerdict& a, const PlanVerdict& b) {
    if (group(a) != group(b)) return group(a) < group(b);
    if (group(a) == 2) return false;
    return comes_before(outcomes[a.index], outcomes[b.index], goal);
  });
  return verdicts;
}

}  // namespace strobe
