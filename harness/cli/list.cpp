// `strobe list KIND`: lists plug-ins and named files with descriptions, citations and parameters, from the registries.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "backends/cluster.hpp"
#include "backends/communicator.hpp"
#include "backends/device.hpp"
#include "backends/sim/cost/collective_cost.hpp"
#include "backends/software.hpp"
#include "core/or_null.hpp"
#include "core/shown_text.hpp"
#include "core/units.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/list_text.hpp"
#include "harness/cli/prices.hpp"
#include "harness/placement/strategy.hpp"
#include "harness/process/narrate.hpp"
#include "harness/request/bundled_suite.hpp"
#include "harness/request/case.hpp"
#include "harness/request/schedule_tag.hpp"
#include "models/optimizers/optimizer.hpp"
#include "models/snapshots/model.hpp"
#include "models/tasks/task.hpp"
#include "workloads/catalog/catalog.hpp"
#include "workloads/generators/event_generation.hpp"
#include "workloads/partitioners/partitioner.hpp"
#include "workloads/preparation/feature_scale.hpp"
#include "workloads/shape/shape.hpp"
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

Json presets_of(const FieldTable& table) {
  Json list = Json::array();
  for (const Preset& preset : table.presets()) {
    Json values = Json::object();
    for (const auto& [key, value] : preset.values)
      values[key] = std::visit([](const auto& held) { return Json(held); }, value);
    list.push_back({{"name", preset.name}, {"values", values}, {"source", preset.source}});
  }
  return list;
}

template <class T>
Json entry_json(const Entry<T>& entry) {
  Json json = {{"name", entry.name},
               {"description", entry.description},
               {"citation", entry.citation},
               {"file", entry.file},
               {"parameters", parameters_of(entry.parameters)}};
  if (!entry.parameters.presets().empty()) json["presets"] = presets_of(entry.parameters);
  return json;
}

template <class Registry>
Json entries_of() {
  Json list = Json::array();
  for (const auto& [name, entry] : Registry::instance().entries()) list.push_back(entry_json(entry));
  return list;
}

const std::string& family_text(const ModelTag::Value& model) { return model.family; }
std::string family_text(const TaskTag::Value& task) { return fmt::format("{}", fmt::join(task.families, ", ")); }

/// Models or tasks with their families.
template <class Registry>
Json entries_of_families() {
  Json list = Json::array();
  for (const auto& [name, entry] : Registry::instance().entries()) {
    Json item = entry_json(entry);
    item["family"] = family_text(entry.value);
    list.push_back(item);
  }
  return list;
}

/// Strategies with their kind of training, and the family of models that it trains.
Json strategies() {
  Json list = Json::array();
  for (const auto& [name, entry] : StrategyRegistry::instance().entries()) {
    Json item = entry_json(entry);
    item["schedule"] = entry.value.schedule;
    item["family"] = ScheduleRegistry::instance().find(entry.value.schedule).value.family;
    list.push_back(item);
  }
  return list;
}

Json dataset_json(const Entry<DatasetTag::Value>& entry) {
  Json item = entry_json(entry);
  item["parameters"] = parameters_of(with_feature_scale(file_option_fields()));
  item["origin"] = entry.value.origin;
  item["licence"] = entry.value.licence;
  item["path"] = find_data_file(entry.value.file);
  std::error_code ignored;
  item["present"] = std::filesystem::exists(item["path"].get<std::string>(), ignored);
  return item;
}

Json bundled_set(const Entry<DatasetTag::Value>& entry) {
  Json item = dataset_json(entry);
  item["kind"] = "bundled data set";
  item["vertices"] = entry.value.expected_vertices, item["events"] = entry.value.expected_events;
  item["size_source"] = "checked after reading";
  item["sha256"] = entry.value.sha256;
  return item;
}

Json catalogued_set(const CatalogueSet& set) {
  Json item = dataset_json(set.entry);
  item["kind"] = set.is_graph ? "data set to fetch" : "parameters to fetch";
  item["vertices"] = or_null(set.listed_vertices), item["events"] = or_null(set.listed_events);
  item["size_source"] = set.listed_source;
  item["fetch"] = "scripts/fetch_dataset " + set.entry.name;
  item["sha256"] = or_null(set.files.front().sha256);
  return item;
}

