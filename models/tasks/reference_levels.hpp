// Levels that a task's metrics reach without a model: the best rule that learns nothing, and the best that any model
// could reach. Known before training.
#pragma once

#include <map>
#include <string>

namespace strobe {

/// Values by metric, named as in rows: `mrr`, `validation_mrr`, `validation_rmse`. A metric without a known value has
/// no entry.
struct ReferenceLevels {
  std::map<std::string, double> best_rule;      // the best of the task's rules on the same samples
  std::map<std::string, double> best_possible;  // the expected value of the true posterior on the same samples
  std::map<std::string, std::string> rule;      // the rule of `best_rule`, such as `recency`
};

/// Adds the best rule of `metric`. Its rules in `values` are named RULE_METRIC, and inductive_RULE_M for inductive_M,
/// each after the prefix `validation_` that `metric` may have. Values that are no number do not count.
void add_best_rule(const std::string& metric, const std::map<std::string, double>& values, ReferenceLevels& levels);

/// Adds the best rule of every metric that `rules` have a rule of. A rule's metric is what follows the last underscore
/// of its name, with `inductive_` in front where its name has that. `prefix` comes before the metrics' names.
void add_best_rules(const std::map<std::string, double>& rules, const std::string& prefix, ReferenceLevels& levels);

}  // namespace strobe
