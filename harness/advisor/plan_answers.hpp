// Answers about the points of a plan, by the answer engine: the same words and numbers that `strobe compare` has for
// the rows of these points.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/advisor/front.hpp"
#include "results/answer/answer.hpp"

namespace strobe {

/// The 90 % band of the job, if everything except epochs is known exactly. Empty unless the point is `ok` and its epoch
/// has a band.
std::optional<ConfidenceInterval> job_band(const PlanOutcome& outcome);

/// The job time of `changed` as a multiple of that of `base`.
TimeRatio compare_jobs(const PlanOutcome& base, const PlanOutcome& changed);

/// Whether the 90 % bands of two points' jobs overlap, so that either may be faster. Nothing if one of them has no band
/// or is not `ok`.
std::optional<bool> equal_within_bands(const PlanOutcome& a, const PlanOutcome& b);

/// The reason of the verdict in one sentence: that of `find_front`, or how the point that dominates it is better.
std::string reason_of(const std::vector<PlanOutcome>& outcomes, const PlanVerdict& verdict);

/// The question which strategy is best at one place, and its answer.
struct PlaceAnswer {
  std::string cluster;  // as the user requested it
  int nodes = 1;
  std::int64_t ranks = 1;
  Json model;  // null if the models of all points do the same job
  Answer answer;
};

/// One for each cluster, number of nodes and of GPUs, and model, where at least two strategies have points within the
/// limits. A strategy's point is the one that the goal puts first. The answers point into the outcomes.
std::vector<PlaceAnswer> place_answers(const std::vector<PlanOutcome>& outcomes,
                                       const std::vector<PlanVerdict>& verdicts, PlanGoal goal);

/// Which points of the front differ in time, among those that do the same job as the best one; named by their ids.
/// Nothing if there are fewer than two.
std::optional<Answer> front_answer(const std::vector<PlanOutcome>& outcomes, const std::vector<PlanVerdict>& verdicts);

}  // namespace strobe
