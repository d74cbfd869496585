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
#include "workloads/graph/presence.hpp"

namespace strobe {
namespace {

constexpr const char* default_cluster = "aimos-v100";
constexpr const char* overlap_help =
    "full batches only: slices of a rank's steps of a block: the redistribution of one is under way while the spatial "
    "stages of others are computed; 1 = one after the other";
constexpr const char* presence_help =
    "models of snapshots only: which vertices a step has; others have no row, no part in statistics and no samples; a "
    "model forgets a vertex that is missing at a step. seen = from its first edge on; lifetime = from its first edge "
    "to its last; active = at steps at which it has an edge";
constexpr const char* transfer_help =
    "full batches only: how snapshots reach the device: direct = a rank's part of a block in one piece, in the form it "
    "is used in; full = one by one, whole; difference = against the snapshot before, with all values (ESDG); changed = "
    "with changed values only; least = whichever of these has the fewest bytes";
std::vector<std::string> searched_inputs(bool /*sizes_only*/) { return {"streamed", "resident"}; }
/// A shape has no values to compare, which `changed` and `least` need. For a graph, `least` never moves more than
/// `changed`.
std::vector<std::string> searched_transfers(bool sizes_only) {
  if (sizes_only) return {"direct", "full", "difference"};
  return {"direct", "full", "difference", "least"};
}
std::vector<std::string> searched_blocks(bool /*sizes_only*/) { return {"1", "2", "4", "8"}; }
/// For a shape, the rows that cross are unknown, so its exchanges cannot be cut into slices.
std::vector<std::string> searched_slices(bool sizes_only) {
  if (sizes_only) return {"1"};
  return {"1", "2", "4"};
}
constexpr const char* blocks_help =
    "full batches only: blocks of the timeline under gradient checkpoint: 1 = all steps at once, or auto = as few as "
    "fit memory_limit_gib and host_memory_limit_gib";
constexpr const char* rerun_last_help =
    "full batches only: with blocks, compute the last one again before its backward pass, as ESDG counts it";
constexpr const char* host_memory_limit_help =
    "memory of all processes of a node together; the graph stays in a file, and blocks are read ahead of use; 0 = none";
constexpr const char* transfer_format_help =
    "full batches only: indices of moved snapshots: coo64 = rows and columns of 8 bytes, as ESDG's 20 bytes a "
    "non-zero; csr32 = 4 bytes";
constexpr const char* until_help =
    "when training ends before its last epoch: converged, converged:metric=loss,patience=10, or a metric of the "
    "validation samples and its value, such as auc=0.8 or rmse=0.5; empty = never";

const RegisterNames devices_elsewhere{"device",
                                      {{"gpu", "cuda", "type --device cuda; --device sim predicts a GPU"},
                                       {"nvidia", "cuda", "type --device cuda; --device sim predicts a GPU"}}};

const RegisterNames communicators_elsewhere{
    "communicator", {{"gloo", "local", "threads of one process; mpi joins processes, nccl joins GPUs"}}};
const RegisterNames precisions_elsewhere{"value of precision",
                                         {{"float", "fp32", ""},
                                          {"float32", "fp32", ""},
                                          {"double", "fp64", ""},
                                          {"float64", "fp64", ""},
                                          {"fp16", "", "training is in fp32 or fp64"},
                                          {"float16", "", "training is in fp32 or fp64"},
                                          {"half", "", "training is in fp32 or fp64"},
                                          {"bf16", "", "training is in fp32 or fp64"},
                                          {"bfloat16", "", "training is in fp32 or fp64"}}};

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
  if (c.host_memory_limit_gib > 0)
    throw InvalidRequest(pointer + "/host_memory_limit_gib", "a simulated node has host.memory_bytes of its cluster");
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

const FieldTable& case_fields() {
  static const FieldTable table =
      make_fields<Case>()
          .text("device", &Case::device, "where operations run: cpu, cuda, cuda-graphs or sim")
          .text("comm", &Case::comm, "how ranks talk: local (threads), mpi, nccl; sim belongs to device sim")
          .text("cluster", &Case::cluster,
                "simulated cluster: a name from `strobe list clusters` or a JSON file; "
                "for device sim empty = aimos-v100")
          .text("software", &Case::software, software_help)
          .choice("numerics", &Case::numerics, {"none", "cpu"}, "device sim: none = no values (its default), or cpu")
          .choice("precision", &Case::precision, {"fp32", "fp64"}, "floating-point type of tensors")
          .integer("ranks", &Case::ranks, "", "number of ranks", 1, 1 << 20)
          .integer("seed", &Case::seed, "", "seed of parameters, samples and generators", 0)
          .integer("epochs", &Case::epochs, "", "measured epochs", 1, 1e9)
          .integer("warmup", &Case::warmup, "", "epochs trained before the measured ones", 0, 1e9)
          .integer("repeat", &Case::repeat, "", "whole runs from fresh parameters", 1, 1e6)
          .integer("threads", &Case::threads, "", "kernel threads; 0 = the rank's share of usable cores", 0, 4096)
          .integer("host_threads", &Case::host_threads, "",
                   "mini-batches only: threads that share each piece of a rank's host work", 1, 4096)
          .text("kernels", &Case::kernels, "kernel variant, see `strobe list kernels`; empty = the best of each")
          .choice("presence", &Case::presence, presence_kinds(), presence_help)
          .choice("inputs", &Case::inputs, {"streamed", "resident"},
                  "full batches only: move inputs to the device each epoch, or once")
          .searched(searched_inputs)
          .choice("transfer", &Case::transfer, {"direct", "full", "difference", "changed", "least"}, transfer_help)
          .searched(searched_transfers)
          .choice("transfer_format", &Case::transfer_format, {"coo64", "csr32"}, transfer_format_help)
          .text("nb", &Case::nb, blocks_help)
          .searched(searched_blocks)
          .integer("overlap", &Case::overlap, "", overlap_help, 1, 1e6)
          .searched(searched_slices)
          .boolean("rerun_last", &Case::rerun_last, rerun_last_help)
          .text("load_model", &Case::load_model, "safetensors file to start from; empty = seeded initial weights")
          .real("timeout", &Case::timeout, "s", "time that a collective may wait for missing ranks", 1e-3, 1e9)
          .real("memory_limit_gib", &Case::memory_limit_gib, "GiB", "memory per rank; 0 = the device's own", 0, 1e9)
          .real("host_memory_limit_gib", &Case::host_memory_limit_gib, "GiB", host_memory_limit_help, 0, 1e9)
          .text("until", &Case::until, until_help);
  return table;
}

std::int64_t block_count(const Case& c) {
  if (c.nb == "auto") {
    if (c.memory_limit_gib > 0 || c.host_memory_limit_gib > 0) return 0;
    throw InvalidRequest("/nb", "auto needs memory_limit_gib or host_memory_limit_gib, which the blocks must fit");
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
        (key == "host_memory_limit_gib" && c.host_memory_limit_gib == 0)) {
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

}  // namespace

namespace {

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
