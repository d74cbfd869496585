#include "models/tasks/reference_levels.hpp"

#include <cmath>
#include <set>

#include "core/metric_names.hpp"

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
    levels.rule[metric] = rule.substr(0, rule.size() - base.size() - 1);
  }
}

void add_best_rules(const std::map<std::string, double>& rules, const std::string& prefix, ReferenceLevels& levels) {
  std::map<std::string, double> values;
  std::set<std::string> metrics;
  for (const auto& [name, value] : rules) {
    values[prefix + name] = value;
    metrics.insert(prefix + (name.starts_with(of_new_vertices) ? of_new_vertices : "") +
                   name.substr(name.rfind('_') + 1));
  }
  for (const std::string& metric : metrics) add_best_rule(metric, values, levels);
}

}  // namespace strobe
