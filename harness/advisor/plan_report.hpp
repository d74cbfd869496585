// A plan as JSON, for programs and the figure, and as text.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "harness/advisor/front.hpp"
#include "harness/advisor/gpu_table.hpp"
#include "harness/advisor/plan_advice.hpp"
#include "harness/advisor/plan_answers.hpp"
#include "harness/advisor/plan_search.hpp"
#include "harness/advisor/scaling.hpp"
#include "harness/advisor/turning.hpp"

namespace strobe {

/// All contents of a plan's report.
struct PlanReport {
  Json request = Json::object();  // the request, as the user may read it
  std::int64_t epochs = 0;        // of a job; the maximum if it lasts until a metric
  std::string until;              // the metric and its value; "" = all epochs
  PlanLimits limits;
  JobCosts costs;  // in addition to epochs
  PlanGoal goal = PlanGoal::time;
  std::vector<PlanOutcome> outcomes;
  SearchCounts search;                  // numbers of combinations of settings, by their treatment
  std::vector<PlanVerdict> verdicts;    // in the order of `find_front`
  std::vector<PlaceAnswer> places;      // which strategy is best at each place
  std::optional<Answer> front;          // which points of the front differ in time
  std::optional<ScalingStudy> study;    // of the best point; nothing if no point is kept
  std::vector<GpuTable> gpu_tables;     // if the user counts GPUs
  std::optional<TurningStudy> turning;  // of the best point; nothing with a metric, or if no point is kept
  std::map<std::string, std::shared_ptr<const PlanAdvice>> advice;  // by the name of the rule; those that apply

  const PlanOutcome* best() const;
  /// The best point of the same job as `outcome`; null when none of its points is kept.
  const PlanOutcome* best_of_job(const PlanOutcome& outcome) const;
};

inline constexpr const char* plan_schema_version = "1.9.0";

std::string goal_name(PlanGoal goal);

/// Currencies of the outcomes' prices, ascending.
std::vector<std::string> currencies_of(const std::vector<PlanOutcome>& outcomes);

/// Finds the verdicts and the answers for the outcomes of the report.
void judge_points(PlanReport& report);

/// The report with every point; docs/reference/plan_json.md describes the keys. Absent values are null.
Json plan_to_json(const PlanReport& report);

/// The report as text: the front and at most `shown` dominated points, unless nothing is given; per cause, the number
/// of discarded points with an example; the scaling study; the assumptions.
std::string plan_text(const PlanReport& report, std::optional<std::size_t> shown);

}  // namespace strobe
