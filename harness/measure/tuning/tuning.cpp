#include "harness/measure/tuning/tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "core/errors.hpp"
#include "core/metric_names.hpp"
#include "harness/request/until.hpp"

namespace strobe {
namespace {

constexpr const char* tune_place = "--tune";
constexpr std::int64_t most_trials = 1000;

/// The JSON of a case without what its trials do not share with it.
std::string key_of_family(const Case& c) {
  Json json = case_to_json(c);
  json.erase("seed");
  return json.dump();
}

/// The usual metric of the validation samples.
std::string usual_validation_metric(const MetricNames& metrics) {
  const std::string prefix = validation_prefix;
  std::vector<std::string> names;
  for (const std::string& name : metrics.names)
    if (name.starts_with(prefix) && metrics.absent.count(name) == 0) names.push_back(name.substr(prefix.size()));
  return usual_metric(names);
}

std::string metric_of(const Case& c, const std::string& asked, const MetricNames& metrics) {
  std::string metric = asked;
  if (metric.empty() && !c.until.empty()) {
    const UntilRule rule = parse_until(c.until);
    if (!rule.reads_loss()) metric = rule.metric;
  }
  if (metric.empty()) metric = usual_validation_metric(metrics);
  const std::string series = validation_prefix + metric;
  if (!metric.empty() && std::count(metrics.names.begin(), metrics.names.end(), series) > 0) return series;
  std::vector<std::string> known;
  for (const std::string& name : metrics.names)
    if (name.starts_with(validation_prefix)) known.push_back(name.substr(std::string(validation_prefix).size()));
  if (!known.empty()) throw InvalidRequest(tune_place, unknown_name_message("validation metric", metric, known));
  throw InvalidRequest(tune_place,
                       "chooses by a metric of the validation samples, but the task draws none; set "
                       "task.split=70/15/15 (or other parts)");
}

/// Whether the user gave the setting a value, also through a preset.
bool is_given(const Suite& suite, const std::string& id, const OpenSettingOfTrial& setting) {
  const auto origins = suite.origins.find(id);
  if (origins == suite.origins.end()) return false;
  const std::string slot = "/" + setting.slot;
  return origins->second.count(slot + "/" + setting.field) > 0 || origins->second.count(slot + "/" + preset_key) > 0;
}

std::vector<OpenSettingOfTrial> open_of(const Suite& suite, const Case& c, const Json& kept) {
  const std::string id = case_id(c);
  const auto known = kept.find(id);
  return open_settings_of(c, [&](const OpenSettingOfTrial& setting) {
    if (known == kept.end()) return is_given(suite, id, setting);
    return std::find(known->begin(), known->end(), Json(setting.path())) == known->end();
  });
}

Case case_of_trials(const Case& c) {
  Case trial = c;
  trial.until.clear();
  trial.repeat = 1;
  return trial;
}

void add_trials(TunedFamily& family, const Case& first, const TuneRequest& request) {
  const Case base = case_of_trials(first);
  family.settings = trial_settings(base, family.open, request.trials);
  for (const Json& settings : family.settings) {
    family.trials.push_back(with_settings(base, settings));
    family.ids.push_back(case_id(family.trials.back()));
  }
}

Json tuning_value(const TunedFamily& family, std::size_t trial) {
  const Case& c = family.trials[trial];
  return {{"trial", trial + 1},
          {"trials", family.trials.size()},
          {"epochs", c.warmup + c.epochs},
          {"metric", family.metric},
          {"settings", family.settings[trial]}};
}

}  // namespace

TuneRequest parse_tune(const std::string& text) {
  TuneRequest request;
  const std::size_t colon = text.find(':');
  const std::string number = text.substr(0, colon);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), request.trials);
  if (error != std::errc() || end != number.data() + number.size() || request.trials < 1 ||
      request.trials > most_trials)
    throw InvalidRequest(tune_place, fmt::format("'{}' is no number of trials; expected 1 to {}, such as 20 or "
                                                 "20:metric=auc",
                                                 text, most_trials));
  if (colon == std::string::npos) return request;
  const std::string option = text.substr(colon + 1), key = "metric=";
  if (!option.starts_with(key) || option.size() == key.size())
    throw InvalidRequest(tune_place, fmt::format("'{}' has '{}' where metric=NAME should be", text, option));
  request.metric = option.substr(key.size());
  if (request.metric.starts_with(validation_prefix)) request.metric.erase(0, std::string(validation_prefix).size());
  return request;
}