Json workloads() {
  Json list = Json::array();
  for (const auto& [name, entry] : DatasetRegistry::instance().entries()) list.push_back(bundled_set(entry));
  for (const auto& [name, set] : catalogue()) list.push_back(catalogued_set(set));
  for (const auto& [name, entry] : GeneratorRegistry::instance().entries()) {
    Json item = entry_json(entry);
    item["parameters"] = parameters_of(with_feature_scale(entry.parameters));
    item["kind"] = "generator";
    list.push_back(item);
  }
  for (const auto& [name, entry] : EventGeneratorRegistry::instance().entries()) {
    Json item = entry_json(entry);
    item["parameters"] = parameters_of(with_feature_scale(event_workload_fields(name)));
    item["kind"] = "generator of events";
    list.push_back(item);
  }
  return list;
}

/// Generators of steps, then those of events.
Json generators() {
  Json list = entries_of<GeneratorRegistry>();
  for (const Json& entry : entries_of<EventGeneratorRegistry>()) list.push_back(entry);
  return list;
}

Json shapes() {
  Json list = Json::array();
  for (const std::string& name : shape_names()) {
    const GraphStatistics shape = load_shape(name);
    const auto source = [&](const char* key) {
      return shape.sources.count(key) != 0 ? shape.sources.at(key) : std::string();
    };
    list.push_back({{"name", name},
                    {"description", shape.description},
                    {"citation", source("vertices").empty() ? source("edges") : source("vertices")},
                    {"file", "workloads/shapes/" + name + ".json"},
                    {"parameters", Json::array()},
                    {"vertices", or_null(shape.vertices)},
                    {"steps", or_null(shape.steps)},
                    {"edges", or_null(shape.edges)},
                    {"events", or_null(shape.events)},
                    {"feature_width", or_null(shape.feature_width)}});
  }
  return list;
}

Json known_or_null(double number) { return number > 0 ? Json(number) : Json(nullptr); }

/// The speeds and sizes of a node's host; null if unknown.
Json host_of(const Cluster& cluster) {
  const HostModel& host = cluster.host;
  return {{"cores", host.cores > 0 ? Json(host.cores) : Json(nullptr)},
          {"core_operations_per_second", known_or_null(host.core_operations_per_second)},
          {"core_bytes_per_second", known_or_null(host.core_bytes_per_second)},
          {"memory_bytes_per_second", known_or_null(host.memory_bytes_per_second)},
          {"random_access_seconds", known_or_null(host.random_access_seconds)},
          {"disk_bytes_per_second", known_or_null(host.disk_bytes_per_second)},
          {"memory_bytes", host.memory_bytes > 0 ? Json(host.memory_bytes) : Json(nullptr)}};
}

/// GPUs that share a link to the host; null if the file does not say.
Json known_gpus_per_link(const Cluster& cluster) {
  const auto stated = cluster.raw.find("gpus_per_host_link");
  return stated == cluster.raw.end() ? Json(nullptr) : stated->at("value");
}

/// The cost of messages in the cluster's file, or the default cost.
Json message_cost(const Cluster& cluster, const char* key, const DefaultCost& otherwise) {
  const auto stated = cluster.raw.find(key);
  if (stated != cluster.raw.end() && !stated->at("value").is_null()) return *stated;
  return {{"value", otherwise.seconds}, {"low", otherwise.low}, {"high", otherwise.high}, {"source", otherwise.source}};
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
                    {"host", host_of(*cluster)},
                    {"gpus_per_host_link", known_gpus_per_link(*cluster)},
                    {"host_link_bytes_per_second", known_or_null(cluster->host_link_bytes_per_second)},
                    {"message_seconds", message_cost(*cluster, "message_seconds", default_message_cost)},
                    {"all_to_all_peer_seconds", message_cost(*cluster, "all_to_all_peer_seconds", default_peer_cost)},
                    {"covered_ranks", cluster->covered_ranks},
                    {"calibrated", cluster->calibrated},
                    {"price_per_node_hour", cluster->price_per_node_hour},
                    {"price_currency", cluster->price_currency},
                    {"price_region", cluster->price_region},
                    {"price_date", cluster->price_date},
                    {"price_age_days", price_age_days_today(*cluster)},
                    {"price", price_text(*cluster)}});
  }
  return list;
}

