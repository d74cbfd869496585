// The search over settings that points leave open: how inputs reach the device, how snapshots are moved, whether
// exchanges overlap compute.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/advisor/evaluate.hpp"
#include "harness/advisor/front.hpp"

namespace strobe {

struct SearchRules {
  bool exhaustive = false;  // try every combination
  PlanLimits limits;
  JobCosts costs;
  PlanGoal goal = PlanGoal::time;
  std::string wanted;       // id of a point that is always simulated; "" = none
  bool each_place = false;  // find the fastest and cheapest point of each cluster and number of ranks, not of all
};

/// Numbers of combinations, by their treatment.
struct SearchCounts {
  bool exhaustive = false;
  std::vector<OpenSetting> settings;  // open settings of the points, each once
  std::size_t combinations = 0;       // points times the values of their open settings
  std::size_t simulated = 0;
  std::size_t cannot_combine = 0;  // combinations that are not points of the plan
  std::size_t without_effect = 0;  // the same, because epoch, bytes and memory equal those with another value
  std::size_t left_out = 0;        // possible combinations that were not simulated
};

struct SearchResult {
  std::vector<PlanOutcome> outcomes;  // without the job's costs in addition to epochs
  SearchCounts counts;
};

/// Simulates `points` with `evaluate`, and then selected combinations of their open settings. It varies points that may
/// become faster or cheaper than all others, by a bound from their epochs (least_epoch). It varies points on the front,
/// and points whose memory is within `memory_reach` of the least. Finally it simulates the best point's other choices
/// on its nodes.
///
/// So the fastest point and the cheapest one, under any limits, equal those of the exhaustive search. For the point of
/// least memory, experiments confirm this but nothing proves it.
SearchResult search_settings(const std::vector<PlanPoint>& points, const SearchRules& rules,
                             const std::function<std::vector<PlanOutcome>(const std::vector<PlanPoint>&)>& evaluate);

/// A lower bound of the epoch with other values of settings that shorten copies, or also exchanges. Without copies and
/// waiting, everything else remains. At best, exchanges and compute run at the same time.
double least_epoch(const PlanOutcome& outcome, Shortens most);

/// No point needed less than its memory divided by this with other values, in experiments
/// (docs/explanation/planning.md).
inline constexpr double memory_reach = 2;

/// The points, each followed by all other combinations of its open settings.
std::vector<PlanPoint> all_combinations(const std::vector<PlanPoint>& points);

}  // namespace strobe
