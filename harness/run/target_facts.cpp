#include "harness/run/target_facts.hpp"

#include <limits>
#include <nlohmann/json.hpp>

#include "results/row/facts.hpp"
#include "results/run/row_against_samples.hpp"

namespace strobe {
namespace {

constexpr const char* no_target = "until names no value of a metric";
constexpr const char* no_rule = "no rule of the task is judged by the metric of until";
constexpr const char* no_best = "the best value is not known";
constexpr const char* not_tuned = "the case was run without --tune";

Json target_number() { return {{"type", {"number", "null"}}}; }
Json target_text() { return {{"type", "string"}}; }

Json tuning_schema() {
  const Json whole = {{"type", "integer"}, {"minimum", 1}};
  return {{"type", "object"},
          {"properties",
           {{"trial", whole},
            {"trials", whole},
            {"epochs", whole},
            {"metric", {{"type", "string"}}},
            {"value", {{"type", {"number", "null"}}}},
            {"settings", {{"type", "object"}}}}},
          {"required", {"trial", "trials", "epochs", "metric", "settings"}},
          {"additionalProperties", false}};
}

const Register<FactsTag> target_facts{
    {"targets",
     "targets of until, and how settings were tuned",
     "",
     {},
     {{{"until_value", "1", "The value of the metric that `until` asks for; a share is turned into it before training.",
        target_number(), no_target},
       {"until_rule", "", "The best rule by the metric of `until`, on the validation samples. It learns nothing.",
        target_text(), no_rule},
       {"until_best_rule", "1", "What that rule reaches.", target_number(), no_rule},
       {"until_best_known", "1",
        "The best known value of the metric of `until`: the best that is possible on generated data, or best=X of "
        "`until`.",
        target_number(), no_best},
       {"tuning", "",
        "Of a case whose settings --tune chose: the trial that gave them, the number of trials, the epochs of each, "
        "the "
        "metric, its value, and the settings. In trials/, the rows are the trials and have no value here.",
        tuning_schema(), not_tuned}},
      ""},
     {}}};

}  // namespace

void add_target_facts(const PlannedCase& plan, Facts& facts) {
  if (!plan.until || plan.until->converged) return;
  const UntilRule& rule = *plan.until;
  facts.set("until_value", rule.value);
  if (rule.best_rule) {
    facts.set("until_best_rule", *rule.best_rule);
    facts.values["until_rule"] = rule.name_of_rule;
  }
  if (rule.best) facts.set("until_best_known", *rule.best);
}

void fill_until(const PlannedCase& plan, const RankOutcome& rank, std::int64_t epochs_before, CaseResult& result) {
  if (!plan.until || rank.loss.empty()) return;
  UntilOutcome& until = result.until.emplace();
  until.reached = rank.until_reached;
  until.iterations = plan.schedule->updates_through(static_cast<std::int64_t>(rank.loss.size()));
  until.seconds = epochs_before > 0 ? std::numeric_limits<double>::quiet_NaN() : training_seconds(result.samples, 0);
}

void state_tuning(const Json& tuning, Row& row) {
  if (tuning.is_null()) return;
  row.facts["tuning"] = tuning;
  row.absent.erase("/tuning");
}

std::map<std::string, double> best_rules(const MetricNames& metrics,
                                         const std::map<std::string, std::vector<double>>& curves) {
  ReferenceLevels levels = metrics.levels;
  std::map<std::string, double> values;
  for (const auto& [name, curve] : curves)
    if (!curve.empty()) values[name] = curve.back();
  for (const std::string& name : metrics.names) add_best_rule(name, values, levels);
  return levels.best_rule;
}

}  // namespace strobe
