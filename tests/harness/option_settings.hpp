// Every registered model under every strategy that trains it: the settings in which pairs of options are tried.
#pragma once

#include <cctype>

#include "core/joined_fields.hpp"
#include "core/registry_names.hpp"
#include "harness/request/schedule_tag.hpp"
#include "models/snapshots/model.hpp"
#include "tests/harness/option_pairs.hpp"

namespace strobe::test {

/// A model under a strategy, with fixed parameters of the strategy: the numbers of ranks for each kind of parallelism.
struct PairSetting {
  std::string schedule, model, strategy;
  Json stance = Json::object();
  int ranks = 1;

  std::string name() const {
    std::string text = model + "_" + strategy;
    for (const auto& [key, value] : stance.items()) text += "_" + key + value.dump();
    std::replace_if(
        text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
    return text;
  }
};

/// The strategy's divisions of four ranks when a search knows some. Otherwise the strategy on the fewest ranks where it
/// is distinct, at most four.
inline void add_stances(const std::string& schedule, const std::string& model,
                        const Entry<StrategyTag::Value>& strategy, std::vector<PairSetting>& all) {
  const Json defaults = strategy.parameters.empty() ? Json::object() : strategy.parameters.complete(Json::object(), "");
  PairSetting setting{schedule, model, strategy.name};
  if (strategy.value.searched_at != nullptr) {
    for (const StrategyTag::Searched& way : strategy.value.searched_at(defaults, 4, 4)) {
      setting.ranks = schedule == "event_batches" ? 4 : 2;
      setting.stance = Json::object();
      for (const auto* part : {&way.chosen, &way.implied}) {
        for (const auto& [name, value] : *part) setting.stance[name] = value;
      }
      all.push_back(setting);
    }
    return;
  }
  while (setting.ranks < 4 && !strategy.value.distinct(defaults, setting.ranks)) ++setting.ranks;
  all.push_back(setting);
}

inline std::vector<PairSetting> settings(const std::string& schedule) {
  const std::string& family = ScheduleRegistry::instance().find(schedule).value.family;
  std::vector<PairSetting> all;
  for (const std::string& model : names_with<ModelTag>(&ModelTag::Value::family, family)) {
    for (const auto& [name, strategy] : StrategyRegistry::instance().entries()) {
      if (name == "file") continue;  // needs a file of owners: file_strategy_test.cpp
      if (strategy.value.schedule_for(family) == schedule) add_stances(schedule, model, strategy, all);
    }
  }
  return all;
}

/// The strategy's parameters that a case of the setting may have.
inline FieldTable strategy_fields(const PairSetting& setting) {
  const auto& strategy = StrategyRegistry::instance().find(setting.strategy);
  std::vector<std::string> names = strategy.parameters.names();
  if (setting.schedule == "event_batches" || names.empty()) return strategy.parameters;
  std::erase_if(names, [&](const std::string& name) {
    const auto& only = strategy.value.events_only;
    return std::find(only.begin(), only.end(), name) != only.end();
  });
  return chosen_fields(strategy.parameters, names);
}

}  // namespace strobe::test
