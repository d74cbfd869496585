// Reads clusters. A cluster file is one JSON object; every quantity is an object {"value", "source", "date"} under a
// key that ends in its unit. Returns the numbers in SI units as they stand in the file; nothing is filled in, because
// a number that nobody has measured or published must not look like one that somebody has.
#include "backends/sim/cluster_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "backends/sim/calibration.hpp"
#include "core/currency.hpp"
#include "core/errors.hpp"

namespace strobe::sim {
namespace {

/// What the value of a key must be.
enum class Form { text, flag, object, count, bytes, positive, not_negative, factor, price };
/// When a key must be there: `network` with more than one node, `links` with more than one GPU in a node, `copies` with
/// GPUs that have memory of their own.
enum class Need { always, never, network, links, copies };
struct Key {
  const char* name;
  Form form;
  Need need = Need::always;
};

constexpr Key cluster_keys[] = {{"$comment", Form::text, Need::never},
                                {"name", Form::text},
                                {"description", Form::text},
                                {"calibrated", Form::flag},
                                {"nodes", Form::count},
                                {"gpus_per_node", Form::count},
                                {"gpu", Form::object},
                                {"host_to_device_bytes_per_second", Form::positive, Need::copies},
                                {"host_to_device_latency_seconds", Form::not_negative, Need::copies},
                                {"host_to_device_pageable_bytes_per_second", Form::positive, Need::never},
                                {"host_memory", Form::text, Need::never},
                                {"gpus_per_host_link", Form::count, Need::never},
                                {"host_link_bytes_per_second", Form::positive, Need::never},
                                {"host_bridge_bytes_per_second", Form::positive, Need::never},
                                {"intra_node_bytes_per_second", Form::positive, Need::links},
                                {"intra_node_latency_seconds", Form::not_negative, Need::links},
                                {"inter_node_bytes_per_second", Form::positive, Need::network},
                                {"inter_node_latency_seconds", Form::not_negative, Need::network},
                                {"nics_per_node", Form::count, Need::never},
                                {"compute_slowdown_factor", Form::factor, Need::never},
                                {"hierarchical_collectives", Form::flag, Need::never},
                                {"calibration", Form::object, Need::never},
                                {"epoch_band_90", Form::object, Need::never},
                                {"price_per_node_hour", Form::price}};
constexpr Key gpu_keys[] = {{"name", Form::text},
                            {"architecture", Form::text, Need::never},
                            {"flops_fp32_per_second", Form::positive},
                            {"flops_fp64_per_second", Form::positive},
                            {"memory_bytes_per_second", Form::positive},
                            {"memory_bytes", Form::bytes},
                            {"reserved_bytes", Form::bytes},
                            {"communication_buffer_bytes", Form::bytes, Need::never},
                            {"allocation_bytes", Form::bytes, Need::never},
                            {"allocation_block_bytes", Form::bytes, Need::never},
                            {"l2_bytes", Form::bytes, Need::never},
                            {"stores_transpose", Form::flag, Need::never},
                            {"narrow_bytes", Form::bytes, Need::never},
                            {"stores_narrow_forms", Form::flag, Need::never},  // older files: narrow_bytes of 64
                            {"launch_seconds", Form::not_negative},
                            {"round_seconds", Form::not_negative, Need::never},
                            {"host_issue_seconds", Form::not_negative, Need::never}};
// A changed number (a what-if) has no date: nobody has measured it.
constexpr Key quantity_keys[] = {{"value", Form::not_negative},
                                 {"source", Form::text},
                                 {"date", Form::text, Need::never},
                                 {"what_if", Form::flag, Need::never}};
constexpr Key price_keys[] = {{"value", Form::positive},           {"currency", Form::text},
                              {"region", Form::text, Need::never}, {"source", Form::text},
                              {"date", Form::text, Need::never},   {"what_if", Form::flag, Need::never}};

constexpr Key band_keys[] = {{"low_factor", Form::positive},
                             {"high_factor", Form::positive},
                             {"ranks", Form::count, Need::never},
                             {"source", Form::text},
                             {"date", Form::text}};

template <std::size_t N>
const Key* find_key(const Key (&keys)[N], const std::string& name) {
  const Key* found = std::find_if(std::begin(keys), std::end(keys), [&](const Key& key) { return name == key.name; });
  return found == std::end(keys) ? nullptr : found;
}

template <std::size_t N>
[[noreturn]] void refuse_key(const Key (&keys)[N], const std::string& name, const std::string& pointer) {
  std::vector<std::string> known;
  for (const Key& key : keys) known.emplace_back(key.name);
  for (const std::string& candidate : known) {
    if (candidate.rfind(name + "_", 0) != 0) continue;
    throw InvalidRequest(pointer + "/" + name, fmt::format("'{}' names no unit; did you mean '{}'?", name, candidate));
  }
  throw InvalidRequest(pointer + "/" + name, unknown_name_message("key", name, known));
}

/// Refuses unknown keys of an object, and missing ones that must always be there.
template <std::size_t N>
void check_keys(const Json& object, const Key (&keys)[N], const std::string& pointer) {
  if (!object.is_object()) throw InvalidRequest(pointer, "expected a JSON object, found " + object.dump());
  for (const auto& [name, value] : object.items()) {
    if (find_key(keys, name) == nullptr) refuse_key(keys, name, pointer);
  }
  for (const Key& key : keys) {
    if (key.need == Need::always && !object.contains(key.name)) {
      throw InvalidRequest(pointer + "/" + key.name, "this key is missing");
    }
  }
}

std::string text_at(const Json& object, const char* key, const std::string& pointer) {
  const Json& value = object.at(key);
  if (!value.is_string() || value.get<std::string>().empty()) {
    throw InvalidRequest(pointer + "/" + key, "expected text, found " + value.dump());
  }
  return value.get<std::string>();
}

/// One of `allowed`, or `otherwise` when the key is absent.
std::string choice_at(const Json& object, const char* key, const std::string& pointer,
                      const std::vector<std::string>& allowed, const std::string& otherwise) {
  if (!object.contains(key)) return otherwise;
  std::string text = text_at(object, key, pointer);
  if (std::find(allowed.begin(), allowed.end(), text) == allowed.end()) {
    throw InvalidRequest(pointer + "/" + key, unknown_name_message(key, text, allowed));
  }
  return text;
}

bool flag_at(const Json& object, const char* key, const std::string& pointer = "") {
  if (!object.at(key).is_boolean()) throw InvalidRequest(pointer + "/" + key, "expected true or false");
  return object.at(key).get<bool>();
}

bool is_what_if(const Json& quantity) { return quantity.value("what_if", Json(false)) == Json(true); }

void check_provenance(const Json& quantity, const std::string& pointer) {
  text_at(quantity, "source", pointer);
  if (is_what_if(quantity)) return;
  if (!quantity.contains("date")) throw InvalidRequest(pointer + "/date", "this key is missing");
  const std::string date = text_at(quantity, "date", pointer);
  if (!is_date(date)) throw InvalidRequest(pointer + "/date", "expected a date as YYYY-MM-DD, found '" + date + "'");
}

void check_value(const Json& json, const Key& key, const std::string& pointer) {
  if (!json.is_number()) throw InvalidRequest(pointer, "expected a number, found " + json.dump());
  const double value = json.get<double>();
  const bool whole = key.form == Form::count || key.form == Form::bytes;
  if (!std::isfinite(value) || (whole && (std::floor(value) != value || value > 9007199254740992.0)) ||
      (key.form == Form::count && value > 1000000)) {
    throw InvalidRequest(pointer,
                         fmt::format("{} is not a {} number", json.dump(), whole ? "sensible whole" : "finite"));
  }
  if (value < 0) throw InvalidRequest(pointer, fmt::format("{} is negative", json.dump()));
  const bool needs_some = key.form == Form::count || key.form == Form::positive;
  if (value == 0 && needs_some) throw InvalidRequest(pointer, fmt::format("{} must be above 0", key.name));
  if (value < 1 && key.form == Form::factor)
    throw InvalidRequest(pointer, fmt::format("{} must be 1 or more", key.name));
}

/// The numbers of one object by key.
template <std::size_t N>
class Numbers {
 public:
  Numbers(const Json& object, const Key (&keys)[N], std::string pointer)
      : object_(object), keys_(keys), pointer_(std::move(pointer)) {}

