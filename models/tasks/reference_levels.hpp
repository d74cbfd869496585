// Levels that a task's metrics reach without a model: the best rule that learns nothing, and the best that any model
// could reach. Known before training.
#pragma once

#include <map>
#include <string>

namespace strobe {

/// Values by metric, named as in rows (`mrr`, `validation_mrr`, ...). A metric without a known value has no entry.
struct ReferenceLevels {
  std::map<std::string, double> best_rule;      // the best of the task's rules on the same samples
  std::map<std::string, double> best_possible;  // the expected value of the true posterior on the same samples
  std::map<std::string, std::string> rule;      // the name of the best rule
};

/// Enters the best of some rules into `levels`, for each metric. `rules` are values by name, such as `recency_mrr`; a
/// rule's metric is what follows the last underscore of its name, with `inductive_` in front where its name has that.
/// NaN is no value. Larger is better. `prefix` comes before the metrics' names.
void add_best_rules(const std::map<std::string, double>& rules, const std::string& prefix, ReferenceLevels& levels);

}  // namespace strobe
