#include "harness/request/schedule_tag.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "core/registry_names.hpp"
#include "harness/placement/strategy.hpp"
#include "models/snapshots/model.hpp"
#include "models/tasks/task.hpp"

namespace strobe {
namespace {

std::string name_in(const Json& plugin) { return plugin.at("name").get<std::string>(); }

template <class Tag>
void check_family(const std::string& name, const std::string& strategy, const std::string& wanted,
                  const std::string& where) {
  const Registry<Tag>& registry = Registry<Tag>::instance();
  const std::string& family = registry.find(name, where).value.family;
  if (family == wanted) return;
  throw InvalidRequest(
      where, fmt::format("{} {} is for {}, and strategy {} trains on {}; choose one of {}", Tag::kind, name, family,
                         strategy, wanted, fmt::join(names_with<Tag>(&Tag::Value::family, wanted), ", ")));
}

}  // namespace

const std::vector<std::string>& full_batch_only() {
  static const std::vector<std::string> names = {"inputs", "transfer", "transfer_format",
                                                 "nb",     "overlap",  "rerun_last"};
  return names;
}

const std::vector<std::string>& never_full_batch() {
  static const std::vector<std::string> names = {"host_threads"};
  return names;
}

bool trains_full_batch(const Case& c) { return !c.strategy.contains("name") || schedule_of(c).name == "full_batch"; }

void check_schedule(const Case& c, const Json& json, const std::string& pointer) {
  const auto& schedule = schedule_of(c);
  const std::string strategy = name_in(c.strategy);
  check_family<ModelTag>(name_in(c.model), strategy, schedule.value.family, pointer + "/model");
  check_family<TaskTag>(name_in(c.task), strategy, schedule.value.family, pointer + "/task");
  const bool full = trains_full_batch(c);
  for (const std::string& option : full ? never_full_batch() : full_batch_only()) {
    if (!json.contains(option)) continue;
    throw InvalidRequest(
        pointer + "/" + option,
        fmt::format("{} belongs to {}, and strategy {} trains by {}; leave it out", option,
                    full ? "training with work of the host" : "full-batch training", strategy, schedule.name));
  }
}

const Entry<ScheduleTag::Value>& schedule_of(const Case& c) {
  const auto& strategy = StrategyRegistry::instance().find(name_in(c.strategy), "/strategy");
  return ScheduleRegistry::instance().find(strategy.value.schedule, "/strategy");
}

}  // namespace strobe