  bool has(const char* name) const { return object_.contains(name); }

  double at(const char* name) const {
    const std::string here = pointer_ + "/" + name;
    const Json& quantity = object_.at(name);
    check_keys(quantity, quantity_keys, here);
    check_provenance(quantity, here);
    check_value(quantity.at("value"), *find_key(keys_, name), here + "/value");
    return quantity.at("value").template get<double>();
  }

  double at(const char* name, double otherwise) const { return has(name) ? at(name) : otherwise; }

 private:
  const Json& object_;
  const Key (&keys_)[N];
  std::string pointer_;
};

GpuModel read_gpu(const Json& json) {
  check_keys(json, gpu_keys, "/gpu");
  const Numbers numbers(json, gpu_keys, "/gpu");
  const auto bytes = [&numbers](const char* name) { return static_cast<std::uint64_t>(numbers.at(name, 0)); };
  GpuModel gpu;
  gpu.name = text_at(json, "name", "/gpu");
  gpu.architecture = choice_at(json, "architecture", "/gpu", {"volta", "turing", "ampere", "hopper"}, "");
  gpu.flops_fp32_per_second = numbers.at("flops_fp32_per_second");
  gpu.flops_fp64_per_second = numbers.at("flops_fp64_per_second");
  gpu.memory_bytes_per_second = numbers.at("memory_bytes_per_second");
  gpu.memory_bytes = bytes("memory_bytes");
  gpu.reserved_bytes = bytes("reserved_bytes");
  gpu.communication_buffer_bytes = bytes("communication_buffer_bytes");
  gpu.allocation_bytes = bytes("allocation_bytes");
  gpu.allocation_block_bytes = bytes("allocation_block_bytes");
  gpu.l2_bytes = bytes("l2_bytes");
  gpu.stores_transpose = json.contains("stores_transpose") && flag_at(json, "stores_transpose", "/gpu");
  const bool narrow = json.contains("stores_narrow_forms") && flag_at(json, "stores_narrow_forms", "/gpu");
  gpu.narrow_bytes = static_cast<std::int64_t>(numbers.at("narrow_bytes", narrow ? 64 : 0));
  gpu.launch_seconds = numbers.at("launch_seconds");
  gpu.round_seconds = numbers.at("round_seconds", 0);
  gpu.host_issue_seconds = numbers.at("host_issue_seconds", -1);
  if (gpu.reserved_bytes + gpu.communication_buffer_bytes >= gpu.memory_bytes) {
    throw InvalidRequest("/gpu/reserved_bytes/value", "the reserved memory leaves none for tensors");
  }
  return gpu;
}

void read_price(const Json& json, Cluster& cluster) {
  const std::string pointer = "/price_per_node_hour";
  if (json.is_string() && json.get<std::string>() == "not sold") return;
  if (json.is_string()) throw InvalidRequest(pointer, "expected a price object or \"not sold\", found " + json.dump());
  check_keys(json, price_keys, pointer);
  check_provenance(json, pointer);
  const Json& value = json.at("value");
  if (!value.is_number() || value.get<double>() <= 0) {
    throw InvalidRequest(pointer + "/value", "expected a price above 0, found " + value.dump());
  }
  cluster.price_per_node_hour = value.get<double>();
  const std::string currency = text_at(json, "currency", pointer);
  cluster.price_currency = currency_code(currency);
  if (cluster.price_currency.empty()) {
    throw InvalidRequest(pointer + "/currency", unknown_currency_message(currency));
  }
  cluster.price_source = json.at("source").get<std::string>();
  if (is_what_if(json)) return;
  if (!json.contains("region")) throw InvalidRequest(pointer + "/region", "this key is missing");
  cluster.price_region = text_at(json, "region", pointer);
  cluster.price_date = json.at("date").get<std::string>();
}

void read_links(const Json& json, Cluster& cluster) {
  const Numbers numbers(json, cluster_keys, "");
  for (const Key& key : cluster_keys) {
    const bool needed =
        (key.need == Need::network && cluster.nodes > 1) || (key.need == Need::links && cluster.gpus_per_node > 1);
    if (needed && !json.contains(key.name)) {
      throw InvalidRequest(
          std::string("/") + key.name,
          fmt::format("this key is missing; {} nodes with {} GPUs each need it", cluster.nodes, cluster.gpus_per_node));
    }
  }
  cluster.intra_node_bytes_per_second = numbers.at("intra_node_bytes_per_second", 0);
  cluster.intra_node_latency_seconds = numbers.at("intra_node_latency_seconds", 0);
  cluster.inter_node_bytes_per_second = numbers.at("inter_node_bytes_per_second", 0);
  cluster.inter_node_latency_seconds = numbers.at("inter_node_latency_seconds", 0);
  cluster.nics_per_node = static_cast<int>(numbers.at("nics_per_node", 1));
  cluster.host_bridge_bytes_per_second = numbers.at("host_bridge_bytes_per_second", 0);
  cluster.hierarchical_collectives =
      json.contains("hierarchical_collectives") && flag_at(json, "hierarchical_collectives");
}

void read_host(const Json& json, Cluster& cluster) {
  const Numbers numbers(json, cluster_keys, "");
  const std::string memory = choice_at(json, "host_memory", "", {"pinned", "pageable", "shared"}, "pinned");
  cluster.pageable_host_memory = memory == "pageable";
  cluster.shared_host_memory = memory == "shared";
  for (const Key& key : cluster_keys) {
    if (key.need != Need::copies || cluster.shared_host_memory || json.contains(key.name)) continue;
    throw InvalidRequest(std::string("/") + key.name, "this key is missing");
  }
  cluster.host_to_device_bytes_per_second = numbers.at("host_to_device_bytes_per_second", 0);
  cluster.host_to_device_latency_seconds = numbers.at("host_to_device_latency_seconds", 0);
  cluster.host_to_device_pageable_bytes_per_second = numbers.at("host_to_device_pageable_bytes_per_second", 0);
  cluster.gpus_per_host_link = static_cast<int>(numbers.at("gpus_per_host_link", 1));
  cluster.host_link_bytes_per_second = numbers.at("host_link_bytes_per_second", 0);
  if (cluster.pageable_host_memory && cluster.host_to_device_pageable_bytes_per_second == 0) {
    throw InvalidRequest("/host_memory",
                         "the rate of pageable memory, host_to_device_pageable_bytes_per_second, is not "
                         "known here");
  }
  if (cluster.gpus_per_host_link > 1 && cluster.host_link_bytes_per_second == 0) {
    throw InvalidRequest("/host_link_bytes_per_second", "this key is missing; the GPUs of a host link share it");
  }
}

/// The band of predicted epochs: two factors in order, and whence they are.
Band read_band(const Json& json) {
  const std::string pointer = "/epoch_band_90";
  check_keys(json, band_keys, pointer);
  check_provenance(json, pointer);
  const auto factor = [&](const char* key) {
    const Json& value = json.at(key);
    if (!value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() <= 0) {
      throw InvalidRequest(pointer + "/" + key, "expected a number above 0, found " + value.dump());
    }
    return value.get<double>();
  };
  Band band{factor("low_factor"), factor("high_factor"), text_at(json, "source", pointer)};
  if (json.contains("ranks")) {
    const Json& ranks = json.at("ranks");
    if (!ranks.is_number_integer() || ranks < 1 || ranks > 1000000) {
      throw InvalidRequest(pointer + "/ranks", "expected a whole number above 0, found " + ranks.dump());
    }
    band.ranks = ranks.get<int>();
  }
  if (band.low > band.high) throw InvalidRequest(pointer, "low_factor is above high_factor");
  return band;
}

/// Groups of GPUs (behind a host link, at a NIC) must divide the node's GPUs.
void check_topology(const Cluster& cluster) {
  const auto refuse = [&cluster](const char* key, int count, const char* what) {
    throw InvalidRequest(std::string("/") + key + "/value",
                         fmt::format("{} {} cannot be: a node has {} GPUs", count, what, cluster.gpus_per_node));
  };
  const int nics = std::min(cluster.nics_per_node, cluster.gpus_per_node);
  if (cluster.gpus_per_node % nics != 0)
    refuse("nics_per_node", cluster.nics_per_node, "NICs with equal groups of GPUs");
  if (cluster.nics_per_node > nics && cluster.nics_per_node % nics != 0) {
    refuse("nics_per_node", cluster.nics_per_node, "NICs in equal groups");
  }
  if (cluster.gpus_per_node % cluster.gpus_per_host_link != 0) {
    refuse("gpus_per_host_link", cluster.gpus_per_host_link, "GPUs per host link");
  }
}

/// The value as it stands in a file, from text: a number where the key holds one.
Json value_from_text(const Key& key, const std::string& text, const std::string& pointer) {
  if (key.form == Form::text) return text;
  if (key.form == Form::flag && (text == "true" || text == "false")) return text == "true";
  if (key.form == Form::flag) throw InvalidRequest(pointer, "expected true or false, found '" + text + "'");
  if (key.form == Form::object) throw InvalidRequest(pointer, "name one number inside it");
  const Json number = Json::parse(text, nullptr, false);
  if (!number.is_number()) throw InvalidRequest(pointer, "expected a number, found '" + text + "'");
  return number;
}

}  // namespace

std::shared_ptr<const Cluster> cluster_from_json(const Json& json) {
  check_keys(json, cluster_keys, "");
  const Numbers numbers(json, cluster_keys, "");
  auto cluster = std::make_shared<Cluster>();
  cluster->name = text_at(json, "name", "");
  cluster->description = text_at(json, "description", "");
  cluster->calibrated = flag_at(json, "calibrated");
  cluster->nodes = cluster->described_nodes = static_cast<int>(numbers.at("nodes"));
  cluster->gpus_per_node = static_cast<int>(numbers.at("gpus_per_node"));
  cluster->gpu = read_gpu(json.at("gpu"));
  read_host(json, *cluster);
  read_links(json, *cluster);
  check_topology(*cluster);
  cluster->compute_slowdown_factor = numbers.at("compute_slowdown_factor", 1);
  if (json.contains("calibration")) cluster->calibration = read_calibration(json.at("calibration"), "/calibration");
  if (json.contains("epoch_band_90")) cluster->epoch_band = read_band(json.at("epoch_band_90"));
  read_price(json.at("price_per_node_hour"), *cluster);
  cluster->raw = json;
  return cluster;
}

void change_value(Json& cluster, const std::string& path, const std::string& value) {
  const bool in_gpu = path.rfind("gpu.", 0) == 0;
  const std::string name = in_gpu ? path.substr(4) : path, pointer = in_gpu ? "/gpu" : "";
  const Key* key = in_gpu ? find_key(gpu_keys, name) : find_key(cluster_keys, name);
  if (key == nullptr && in_gpu) refuse_key(gpu_keys, name, pointer);
  if (key == nullptr) refuse_key(cluster_keys, name, pointer);
  Json& held = in_gpu ? cluster["gpu"][name] : cluster[name];
  const Json changed = value_from_text(*key, value, pointer + "/" + name);
  if (key->form == Form::text || key->form == Form::flag) {
    held = changed;
    return;
  }
  if (key->form == Form::price && !held.is_object()) {
    throw InvalidRequest(pointer + "/" + name, "this cluster is not sold; give it a price in a file of its own");
  }
  const std::string before = held.is_object() && held.contains("value") ? held.at("value").dump() : "nothing";
  if (!held.is_object()) held = Json::object();
  held["value"] = changed;
  held["what_if"] = true;
  held["source"] = fmt::format("what-if: {} instead of {}", value, before);
  if (key->form != Form::price) return;
  // Nobody has listed it, so it has neither a date nor a region.
  held["source"] = "changed by the command, instead of " + before;
  held.erase("date");
  held.erase("region");
}

}  // namespace strobe::sim