Tuning plan_tuning(const Suite& suite, const TuneRequest& request, KeptPlans& plans, const Json& open) {
  Tuning tuning;
  std::map<std::string, std::vector<std::size_t>> members;
  std::vector<std::string> order;
  for (std::size_t i = 0; i < suite.cases.size(); ++i) {
    if (suite.impossible.count(case_id(suite.cases[i])) != 0) continue;
    const std::string key = key_of_family(suite.cases[i]);
    if (members[key].empty()) order.push_back(key);
    members[key].push_back(i);
  }
  for (const std::string& key : order) {
    TunedFamily family;
    family.cases = members[key];
    const Case& first = suite.cases[*std::min_element(family.cases.begin(), family.cases.end(), [&](auto a, auto b) {
      return suite.cases[a].seed < suite.cases[b].seed;
    })];
    if (first.numerics == "none")
      throw InvalidRequest("/numerics", "none computes no values, but --tune needs some; set numerics=cpu");
    family.metric = metric_of(first, request.metric, plans.get(first)->schedule->summary().metrics);
    family.open = open_of(suite, first, open);
    if (family.open.empty())
      throw InvalidRequest(tune_place, fmt::format("{} leaves no setting open: its model and optimizer have none to "
                                                   "tune, or all are given",
                                                   case_id(first)));
    add_trials(family, first, request);
    tuning.families.push_back(std::move(family));
  }
  return tuning;
}

Json open_by_case(const Suite& suite, const Tuning& tuning) {
  Json open = Json::object();
  for (const TunedFamily& family : tuning.families) {
    Json paths = Json::array();
    for (const OpenSettingOfTrial& setting : family.open) paths.push_back(setting.path());
    for (const std::size_t i : family.cases) open[case_id(suite.cases[i])] = paths;
  }
  return open;
}

Suite trials_of(const Suite& suite, const Tuning& tuning, KeptPlans& plans) {
  Suite trials;
  trials.name = suite.name + "-" + trials_folder;
  std::set<std::string> seen;
  for (const TunedFamily& family : tuning.families) {
    for (std::size_t k = 0; k < family.trials.size(); ++k) {
      if (!seen.insert(family.ids[k]).second) continue;
      trials.cases.push_back(family.trials[k]);
      try {
        plans.get(family.trials[k]);
      } catch (const InvalidRequest& refusal) {
        trials.impossible.emplace(family.ids[k], refusal);
      }
    }
  }
  return trials;
}

std::optional<ChosenTrial> best_trial(const TunedFamily& family, const std::vector<Row>& rows) {
  std::map<std::string, double> values;
  for (const Row& row : rows) {
    const auto series = row.metrics.find(family.metric);
    if (row.status == "ok" && series != row.metrics.end() && series->second && !series->second->empty())
      values[row.case_id] = series->second->back();
  }
  const bool smaller = smaller_is_better(family.metric);
  std::optional<ChosenTrial> best;
  for (std::size_t k = 0; k < family.ids.size(); ++k) {
    const auto value = values.find(family.ids[k]);
    if (value == values.end() || !std::isfinite(value->second)) continue;
    if (!best || (smaller ? value->second < best->value : value->second > best->value)) best = {k, value->second};
  }
  return best;
}

Suite tuned_suite(const Suite& suite, const Tuning& tuning, const std::vector<std::optional<ChosenTrial>>& chosen,
                  Json& tuned) {
  std::vector<const Json*> settings(suite.cases.size(), nullptr);
  std::vector<Json> values(suite.cases.size());
  std::vector<bool> left_out(suite.cases.size(), false);
  for (std::size_t f = 0; f < tuning.families.size(); ++f) {
    const TunedFamily& family = tuning.families[f];
    for (const std::size_t i : family.cases) {
      left_out[i] = !chosen[f];
      if (!chosen[f]) continue;
      settings[i] = &family.settings[chosen[f]->trial];
      values[i] = tuning_value(family, chosen[f]->trial);
      values[i]["value"] = chosen[f]->value;
    }
  }
  Suite result = suite;
  result.cases.clear();
  tuned = Json::object();
  std::set<std::string> seen;
  for (std::size_t i = 0; i < suite.cases.size(); ++i) {
    if (left_out[i]) continue;
    Case c = settings[i] == nullptr ? suite.cases[i] : with_settings(suite.cases[i], *settings[i]);
    const std::string id = case_id(c);
    if (!seen.insert(id).second) continue;
    if (const auto origins = suite.origins.find(case_id(suite.cases[i])); origins != suite.origins.end())
      result.origins[id] = origins->second;
    if (settings[i] != nullptr) tuned[id] = values[i];
    result.cases.push_back(std::move(c));
  }
  return result;
}

Json tuning_of_trials(const Tuning& tuning) {
  Json all = Json::object();
  for (const TunedFamily& family : tuning.families)
    for (std::size_t k = 0; k < family.ids.size(); ++k) {
      Json& one = all[family.ids[k]];
      if (one.is_null()) one = tuning_value(family, k);
    }
  return all;
}

}  // namespace strobe
