// The search over settings that points leave open: how inputs reach the device, how snapshots are moved, whether
// exchanges overlap compute.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/advisor/evaluate.hpp"
#include "harness/advisor/judge.hpp"

namespace strobe {

struct SearchRules {
  bool exhaustive = false;  // every combination
  PlanLimits limits;
  JobCosts costs;
  PlanGoal goal = PlanGoal::time;
  std::string wanted;  // id of a point that is simulated whatever it promises; "": none
};

/// What became of the combinations.
struct SearchCounts {
  bool exhaustive = false;
  std::vector<OpenSetting> settings;  // that points left open, each once
  std::size_t combinations = 0;       // of points and the values of their open settings
  std::size_t simulated = 0;
  std::size_t cannot_combine = 0;  // of the combinations; they are no points of the plan
  std::size_t without_effect = 0;  // likewise: the same epoch, bytes and memory as with another value
  std::size_t left_out = 0;        // that were not simulated and may be
};

struct SearchResult {
  std::vector<PlanOutcome> outcomes;  // without the costs of a job beside its epochs
  SearchCounts counts;
};

/// Simulates `points`, and of them with other values of their open settings: those that may be sooner or cheaper than
/// all others, by a bound that their epochs give (least_epoch); those of points on the front; and those of points
/// whose memory is within `memory_reach` of the least. So the soonest point and the cheapest one, under any limits, are
/// those of the exhaustive search; that the least memory is too was found, not proven. Behind these, what the best
/// point's other choices cost is simulated on its nodes. `evaluate` simulates points, in order.
SearchResult search_settings(const std::vector<PlanPoint>& points, const SearchRules& rules,
                             const std::function<std::vector<PlanOutcome>(const std::vector<PlanPoint>&)>& evaluate);

/// An epoch is never shorter than this with other values of settings that shorten copies, or also exchanges. Without
/// copies and waiting everything else is left; exchanges and compute may at most run beside each other.
double least_epoch(const PlanOutcome& outcome, Shortens most);

/// With other values a point needed no less than its memory over this, as far as was found (docs/plan.md).
inline constexpr double memory_reach = 2;

/// The points and all combinations of their open settings, those of a point behind it.
std::vector<PlanPoint> all_combinations(const std::vector<PlanPoint>& points);

}  // namespace strobe
