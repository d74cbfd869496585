// Levels that say how hard a task is: what the best rule reaches that learns nothing, and the best that is possible.
#pragma once

#include <map>
#include <string>

#include "models/tasks/task.hpp"

namespace strobe {

/// Keys are names of metrics as in rows: `mrr`, `validation_mrr`, `validation_rmse`.
struct ReferenceLevels {
  std::map<std::string, double> best_rule;          // of the rules that learn nothing
  std::map<std::string, double> best_possible;      // where the generator of the data knows it
  std::map<std::string, std::string> name_of_rule;  // the rule of `best_rule`, such as `recency`
};

/// Whether smaller values of a metric are better: true for losses and errors (loss, rmse, mae, ...), false for others.
bool smaller_is_better(const std::string& metric);

/// Adds the best rule of `metric`. Its rules in `values` are named RULE_METRIC, and inductive_RULE_M for inductive_M,
/// each after the prefix `validation_` that `metric` may have. Values that are no number do not count.
void add_best_rule(const std::string& metric, const std::map<std::string, double>& values, ReferenceLevels& levels);

/// The levels of `metric` (validation_mrr, ...) for a task on snapshots: of the rules that it draws, and of those that
/// its metrics state whatever a model says.
ReferenceLevels reference_levels(const std::string& metric, const Task& task, const TaskData& data);

}  // namespace strobe
