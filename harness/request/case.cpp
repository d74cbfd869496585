// Cases as canonical JSON and back. Invariant: case_from_json(case_to_json(c)) equals c. Two cases have the same JSON
// exactly when they request the same run, so its hash identifies a case in plans, rows and --resume.
#include "harness/request/case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "backends/cluster.hpp"
#include "backends/communicator.hpp"
#include "backends/device.hpp"
#include "backends/software.hpp"
#include "core/errors.hpp"
#include "core/hash.hpp"
#include "core/names_elsewhere.hpp"
#include "harness/request/case_slots.hpp"
#include "harness/request/impossible.hpp"
#include "harness/request/json_text.hpp"
#include "harness/request/schedule_tag.hpp"
#include "harness/request/shape_case.hpp"
#include "harness/request/until.hpp"

namespace strobe {
namespace {

constexpr const char* default_cluster = "aimos-v100";

std::string how_to_build(const std::string& backend) {
  return backend == "mpi"
             ? "install MPI (apt: libopenmpi-dev), then configure and build again"
             : "install the CUDA Toolkit, version 12 or newer, then configure and build again (docs/howto/gpus.md)";
}

/// Looks for a backend that a build may lack; its name is then no misspelling. Returns whether this build has it.
/// Throws Unavailable if it is missing and the case runs here.
template <class Tag>
bool require_backend(const std::string& name, const std::string& pointer, CaseRuns runs,
                     const std::vector<std::string>& optional) {
  if (Registry<Tag>::instance().contains(name)) return true;
  const NameElsewhere* elsewhere = name_elsewhere(Tag::kind, name);
  const std::string meant = elsewhere == nullptr ? name : elsewhere->here;
  for (const std::string& known : optional) {
    if (meant != known || Registry<Tag>::instance().contains(known)) continue;
    if (runs == CaseRuns::elsewhere && name == known) return false;
    throw Unavailable(
        fmt::format("the {} {} is not built into this strobe; {}", Tag::kind, known, how_to_build(known)));
  }
  Registry<Tag>::instance().find(name, pointer);
  return true;
}

Json plugin_object(const CaseSlot& slot, const Json& json, const std::string& pointer,
                   const std::string& default_plugin) {
  const std::string here = pointer + "/" + slot.name;
  Json values = json.contains(slot.name) ? json.at(slot.name) : Json::object();
  if (values.is_string()) values = Json{{"name", values}};
  if (!values.is_object()) {
    throw InvalidRequest(here, "expected a name or an object with a name, found " + values.dump());
  }
  if (!values.contains("name") && default_plugin.empty()) {
    throw InvalidRequest(here, "a case needs a workload: the name of a data set or generator, or the path of a file");
  }
  const Json name = values.value("name", Json(default_plugin));
  if (!name.is_string()) throw InvalidRequest(here + "/name", "expected a name, found " + name.dump());
  Json result{{"name", name}};
  const Json completed = slot.complete(name.get<std::string>(), values, here);
  for (const auto& [key, value] : completed.items()) {
    if (key != "name") result[key] = value;
  }
  return result;
}

/// Checks a device that runs on a described cluster. It brings its own communicator and needs no values.
void check_on_cluster(Case& c, const Json& json, const std::string& communicator, const std::string& pointer) {
  if (!json.contains("comm")) c.comm = communicator;
  if (!json.contains("numerics")) c.numerics = "none";
  if (cluster_base(c.cluster).empty()) c.cluster = default_cluster + c.cluster;
  if (c.comm != communicator) {
    throw InvalidRequest(pointer + "/comm",
                         fmt::format("device {} goes with comm {}, not with '{}'", c.device, communicator, c.comm));
  }
  if (c.host_memory_limit_gib > 0 && !trains_full_batch(c))
    throw InvalidRequest(pointer + "/host_memory_limit_gib",
                         "the simulator knows only what full batches read from a file; leave it out");
  try {
    const std::shared_ptr<const Cluster> cluster = load_cluster(c.cluster);
    if (c.ranks > cluster->gpus()) {
      throw InvalidRequest(
          "/ranks",
          fmt::format("{} ranks do not fit cluster {}: {} nodes x {} GPUs = {}; enlarge it with --set cluster.nodes=N",
                      c.ranks, c.cluster, cluster->nodes, cluster->gpus_per_node, cluster->gpus()));
    }
  } catch (const InvalidRequest& error) {
    if (error.where() == "/ranks") throw InvalidRequest(pointer + "/ranks", error.message());
    throw error.each([&](const InvalidRequest& one) {
      return InvalidRequest(pointer + "/cluster", words_of_place(one, cluster_base(c.cluster)));
    });
  }
  try {
    load_software(c.software);
  } catch (const InvalidRequest& error) {
    throw InvalidRequest(pointer + "/software", words_of_place(error, c.software));
  }
}

void check_on_this_machine(const Case& c, const std::string& pointer) {
  for (const auto& [name, entry] : DeviceRegistry::instance().entries()) {
    if (c.comm == entry.value.own_communicator) {
      throw InvalidRequest(pointer + "/comm", fmt::format("comm {} goes with device {} only", c.comm, name));
    }
  }
  if (!c.cluster.empty()) {
    throw InvalidRequest(pointer + "/cluster",
                         fmt::format("device {} runs on this machine, not on a cluster", c.device));
  }
  if (c.software != own_software) {
    throw InvalidRequest(
        pointer + "/software",
        fmt::format("device {} runs Strobe's own program; another's times are predicted by device sim", c.device));
  }
  if (c.draws > 0) {
    throw InvalidRequest(pointer + "/draws",
                         fmt::format("device {} measures; draws are of a predicted cluster: --device sim", c.device));
  }
  if (c.numerics == "none") {
    throw InvalidRequest(pointer + "/numerics",
                         fmt::format("device {} always computes values; leave numerics out", c.device));
  }
}

/// Refuses an unknown variant. An operation without the requested variant takes another one, so a misspelling would
/// silently select the best kernels.
void check_kernels(const Case& c, const std::string& pointer) {
  if (c.kernels.empty()) return;
  std::vector<std::string> names;
  for (const auto& [name, operations] : kernel_variants(kernel_numerics(c.device))) names.push_back(name);
  if (std::find(names.begin(), names.end(), c.kernels) != names.end()) return;
  throw InvalidRequest(pointer + "/kernels",
                       unknown_name_message("kernel variant of device " + c.device, c.kernels, names));
}

std::vector<std::string> case_keys() {
  std::vector<std::string> keys;
  for (const CaseSlot& slot : case_slots()) keys.push_back(slot.name);
  for (const std::string& name : case_fields().names()) keys.push_back(name);
  return keys;
}

/// The last part of a workload's path without extension, or its name.
std::string short_workload(const Json& workload) {
  const std::string name = workload.value("name", std::string());
  const std::string stem = std::filesystem::path(name).stem().string();
  return stem.empty() ? name : stem;
}

}  // namespace

Numerics kernel_numerics(const std::string& device) {
  const DeviceRegistry& devices = DeviceRegistry::instance();
  return devices.contains(device) ? devices.find(device).value.numerics : Numerics::none;
}

bool is_on_host(const std::string& device) {
  const DeviceRegistry& devices = DeviceRegistry::instance();
  return devices.contains(device) && devices.find(device).value.on_host;
}

bool in_one_process(const Case& c) {
  const CommunicatorRegistry& known = CommunicatorRegistry::instance();
  return known.contains(c.comm) && known.find(c.comm).value.in_one_process();
}

std::int64_t block_count(const Case& c) {
  if (c.nb == "auto") {
    if (c.memory_limit_gib > 0 || c.host_memory_limit_gib > 0 || !c.cluster.empty()) return 0;
    throw InvalidRequest(
        "/nb",
        "auto needs memory_limit_gib, host_memory_limit_gib or a cluster, whose memory the blocks must "
        "fit");
  }
  std::int64_t count = 0;
  const char* end = c.nb.data() + c.nb.size();
  const auto read = std::from_chars(c.nb.data(), end, count);
  if (read.ec == std::errc() && read.ptr == end && count >= 1) return count;
  throw InvalidRequest("/nb", fmt::format("expected a number of blocks of at least 1, or auto, found '{}'", c.nb));
}

Json case_to_json(const Case& c) {
  Json json = Json::object();
  for (const CaseSlot& slot : case_slots()) json[slot.name] = c.*slot.member;
  const Json scalars = case_fields().to_json(&c);
  const std::vector<std::string> only = options_of_others(c);
  for (const auto& [key, value] : scalars.items()) {
    // Newer settings are left out at their defaults, so that older cases keep their ids.
    if ((key == "until" && c.until.empty()) || (key == "presence" && c.presence == "all") ||
        (key == "software" && c.software == own_software) ||
        (key == "host_memory_limit_gib" && c.host_memory_limit_gib == 0) || (key == "draws" && c.draws == 0)) {
      continue;
    }
    if (std::find(only.begin(), only.end(), key) != only.end()) continue;
    json[key] = value;
  }
  return json;
}

namespace {

/// Checks the case's device, communicator, cluster and kernels.
void check_backends(Case& c, const Json& json, const std::string& pointer, CaseRuns runs) {
  const std::string place = pointer + "/device";
  const bool built = require_backend<DeviceTag>(c.device, place, runs, {"cuda", "cuda-graphs", "sim"});
  if (built && DeviceRegistry::instance().find(c.device, place).value.needs_cluster()) {
    check_on_cluster(c, json, DeviceRegistry::instance().find(c.device, place).value.own_communicator, pointer);
  } else {
    check_on_this_machine(c, pointer);
  }
  if (built) check_kernels(c, pointer);
}

/// Reads the JSON key by key, without checking combinations.
Case parse_case(const Json& json, const std::string& pointer) {
  if (!json.is_object()) throw InvalidRequest(pointer, "expected a case object, found " + json.dump());
  Json scalars = Json::object();
  Complaints complaints;
  for (const auto& item : json.items()) {
    const std::string& key = item.key();
    const Json& value = item.value();
    if (find_case_slot(key) != nullptr || key == "description" || key == "$comment") continue;
    const std::vector<std::string> scalar_keys = case_fields().names();
    if (std::find(scalar_keys.begin(), scalar_keys.end(), key) == scalar_keys.end()) {
      complaints.hear(
          [&] { throw InvalidRequest(pointer + "/" + key, unknown_name_message("key", key, case_keys())); });
      continue;
    }
    // the number of blocks may also be written as a number
    scalars[key] = key == "nb" && value.is_number_integer() ? Json(value.dump()) : value;
  }
  Case c;
  complaints.hear([&] { case_fields().apply(&c, scalars, pointer); });
  for (const CaseSlot& slot : case_slots())
    complaints.hear([&] { c.*slot.member = plugin_object(slot, json, pointer, default_plugin(slot, c.model)); });
  complaints.raise();
  return c;
}

/// Checks that the parts of the case go together, and fills in the defaults that follow from them.
void settle_case(Case& c, const Json& json, const std::string& pointer, CaseRuns runs) {
  settle_family(c, json, pointer);
  check_backends(c, json, pointer, runs);
  block_count(c);
  if (!c.until.empty()) parse_until(c.until);
  check_schedule(c, json, pointer);
  check_shape(c, pointer);
  require_backend<CommunicatorTag>(c.comm, pointer + "/comm", runs, {"mpi", "nccl", "sim"});
}

bool begins_with(const std::string& text, const std::string& part) { return text.rfind(part, 0) == 0; }

}  // namespace

Case case_from_json(const Json& json, const std::string& pointer, CaseRuns runs) {
  Case c = parse_case(json, pointer);
  settle_case(c, json, pointer, runs);
  return c;
}

Case case_or_refusal(const Json& json, const std::string& pointer, CaseRuns runs,
                     std::optional<InvalidRequest>& refusal) {
  Case c = parse_case(json, pointer);
  block_count(c);  // a malformed number is a mistake in every combination
  try {
    settle_case(c, json, pointer, runs);
  } catch (const InvalidRequest& error) {
    const std::string inner = begins_with(error.where(), pointer) ? error.where().substr(pointer.size()) : "";
    if (!is_impossible_combination({inner, error.message()})) throw;
    refusal.emplace(error);
  }
  return c;
}

bool is_impossible_combination(const InvalidRequest& refusal) {
  const std::string& where = refusal.where();
  if (begins_with(refusal.message(), "unknown ") || begins_with(refusal.message(), "expected ")) return false;
  for (const char* const file : {"/strategy/workloads", "/strategy/rates", "/strategy/owners"})
    if (where == file) return false;
  if (begins_with(where, "/workload/")) {
    const std::vector<std::string>& steps = options_of_steps();
    return std::find(steps.begin(), steps.end(), where.substr(10)) != steps.end();
  }
  for (const char* const key : {"/ranks", "/nb", "/overlap", "/strategy", "/model", "/task", "/transfer", "/inputs",
                                "/presence", "/memory_limit_gib", "/host_memory_limit_gib", "/host_threads"}) {
    if (where == key || begins_with(where, std::string(key) + "/")) return true;
  }
  return false;
}

std::string case_id(const Case& c) {
  return fmt::format("{}/{}/{}/{}/r{}#{}", short_workload(c.workload), c.model.value("name", std::string()),
                     c.strategy.value("name", std::string()), c.device, c.ranks,
                     sha256_hex(case_to_json(c).dump()).substr(0, 6));
}

}  // namespace strobe
