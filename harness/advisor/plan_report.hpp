// A plan as JSON, which programs and the figure read, and as text.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "harness/advisor/judge.hpp"
#include "harness/advisor/plan_advice.hpp"
#include "harness/advisor/plan_search.hpp"
#include "harness/advisor/scaling.hpp"

namespace strobe {

/// Everything that a plan reports.
struct PlanReport {
  Json request = Json::object();  // what was asked, as the user may read it
  std::int64_t epochs = 0;        // of a job; at most, where it lasts until a metric
  std::string until;              // the metric and its value; "" = all epochs
  PlanLimits limits;
  JobCosts costs;  // beside epochs
  PlanGoal goal = PlanGoal::time;
  std::vector<PlanOutcome> outcomes;
  SearchCounts search;                                              // what of all combinations of settings they are
  std::vector<PlanVerdict> verdicts;                                // as `judge` orders them
  std::optional<ScalingStudy> study;                                // of the best point; nothing when no point is kept
  std::map<std::string, std::shared_ptr<const PlanAdvice>> advice;  // by the name of the rule; those that apply

  const PlanOutcome* best() const;
};

inline constexpr const char* plan_schema_version = "1.6.0";

std::string goal_name(PlanGoal goal);

/// Currencies that the outcomes are priced in, ascending.
std::vector<std::string> currencies_of(const std::vector<PlanOutcome>& outcomes);

/// The report with every point; docs/plan.md describes the keys. Absent values are null.
Json plan_to_json(const PlanReport& report);

/// The report for reading: the front and at most `shown` dominated points, how many points were discarded for what
/// cause with an example each, the scaling study, the assumptions.
std::string plan_text(const PlanReport& report, std::size_t shown);

}  // namespace strobe
