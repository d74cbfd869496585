// `strobe list KIND`: what can be chosen, with descriptions, citations and parameters, straight from the registries.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "backends/cluster.hpp"
#include "backends/communicator.hpp"
#include "backends/device.hpp"
#include "backends/sim/collective_cost.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/narrate.hpp"
#include "harness/strategy.hpp"
#include "models/model.hpp"
#include "models/optimizer.hpp"
#include "models/task.hpp"
#include "workloads/partitioner.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

const char* type_text(FieldType type) {
  switch (type) {
    case FieldType::integer:
      return "integer";
    case FieldType::real:
      return "real";
    case FieldType::boolean:
      return "boolean";
    case FieldType::choice:
      return "choice";
    case FieldType::text:
      break;
  }
  return "text";
}

Json parameters_of(const FieldTable& table) {
  Json list = Json::array();
  for (const Field& field : table.fields()) {
    Json entry{{"name", field.name},
               {"type", type_text(field.type)},
               {"unit", field.unit},
               {"default", Json::parse(field.default_text)},
               {"help", field.help}};
    if (field.type == FieldType::choice) entry["choices"] = field.choices;
    list.push_back(entry);
  }
  return list;
}

template <class T>
Json entry_json(const Entry<T>& entry) {
  return {{"name", entry.name},
          {"description", entry.description},
          {"citation", entry.citation},
          {"file", entry.file},
          {"parameters", parameters_of(entry.parameters)}};
}

template <class Registry>
Json entries_of() {
  Json list = Json::array();
  for (const auto& [name, entry] : Registry::instance().entries()) list.push_back(entry_json(entry));
  return list;
}

Json workloads() {
  Json list = Json::array();
  for (const auto& [name, entry] : DatasetRegistry::instance().entries()) {
    Json item = entry_json(entry);
    item["parameters"] = parameters_of(file_option_fields());
    item["kind"] = "data set";
    item["bundled"] = !entry.value.file.empty();
    item["origin"] = entry.value.origin;
    item["licence"] = entry.value.licence;
    item["sha256"] = entry.value.sha256;
    list.push_back(item);
  }
  for (Json item : entries_of<GeneratorRegistry>()) {
    item["kind"] = "generator";
    list.push_back(item);
  }
  return list;
}

Json clusters() {
  Json list = Json::array();
  for (const std::string& name : cluster_names()) {
    const auto cluster = load_cluster(name);
    list.push_back({{"name", name},
                    {"description", cluster->description},
                    {"citation", cluster->price_source},
                    {"file", "backends/clusters/" + name + ".json"},
                    {"parameters", Json::array()},
                    {"nodes", cluster->nodes},
                    {"gpus_per_node", cluster->gpus_per_node},
                    {"gpu", cluster->gpu.name},
                    {"calibrated", cluster->calibrated}});
  }
  return list;
}

struct Kind {
  const char* name;
  Json (*list)();
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> table = {{"workloads", workloads},
                                          {"models", entries_of<ModelRegistry>},
                                          {"strategies", entries_of<StrategyRegistry>},
                                          {"devices", entries_of<DeviceRegistry>},
                                          {"communicators", entries_of<CommunicatorRegistry>},
                                          {"clusters", clusters},
                                          {"formats", entries_of<FormatRegistry>},
                                          {"tasks", entries_of<TaskRegistry>},
                                          {"generators", entries_of<GeneratorRegistry>},
                                          {"partitioners", entries_of<PartitionerRegistry>},
                                          {"optimizers", entries_of<OptimizerRegistry>},
                                          {"cost-models", entries_of<Registry<sim::CollectiveCostTag>>}};
  return table;
}

std::string as_text(const Json& entries) {
  std::string text;
  for (const Json& entry : entries) {
    text += fmt::format("{}\n    {}\n", entry["name"].get<std::string>(), entry["description"].get<std::string>());
    const std::string citation = entry["citation"].get<std::string>();
    if (!citation.empty()) text += fmt::format("    source: {}\n", citation);
    for (const Json& field : entry["parameters"]) {
      const std::string unit = field["unit"].get<std::string>();
      text += fmt::format("    {} = {}{}  {}", field["name"].get<std::string>(), field["default"].dump(),
                          unit.empty() ? "" : " " + unit, field["help"].get<std::string>());
      if (field.contains("choices")) text += " " + field["choices"].dump();
      text += "\n";
    }
  }
  return text;
}

int list_kind(const std::string& wanted, bool json) {
  std::vector<std::string> names;
  for (const Kind& kind : kinds()) {
    names.push_back(kind.name);
    if (wanted != kind.name) continue;
    const Json entries = kind.list();
    print_data(json ? Json{{"kind", wanted}, {"entries", entries}}.dump(2) + "\n" : as_text(entries));
    return 0;
  }
  if (wanted.empty()) throw InvalidRequest("", fmt::format("list what? One of: {}.", fmt::join(names, ", ")));
  throw InvalidRequest("", unknown_name_message("kind", wanted, names));
}

CommandAction define(CommandOptions& options) {
  struct Request {
    std::string kind;
    bool json = false;
  };
  const auto request = std::make_shared<Request>();
  options.positional("kind", request->kind,
                     "workloads, models, strategies, devices, communicators, clusters, formats, tasks, generators, partitioners, "
                     "optimizers or cost-models");
  options.toggle("--json", request->json, "print JSON");
  options.example("Example: strobe list strategies --json");
  return [request] { return list_kind(request->kind, request->json); };
}

const Register<CommandTag> registered{
    {"list", "print what can be chosen: workloads, models, strategies, ...", "", {}, define, {}}};

}  // namespace
}  // namespace strobe
