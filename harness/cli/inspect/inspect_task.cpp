#include "harness/cli/inspect/inspect_task.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/cli/command.hpp"
#include "harness/request/case_slots.hpp"
#include "harness/request/option_text.hpp"
#include "models/tasks/event_task.hpp"
#include "models/tasks/task.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

Json complete_task(const std::string& text) {
  const CaseSlot& slot = *find_case_slot("task");
  const NamedParameters named = split_named_parameters(text, slot.names(), "--task");
  Json task = typed_parameters(slot.fields(named.name, "--task"), named.parameters);
  task = slot.complete(named.name, task, "/task");
  task["name"] = named.name;
  if (TaskRegistry::instance().find(named.name).value.serves("events")) return task;
  throw InvalidRequest("--task", fmt::format("task {} is for snapshots; inspect knows only tasks of events: {}",
                                             named.name, fmt::join(tasks_for("events"), ", ")));
}

}  // namespace

Json inspect_task(const std::string& text, const std::string& workload, const Json& parameters, std::uint64_t seed) {
  Json reported = complete_task(text);
  const std::optional<EventGraph> graph = load_events(workload, parameters, seed);
  if (!graph) throw InvalidRequest("W", workload + " has no events, which the task needs: it holds or makes snapshots");
  const auto task =
      EventTaskRegistry::instance().find(reported.at("name").get<std::string>(), "--task").value(reported);
  const EventTaskData data = task->draw(*graph, seed);
  reported["training_events"] = data.training_events();
  reported["validation_events"] = data.split.validation_end - data.split.train_end;
  reported["test_events"] = graph->events() - data.split.validation_end;
  if (data.candidates != nullptr) reported["may_be_negatives"] = data.candidates->pool().size();
  if (!data.kept_out.empty()) {
    reported["kept_out_vertices"] = std::count(data.kept_out.begin(), data.kept_out.end(), 1);
    reported["inductive_validation_events"] =
        count_inductive(*graph, data.kept_out, data.split.train_end, data.split.validation_end);
    reported["inductive_test_events"] =
        count_inductive(*graph, data.kept_out, data.split.validation_end, graph->events());
  }
  for (const auto& [name, value] : data.rules) reported[name] = value;
  for (const auto& [name, value] : data.levels.best_rule) reported["best_rule_" + name] = value;
  for (const auto& [name, value] : data.levels.best_possible) reported["best_possible_" + name] = value;
  return reported;
}

}  // namespace strobe
