// Enumerates the points of a plan.
// Returns cases that differ only in strategy, its variant, knobs, cluster and ranks. Invariants: ids are unique; a
// strategy is tried only at rank counts where it differs from others (StrategyTag::Value::distinct).
// Cost: one case built per combination of strategy and knobs, then copies.
#include "harness/advisor/plan_points.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "backends/cluster.hpp"
#include "core/errors.hpp"
#include "harness/advisor/plan_places.hpp"
#include "harness/event_batches/strategies/event_options.hpp"
#include "harness/full_batch/plan/model_plan.hpp"
#include "harness/placement/strategy.hpp"
#include "harness/request/case_slots.hpp"
#include "harness/request/schedule_tag.hpp"
#include "harness/request/shape_case.hpp"
#include "harness/request/typed_settings.hpp"
#include "models/snapshots/model.hpp"

namespace strobe {
namespace {

using Choices = std::vector<std::pair<std::string, std::string>>;

void refuse_decided(const PlanSpace& space) {
  const auto check = [](const std::string& path, const std::string& origin) {
    for (const std::string decided : {"strategy", "cluster", "ranks", "device", "comm", "numerics", "repeat"}) {
      if (path != decided) continue;
      throw InvalidRequest(
          origin,
          fmt::format("the search decides {} itself; narrow it with --strategy, --clusters or --nodes", decided));
    }
  };
  for (const Setting& setting : space.settings) check(setting.path, setting.origin);
  for (const Knob& knob : space.knobs) check(knob.path, knob.origin);
}

std::string workload_name(const PlanSpace& space) {
  for (const Setting& setting : space.settings) {
    if (setting.path == "workload") return setting.text;
  }
  throw InvalidRequest("--workload", "give what to plan for: the name of a data set, generator or shape, or a file");
}

bool user_sets(const PlanSpace& space, const std::string& path) {
  const auto is_it = [&path](const auto& choice) { return choice.path == path; };
  return std::any_of(space.settings.begin(), space.settings.end(), is_it) ||
         std::any_of(space.knobs.begin(), space.knobs.end(), is_it);
}

/// A parameter that the user left open, with the values that the search tries.
struct Searched {
  std::string name;
  std::vector<std::string> values;
};

/// The family of the searched model: the one that the user names, or the default model.
std::string family_of(const PlanSpace& space) {
  std::string model = find_case_slot("model")->default_plugin;
  for (const Setting& setting : space.settings) {
    if (setting.path == "model") model = setting.text;
  }
  return ModelRegistry::instance().find(model, "--model").value.family;
}

/// Whether ranks may send what the first layer reads. Models that may do so with few features alone count as well.
bool may_send_inputs(const PlanSpace& space) {
  std::vector<Setting> settings{{"workload", "uniform", "--model"}};  // the model alone decides
  for (const Setting& setting : space.settings)
    if (setting.path == "model" || setting.path.starts_with("model.")) settings.push_back(setting);
  const Case c = suite_from_settings(settings).cases.front();
  return may_send_first_input(choose_model(c).equations->layers(1));
}

/// Whether the search leaves out the strategy's parameter, for this model or without a metric. By the time of an epoch
/// alone, the largest batch would always win.
bool left_alone(const std::string& parameter, const PlanSpace& space) {
  if (parameter == "halo") return family_of(space) != "snapshots" || !may_send_inputs(space);
  const std::vector<std::string>& batches = event_batch_names();
  if (std::find(batches.begin(), batches.end(), parameter) == batches.end()) return false;
  return family_of(space) != "events" || !space.until_metric;
}

std::vector<Searched> searched_of(const StrategyChoice& strategy, const PlanSpace& space, bool shape) {
  std::vector<Searched> all;
  for (const Field& field : StrategyRegistry::instance().find(strategy.name, "--strategy").parameters.fields()) {
    if (left_alone(field.name, space)) continue;
    const bool given = std::any_of(strategy.parameters.begin(), strategy.parameters.end(),
                                   [&](const auto& parameter) { return parameter.first == field.name; });
    const std::vector<std::string> values = field.searched ? field.searched(shape) : std::vector<std::string>();
    if (!given && !values.empty() && !user_sets(space, "strategy." + field.name)) all.push_back({field.name, values});
  }
  return all;
}

/// With more parameters than these, all combinations are tried only if the user names the strategy, because each costs
/// a plan.
constexpr std::size_t few_searched = 2;

/// The strategy with the search's values for the parameters that the user left open, in every combination. If there are
/// many and the user does not name the strategy, only one parameter at a time differs from its first value.
std::vector<StrategyChoice> variants_of(const StrategyChoice& strategy, const PlanSpace& space, bool shape) {
  const std::vector<Searched> searched = searched_of(strategy, space, shape);
  const bool one_at_a_time = space.strategies.empty() && searched.size() > few_searched;
  std::vector<StrategyChoice> variants{strategy};
  std::vector<bool> changed{false};  // [variants] whether a value differs from the first
  for (const Searched& parameter : searched) {
    std::vector<StrategyChoice> longer;
    std::vector<bool> longer_changed;
    for (std::size_t i = 0; i < variants.size(); ++i) {
      for (const std::string& value : parameter.values) {
        const bool other = value != parameter.values.front();
        if (one_at_a_time && changed[i] && other) continue;
        longer.push_back(variants[i]);
        longer.back().parameters.emplace_back(parameter.name, value);
        longer_changed.push_back(changed[i] || other);
      }
    }
    variants = std::move(longer);
    changed = std::move(longer_changed);
  }
  return variants;
}

bool trains(const std::string& strategy, const std::string& family) {
  const std::string& kind = StrategyRegistry::instance().find(strategy, "--strategy").value.schedule_for(family);
  return ScheduleRegistry::instance().find(kind, "--strategy").value.family == family;
}

/// Whether epochs are passes over all cells or events, rather than a number of updates.
bool epochs_are_passes(const std::string& strategy, const std::string& family) {
  const std::string& kind = StrategyRegistry::instance().find(strategy, "--strategy").value.schedule_for(family);
  return ScheduleRegistry::instance().find(kind, "--strategy").value.passes;
}

/// Whether it is another strategy with other defaults. The search tries the other one instead.
bool is_preset(const std::string& strategy) {
  return StrategyRegistry::instance().find(strategy, "--strategy").value.preset;
}

/// Refuses strategies with epochs of different lengths, because the search would rank them by an epoch's time.
void check_epochs(const std::vector<StrategyChoice>& strategies, const std::string& family, bool until_metric) {
  if (until_metric) return;
  for (const StrategyChoice& strategy : strategies) {
    const std::string& first = strategies.front().name;
    if (epochs_are_passes(strategy.name, family) == epochs_are_passes(first, family)) continue;
    throw InvalidRequest("--strategy",
                         fmt::format("epochs of {} and {} cannot be compared: one is a pass over all cells, the other "
                                     "a few updates by batches; plan each alone, or give --until METRIC=X",
                                     first, strategy.name));
  }
}

std::vector<StrategyChoice> all_variants(const PlanSpace& space) {
  const bool shape = is_shape_workload(workload_name(space));
  const std::string family = family_of(space);
  std::vector<StrategyChoice> strategies = space.strategies;
  for (const std::string& name : StrategyRegistry::instance().names()) {
    if (space.strategies.empty() && (!shape || serves_shapes(name)) && trains(name, family) &&
        (space.until_metric || epochs_are_passes(name, family)) && !is_preset(name))
      strategies.push_back({name, {}});
  }
  check_epochs(strategies, family, space.until_metric);
  std::vector<StrategyChoice> variants;
  for (const StrategyChoice& strategy : strategies) {
    for (StrategyChoice& variant : variants_of(strategy, space, shape)) variants.push_back(std::move(variant));
  }
  return variants;
}

std::vector<Choices> combinations(const std::vector<Knob>& knobs) {
  std::vector<Choices> all{{}};
  for (const Knob& knob : knobs) {
    if (all.size() * knob.values.size() > most_cases) {
      throw InvalidRequest(knob.origin,
                           fmt::format("more than {} combinations; give fewer values in one plan", most_cases));
    }
    std::vector<Choices> longer;
    for (const Choices& shorter : all) {
      for (const std::string& value : knob.values) {
        longer.push_back(shorter);
        longer.back().emplace_back(knob.path, value);
      }
    }
    all = std::move(longer);
  }
  return all;
}

/// The user's knobs, and open settings of the strategy's kind of training that are tried in every combination. The
/// others go to `open`.
std::vector<Knob> knobs_of(const PlanSpace& space, const std::string& strategy, std::vector<OpenSetting>& open) {
  std::vector<Knob> knobs = space.knobs;
  const std::string& kind =
      StrategyRegistry::instance().find(strategy, "--strategy").value.schedule_for(family_of(space));
  for (OpenSetting& setting : searched_settings(kind == "full_batch", is_shape_workload(workload_name(space)))) {
    if (user_sets(space, setting.name)) continue;
    if (shortened_by(setting.name) == Shortens::anything)
      knobs.push_back({setting.name, setting.values, "--vary " + setting.name});
    else
      open.push_back(std::move(setting));
  }
  return knobs;
}

/// The case of a variant and knobs, before its cluster is chosen.
Case case_of(const PlanSpace& space, const StrategyChoice& variant, const Choices& knobs, const std::string& cluster) {
  std::vector<Setting> settings = space.settings;
  settings.push_back({"device", "sim", "--device"});
  settings.push_back({"cluster", cluster, "--clusters"});
  settings.push_back({"strategy", variant.name, "--strategy"});
  for (const auto& [key, value] : variant.parameters)
    settings.push_back({"strategy." + key, value, "--strategy " + key});
  for (const auto& [path, value] : knobs) settings.push_back({path, value, "--vary " + path});
  // These kinds of training may decide by their losses, so they need values.
  if (space.until_metric && !epochs_are_passes(variant.name, family_of(space)))
    settings.push_back({"numerics", "cpu", "--until"});
  if (!user_sets(space, "epochs")) settings.push_back({"epochs", "1", "--epochs"});
  if (!user_sets(space, "warmup")) settings.push_back({"warmup", "1", "--warmup"});
  if (space.paper_sizes) add_paper_sizes(settings);
  return suite_from_settings(settings).cases.front();
}

std::string short_name(const std::string& cluster) {
  const std::string base = cluster_base(cluster);
  return base.ends_with(".json") ? std::filesystem::path(base).stem().string() + cluster.substr(base.size()) : cluster;
}

/// Sets the values to try at the point's ranks. The user's own choices are already among the point's choices.
void add_searched(const StrategyTag::Searched& tried, const StrategyChoice& variant, PlanPoint& point) {
  for (const auto& [name, value] : tried.chosen) {
    Json& parameter = point.request.strategy[name];
    parameter = parameter.is_string() ? Json(std::to_string(value)) : Json(value);
  }
  for (const auto& all : {tried.chosen, tried.implied}) {
    for (const auto& [name, value] : all) {
      const auto is_it = [&name = name](const auto& parameter) { return parameter.first == name; };
      if (std::none_of(variant.parameters.begin(), variant.parameters.end(), is_it))
        point.choices.emplace_back(name, std::to_string(value));
    }
  }
}

/// Whether this would change a choice of the user.
bool overrides(const StrategyTag::Searched& tried, const Case& base, const StrategyChoice& variant,
               const PlanSpace& space) {
  return std::any_of(tried.chosen.begin(), tried.chosen.end(), [&](const auto& one) {
    const Json& has = base.strategy.at(one.first);
    if (!has.is_string() || has == std::to_string(one.second)) return false;
    return user_sets(space, "strategy." + one.first) ||
           std::any_of(variant.parameters.begin(), variant.parameters.end(),
                       [&](const auto& parameter) { return parameter.first == one.first; });
  });
}

void add_points(const PlanSpace& space, const Case& base, const PlanSite& site, const StrategyChoice& variant,
                const Choices& knobs, const std::vector<OpenSetting>& open, std::vector<PlanPoint>& points) {
  Choices choices = variant.parameters;
  choices.insert(choices.end(), knobs.begin(), knobs.end());
  const StrategyTag::Value& strategy = StrategyRegistry::instance().find(variant.name, "--strategy").value;
  for (const auto& [nodes, ranks] : site.places) {
    if (!strategy.distinct(base.strategy, ranks)) continue;
    const std::vector<StrategyTag::Searched> searched = strategy.searched_at == nullptr
                                                            ? std::vector<StrategyTag::Searched>(1)
                                                            : strategy.searched_at(base.strategy, ranks, ranks / nodes);
    for (const StrategyTag::Searched& tried : searched) {
      if (overrides(tried, base, variant, space)) continue;
      PlanPoint point{"", base, site.text, nodes, choices, open};
      point.request.ranks = ranks;
      point.request.cluster =
          nodes > site.cluster->nodes ? change_cluster(site.text, "nodes", std::to_string(nodes)) : site.text;
      add_searched(tried, variant, point);
      name_point(point);
      points.push_back(std::move(point));
    }
  }
}

/// Whether the models are of several families. Then only one task judges them in the same way.
bool families_differ(const std::vector<StrategyChoice>& models) {
  std::set<std::string> families;
  for (const StrategyChoice& model : models)
    families.insert(ModelRegistry::instance().find(model.name, "--model").value.family);
  return families.size() > 1;
}

/// The search for one of several models.
PlanSpace space_of(const PlanSpace& space, const StrategyChoice& model) {
  PlanSpace own = space;
  own.models.clear();
  const std::string& family = ModelRegistry::instance().find(model.name, "--model").value.family;
  std::erase_if(own.settings, [&](const Setting& setting) {
    const std::string& path = setting.path;
    if (path == "model" || path.rfind("model.", 0) == 0) return true;
    const auto says_steps = [&](const std::string& option) { return path == "workload." + option; };
    return family == "events" && std::any_of(options_of_steps().begin(), options_of_steps().end(), says_steps);
  });
  if (families_differ(space.models) && !user_sets(space, "task"))
    own.settings.push_back({"task", "future-links", "--task"});
  own.settings.push_back({"model", model.name, "--model"});
  for (const auto& [key, value] : model.parameters) own.settings.push_back({"model." + key, value, "--model " + key});
  std::erase_if(own.strategies, [&](const StrategyChoice& strategy) { return !trains(strategy.name, family); });
  if (own.strategies.empty() && !space.strategies.empty()) {
    throw InvalidRequest("--strategy", fmt::format("none of these strategies trains model {}, which is a model of {}",
                                                   model.name, family));
  }
  return own;
}

std::vector<PlanPoint> points_of_model(const PlanSpace& space) {
  const std::vector<PlanSite> sites = sites_of(space);
  std::vector<PlanPoint> points;
  for (const StrategyChoice& variant : all_variants(space)) {
    std::vector<OpenSetting> open;
    for (const Choices& chosen : combinations(knobs_of(space, variant.name, open))) {
      const Case base = case_of(space, variant, chosen, sites.front().text);
      for (const PlanSite& site : sites) add_points(space, base, site, variant, chosen, open, points);
    }
  }
  return points;
}

}  // namespace

void name_point(PlanPoint& point) {
  const std::int64_t ranks = point.request.ranks, nodes = point.nodes;
  point.id = fmt::format("{}/{}x{}/{}", short_name(point.cluster), nodes, (ranks + nodes - 1) / nodes,
                         point.request.strategy.at("name").get<std::string>());
  for (const auto& [key, value] : point.choices) point.id += fmt::format("/{}={}", key, value);
}

PlanPoint with_setting(PlanPoint point, const std::string& name, const std::string& value) {
  case_fields().apply(&point.request, Json{{name, value}}, "", true);
  point.choices.emplace_back(name, value);
  name_point(point);
  return point;
}

std::vector<PlanPoint> plan_points(const PlanSpace& space) {
  refuse_decided(space);
  std::vector<PlanPoint> points = space.models.empty() ? points_of_model(space) : std::vector<PlanPoint>();
  for (const StrategyChoice& model : space.models) {
    for (PlanPoint& point : points_of_model(space_of(space, model))) {
      std::string name = model.name;
      for (const auto& [key, value] : model.parameters) name += fmt::format(",{}={}", key, value);
      point.choices.emplace(point.choices.begin(), "model", std::move(name));
      name_point(point);
      points.push_back(std::move(point));
    }
  }
  std::set<std::string> seen;
  for (const PlanPoint& point : points) {
    if (!seen.insert(point.id).second)
      throw InvalidRequest("", fmt::format("{} is requested twice; name each choice once", point.id));
  }
  if (points.empty()) throw InvalidRequest(space.gpus.empty() ? "--nodes" : "--gpus", "no point is left to try");
  return points;
}

}  // namespace strobe
