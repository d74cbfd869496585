#include "models/tasks/reference_levels.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace strobe {
namespace {

constexpr const char* of_validation = "validation_";
constexpr const char* of_new_vertices = "inductive_";

/// Takes `prefix` off `name`. Returns whether it was there.
bool take_prefix(std::string& name, const std::string& prefix) {
  if (!name.starts_with(prefix)) return false;
  name.erase(0, prefix.size());
  return true;
}

}  // namespace

bool smaller_is_better(const std::string& metric) {
  const std::string last = metric.substr(metric.rfind('_') + 1);  // "last_value_rmse" ends in its error, rmse
  constexpr std::array errors = {"loss", "rmse", "mae", "mse", "mape", "error"};
  return std::find(errors.begin(), errors.end(), last) != errors.end();
}

void add_best_rule(const std::string& metric, const std::map<std::string, double>& values, ReferenceLevels& levels) {
  std::string base = metric;
  const bool validation = take_prefix(base, of_validation), inductive = take_prefix(base, of_new_vertices);
  const bool smaller = smaller_is_better(base);
  for (const auto& [name, value] : values) {
    std::string rule = name;
    if (take_prefix(rule, of_validation) != validation || take_prefix(rule, of_new_vertices) != inductive) continue;
    if (rule.size() <= base.size() + 1 || !rule.ends_with("_" + base) || std::isnan(value)) continue;
    const auto best = levels.best_rule.find(metric);
    if (best != levels.best_rule.end() && !(smaller ? value < best->second : value > best->second)) continue;
    levels.best_rule[metric] = value;
    levels.name_of_rule[metric] = rule.substr(0, rule.size() - base.size() - 1);
  }
}

ReferenceLevels reference_levels(const std::string& metric, const Task& task, const TaskData& data) {
  ReferenceLevels levels;
  add_best_rule(metric, data.rules, levels);
  const bool validation = metric.starts_with(of_validation);
  const Samples& samples = validation ? data.validation : data.test;
  if (samples.count() == 0) return levels;
  // The outputs of a model do not change what its rules reach.
  const std::vector<double> outputs(static_cast<std::size_t>(samples.count() * task.classes()), 0.0);
  std::map<std::string, double> values;
  for (const auto& [name, value] : task.metrics(outputs, samples))
    values[(validation ? of_validation : "") + name] = value;
  add_best_rule(metric, values, levels);
  return levels;
}

}  // namespace strobe
