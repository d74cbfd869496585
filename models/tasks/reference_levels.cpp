#include "models/tasks/reference_levels.hpp"

#include <cmath>

#include "models/tasks/kept_out.hpp"

namespace strobe {

void add_best_rules(const std::map<std::string, double>& rules, const std::string& prefix, ReferenceLevels& levels) {
  for (const auto& [name, value] : rules) {
    if (std::isnan(value)) continue;
    const bool inductive = name.rfind(inductive_prefix, 0) == 0;
    const std::string metric = prefix + (inductive ? inductive_prefix : "") + name.substr(name.rfind('_') + 1);
    const auto [place, is_new] = levels.best_rule.try_emplace(metric, value);
    if (!is_new && !(value > place->second)) continue;
    place->second = value;
    levels.rule[metric] = name;
  }
}

}  // namespace strobe