Json software() {
  Json list = Json::array();
  for (const std::string& name : software_names()) {
    const bool own = name == own_software;
    list.push_back({{"name", name},
                    {"description", software_description(name)},
                    {"citation", ""},
                    {"file", own ? Json(nullptr) : Json("backends/software/" + name + ".json")},
                    {"parameters", Json::array()}});
  }
  return list;
}

/// Kernel variants of the devices that have kernels of their own.
Json kernels() {
  Json list = Json::array();
  for (const std::string& device : DeviceRegistry::instance().names()) {
    if (DeviceRegistry::instance().find(device, "").value.needs_cluster()) continue;
    for (const auto& [name, operations] : kernel_variants(kernel_numerics(device))) {
      list.push_back({{"name", name},
                      {"description", fmt::format("{} operations on device {}", operations.size(), device)},
                      {"citation", ""},
                      {"parameters", Json::array()},
                      {"device", device},
                      {"operations", std::vector<std::string>(operations.begin(), operations.end())}});
    }
  }
  return list;
}

struct Kind {
  const char* name;
  Json (*list)();
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> table = {{"workloads", workloads},
                                          {"shapes", shapes},
                                          {"models", entries_of_families<ModelRegistry>},
                                          {"strategies", strategies},
                                          {"schedules", entries_of<ScheduleRegistry>},
                                          {"devices", entries_of<DeviceRegistry>},
                                          {"communicators", entries_of<CommunicatorRegistry>},
                                          {"clusters", clusters},
                                          {"software", software},
                                          {"formats", entries_of<FormatRegistry>},
                                          {"tasks", entries_of_families<TaskRegistry>},
                                          {"generators", generators},
                                          {"partitioners", entries_of<PartitionerRegistry>},
                                          {"optimizers", entries_of<OptimizerRegistry>},
                                          {"kernels", kernels},
                                          {"suites", describe_bundled_suites},
                                          {"cost-models", entries_of<Registry<sim::CollectiveCostTag>>}};
  return table;
}

/// The plural of a kind that was typed in the singular.
std::string plural_of(const std::string& typed) {
  const std::string plural = typed.ends_with('y') ? typed.substr(0, typed.size() - 1) + "ies" : typed + "s";
  return std::any_of(kinds().begin(), kinds().end(), [&](const Kind& kind) { return plural == kind.name; }) ? plural
                                                                                                            : typed;
}

int list_kind(const std::string& typed, bool json) {
  const std::string wanted = plural_of(typed);
  std::vector<std::string> names;
  for (const Kind& kind : kinds()) {
    names.push_back(kind.name);
    if (wanted != kind.name) continue;
    const Json entries = kind.list();
    print_data(json ? Json{{"kind", wanted}, {"entries", entries}}.dump(2) + "\n" : shown_lines(listed_text(entries)));
    return 0;
  }
  if (wanted.empty()) throw InvalidRequest("", fmt::format("list what? One of: {}.", fmt::join(names, ", ")));
  throw InvalidRequest("", unknown_name_message("kind", wanted, names));
}

CommandAction define_list(CommandOptions& options) {
  struct Request {
    std::string kind;
    bool json = false;
  };
  const auto request = std::make_shared<Request>();
  options.positional(
      "kind", request->kind,
      "workloads, shapes, models, strategies, schedules, devices, communicators, clusters, software, formats, "
      "tasks, generators, partitioners, optimizers, kernels, suites or cost-models");
  options.toggle("--json", request->json, "print JSON");
  options.example("Example: strobe list strategies --json");
  return [request] { return list_kind(request->kind, request->json); };
}

const Register<CommandTag> list_registered{
    {"list", "print what can be chosen: workloads, models, strategies, ...", "", {}, define_list, {}}};

}  // namespace
}  // namespace strobe
