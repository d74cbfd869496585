#include "harness/request/case_slots.hpp"

#include <nlohmann/json.hpp>

#include "core/names_elsewhere.hpp"
#include "harness/placement/strategy.hpp"
#include "models/optimizers/optimizer.hpp"
#include "models/snapshots/model.hpp"
#include "models/tasks/task.hpp"
#include "models/tasks/task_split.hpp"
#include "workloads/catalog/catalog.hpp"
#include "workloads/generators/event_generation.hpp"
#include "workloads/preparation/feature_scale.hpp"
#include "workloads/shape/shape_graph.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

template <class Registry>
FieldTable registry_fields(const std::string& plugin, const std::string& where) {
  return Registry::instance().find(plugin, where).parameters;
}

template <class Registry>
Json registry_complete(const std::string& plugin, const Json& values, const std::string& pointer) {
  return Registry::instance().find(plugin, pointer + "/name").parameters.complete(values, pointer);
}

template <class Registry>
std::vector<std::string> registry_names() {
  return Registry::instance().names();
}

template <class Registry>
CaseSlot registry_slot(const char* name, const char* default_plugin, Json Case::*member) {
  return {
      name, default_plugin, member, registry_fields<Registry>, registry_complete<Registry>, registry_names<Registry>};
}

/// Newer parameters appear in a case only if they differ from their defaults, which change nothing. So older cases keep
/// their ids.
Json complete_optimizer(const std::string& plugin, const Json& values, const std::string& pointer) {
  Json complete = registry_complete<OptimizerRegistry>(plugin, values, pointer);
  if (plugin != "sgd" && plugin != "adam") return complete;
  if (complete.value("weight_decay", 1.0) == 0) complete.erase("weight_decay");
  if (!complete.value("nesterov", true)) complete.erase("nesterov");
  return complete;
}

Json complete_strategy(const std::string& plugin, const Json& values, const std::string& pointer) {
  std::vector<std::string> with_halos;
  for (const auto& [name, entry] : StrategyRegistry::instance().entries()) {
    if (has_stale_fields(entry.parameters)) with_halos.push_back(name);
  }
  const FieldTable fields = registry_fields<StrategyRegistry>(plugin, pointer + "/name");
  const Json own = without_foreign_stale(fields, plugin, with_halos, values, pointer);
  return without_idle_cut_options(without_idle_stale_options(fields.complete(own, pointer)));
}

FieldTable workload_fields(const std::string& plugin, const std::string& where) {
  if (GeneratorRegistry::instance().contains(plugin))
    return with_feature_scale(registry_fields<GeneratorRegistry>(plugin, where));
  if (EventGeneratorRegistry::instance().contains(plugin)) return with_feature_scale(event_workload_fields(plugin));
  return with_feature_scale(is_shape_workload(plugin) ? shape_option_fields() : file_option_fields());
}

std::vector<std::string> workload_names() {
  std::vector<std::string> names = dataset_names();
  for (const std::string& name : GeneratorRegistry::instance().names()) names.push_back(name);
  for (const std::string& name : EventGeneratorRegistry::instance().names()) names.push_back(name);
  for (const std::string& name : shape_names()) names.push_back(name);
  return names;
}

const RegisterNames case_slots_elsewhere{"key",
                                         {{"batch_size", "strategy.batch", "events of an evaluation are task.batch"},
                                          {"lr", "optimizer.rate", ""},
                                          {"learning_rate", "optimizer.rate", ""},
                                          {"hidden_dim", "model.hidden", ""},
                                          {"hidden_size", "model.hidden", ""},
                                          {"num_layers", "model.layers", ""},
                                          {"staleness", "strategy.stale", "such as stale=static"},
                                          {"partitioner", "strategy.partitioner", ""},
                                          {"schedule", "strategy", "the strategy decides the schedule"},
                                          {"gpus", "ranks", "on a GPU device, each rank has one GPU"},
                                          {"world_size", "ranks", ""},
                                          {"world", "ranks", ""},
                                          {"repetitions", "repeat", ""},
                                          {"workers", "ranks", ""},
                                          {"dataset", "workload", ""},
                                          {"dtype", "precision", ""},
                                          {"window", "workload.window", ""},
                                          {"hidden", "model.hidden", ""},
                                          {"hidden_channels", "model.hidden", ""},
                                          {"layers", "model.layers", ""},
                                          {"dropout", "model.dropout", ""},
                                          {"heads", "model.heads", ""},
                                          {"weight_decay", "optimizer.weight_decay", ""},
                                          {"momentum", "optimizer.momentum", ""},
                                          {"num_gpus", "ranks", ""},
                                          {"nproc_per_node", "ranks", ""},
                                          {"np", "ranks", ""},
                                          {"n", "ranks", ""},
                                          {"num_epochs", "epochs", ""},
                                          {"backend", "comm", ""}}};

}  // namespace

const std::vector<CaseSlot>& case_slots() {
  static const std::vector<CaseSlot> slots = {
      {"workload", "", &Case::workload, workload_fields, complete_workload_parameters, workload_names},
      registry_slot<ModelRegistry>("model", "tm-gcn", &Case::model),
      {"strategy", "sequential", &Case::strategy, registry_fields<StrategyRegistry>, complete_strategy,
       registry_names<StrategyRegistry>},
      {"task", "link-prediction", &Case::task, registry_fields<TaskRegistry>, complete_task_parameters,
       registry_names<TaskRegistry>},
      {"optimizer", "adam", &Case::optimizer, registry_fields<OptimizerRegistry>, complete_optimizer,
       registry_names<OptimizerRegistry>},
  };
  return slots;
}

const CaseSlot* find_case_slot(const std::string& name) {
  for (const CaseSlot& slot : case_slots()) {
    if (slot.name == name) return &slot;
  }
  return nullptr;
}

}  // namespace strobe
