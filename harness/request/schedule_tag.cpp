#include "harness/request/schedule_tag.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "core/registry_names.hpp"
#include "harness/placement/strategy.hpp"
#include "harness/request/case_slots.hpp"
#include "models/snapshots/model.hpp"
#include "models/tasks/task.hpp"

namespace strobe {
namespace {

std::string name_in(const Json& plugin) { return plugin.at("name").get<std::string>(); }

void refuse_family(const std::string& plugin, const std::string& family, const std::string& strategy,
                   const std::string& wanted, const std::vector<std::string>& others, const std::string& where) {
  throw InvalidRequest(where, fmt::format("{} is for {}, but strategy {} trains on {}; choose one of {}", plugin,
                                          family, strategy, wanted, fmt::join(others, ", ")));
}

void check_families(const Case& c, const std::string& wanted, const std::string& pointer) {
  const std::string strategy = name_in(c.strategy), model = strobe::family_of(c.model), task = name_in(c.task);
  if (model != wanted)
    refuse_family("model " + name_in(c.model), model, strategy, wanted,
                  names_with<ModelTag>(&ModelTag::Value::family, wanted), pointer + "/model");
  const TaskTag::Value& of_task = TaskRegistry::instance().find(task, pointer + "/task").value;
  if (!of_task.serves(wanted))
    refuse_family("task " + task, of_task.families.front(), strategy, wanted, tasks_for(wanted), pointer + "/task");
}

/// The user's value for a slot, as an object.
Json given(const Json& json, const char* slot) {
  if (!json.contains(slot)) return Json::object();
  return json.at(slot).is_object() ? json.at(slot) : Json{{"name", json.at(slot)}};
}

/// Models of events read events one by one. So this removes a data set's default window, and refuses a window from the
/// user.
void leave_out_steps(Case& c, const Json& given_workload, const std::string& pointer) {
  for (const std::string& option : options_of_steps()) {
    if (given_workload.contains(option)) {
      throw InvalidRequest(pointer + "/workload/" + option,
                           fmt::format("{} is for models of snapshots, but model {} reads events one by one; leave it "
                                       "out, or choose one of {}",
                                       option, name_in(c.model),
                                       fmt::join(names_with<ModelTag>(&ModelTag::Value::family, "snapshots"), ", ")));
    }
    c.workload.erase(option);
  }
}

/// TGN's, TGL's and DistTGL's learning rate (decisions T11).
constexpr double rate_of_events = 1e-4;

}  // namespace

const std::vector<std::string>& options_of_steps() {
  static const std::vector<std::string> names = {
      "window", "window_events", "window_count", "partial",   "weights", "orientation", "cumulative",
      "stride", "lags",          "edge_life",    "min_edges", "steps",   "features",    "feature_scale"};
  return names;
}

const std::string& family_of(const Json& model) {
  return ModelRegistry::instance().find(name_in(model), "/model").value.family;
}

std::string default_plugin(const CaseSlot& slot, const Json& model) {
  if (slot.name != "task") return slot.default_plugin;
  const Json& name = model.is_object() && model.contains("name") ? model.at("name") : model;
  if (!name.is_string() || !ModelRegistry::instance().contains(name.get<std::string>())) return slot.default_plugin;
  const std::string& family = ModelRegistry::instance().find(name.get<std::string>()).value.family;
  return family == "events" ? "future-links" : slot.default_plugin;
}

void settle_family(Case& c, const Json& json, const std::string& pointer) {
  const bool events = family_of(c.model) == "events";
  if (events && c.optimizer.contains("rate") && !given(json, "optimizer").contains("rate"))
    c.optimizer["rate"] = rate_of_events;
  if (events) return leave_out_steps(c, given(json, "workload"), pointer);
  const auto& strategy = StrategyRegistry::instance().find(name_in(c.strategy), pointer + "/strategy");
  for (const std::string& option : strategy.value.events_only) {
    if (given(json, "strategy").contains(option)) {
      throw InvalidRequest(
          pointer + "/strategy/" + option,
          fmt::format("{} is an option of models of events, but model {} is one of {}; leave it out, or "
                      "choose one of {}",
                      option, name_in(c.model), family_of(c.model),
                      fmt::join(names_with<ModelTag>(&ModelTag::Value::family, "events"), ", ")));
    }
    c.strategy.erase(option);
  }
}

const std::vector<std::string>& full_batch_only() {
  static const std::vector<std::string> names = {"inputs", "transfer", "transfer_format",
                                                 "nb",     "overlap",  "rerun_last"};
  return names;
}

const std::vector<std::string>& never_full_batch() {
  static const std::vector<std::string> names = {"host_threads"};
  return names;
}

std::vector<std::string> options_of_others(const Case& c) {
  if (trains_full_batch(c)) return never_full_batch();
  std::vector<std::string> names = full_batch_only();
  if (schedule_of(c).value.family != "snapshots") names.emplace_back("presence");
  return names;
}

bool trains_full_batch(const Case& c) { return !c.strategy.contains("name") || schedule_of(c).name == "full_batch"; }

void check_schedule(const Case& c, const Json& json, const std::string& pointer) {
  const auto& schedule = schedule_of(c);
  const std::string strategy = name_in(c.strategy);
  check_families(c, schedule.value.family, pointer);
  const bool full = trains_full_batch(c);
  for (const std::string& option : options_of_others(c)) {
    if (!json.contains(option)) continue;
    if (option == "presence")
      throw InvalidRequest(pointer + "/presence", fmt::format("presence says which cells of a graph's steps exist, but "
                                                              "strategy {} trains on {}; leave it out",
                                                              strategy, schedule.value.family));
    throw InvalidRequest(pointer + "/" + option,
                         fmt::format("{} belongs to {}, but strategy {} trains {}; leave it out", option,
                                     full ? "training with work of the host" : "full-batch training", strategy,
                                     full ? "in full batches" : "batch by batch"));
  }
}

const Entry<ScheduleTag::Value>& schedule_of(const Case& c) {
  const auto& strategy = StrategyRegistry::instance().find(name_in(c.strategy), "/strategy");
  const std::string family = c.model.contains("name") ? family_of(c.model) : "snapshots";
  return ScheduleRegistry::instance().find(strategy.value.schedule_for(family), "/strategy");
}

}  // namespace strobe
