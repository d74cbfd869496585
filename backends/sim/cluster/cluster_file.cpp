// Reads clusters. A cluster file is one JSON object; every quantity is an object {"value", "source", "date"} under a
// key that ends in its unit. Returns the file's numbers in SI units; nothing is filled in, because
// a number that nobody has measured or published must not look like one that somebody has.
#include "backends/sim/cluster/cluster_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "backends/sim/cluster/calibration.hpp"
#include "backends/sim/cluster/cluster_host_file.hpp"
#include "backends/sim/cluster/cluster_keys.hpp"
#include "core/currency.hpp"
#include "core/errors.hpp"

namespace strobe::sim {
namespace {

constexpr Key cluster_keys[] = {{"$comment", Form::text, Need::never},
                                {"name", Form::text},
                                {"description", Form::text},
                                {"calibrated", Form::flag},
                                {"nodes", Form::count},
                                {"gpus_per_node", Form::count},
                                {"gpu", Form::object},
                                {"host", Form::object, Need::never},
                                {"host_to_device_bytes_per_second", Form::positive, Need::copies},
                                {"host_to_device_latency_seconds", Form::not_negative, Need::copies},
                                {"host_to_device_pageable_bytes_per_second", Form::positive, Need::never},
                                {"host_memory", Form::text, Need::never},
                                {"gpus_per_host_link", Form::count, Need::never, true},
                                {"host_link_bytes_per_second", Form::positive, Need::never, true},
                                {"host_bridge_bytes_per_second", Form::positive, Need::never},
                                {"intra_node_bytes_per_second", Form::positive, Need::links},
                                {"intra_node_latency_seconds", Form::not_negative, Need::links},
                                {"inter_node_bytes_per_second", Form::positive, Need::network},
                                {"inter_node_latency_seconds", Form::not_negative, Need::network},
                                {"nics_per_node", Form::count, Need::never},
                                {"compute_slowdown_factor", Form::factor, Need::never},
                                {"hierarchical_collectives", Form::flag, Need::never},
                                {"all_to_all", Form::text, Need::never},
                                {"all_to_all_efficiency", Form::positive, Need::never, true},
                                {"all_to_all_half_bytes", Form::not_negative, Need::never, true},
                                {"all_to_all_peer_seconds", Form::not_negative, Need::never, true},
                                {"message_seconds", Form::not_negative, Need::never, true},
                                {"covered_ranks", Form::count, Need::never, true},
                                {"nvls_bytes_per_second", Form::positive, Need::never, true},
                                {"nvls_latency_seconds", Form::not_negative, Need::never, true},
                                {"nccl_latency_seconds", Form::not_negative, Need::never, true},
                                {"jitter", Form::not_negative, Need::never},
                                {"jitter_seed", Form::count, Need::never},
                                {"draws_seed", Form::count, Need::never},
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
constexpr Key price_keys[] = {{"value", Form::positive},           {"currency", Form::text},
                              {"region", Form::text, Need::never}, {"source", Form::text},
                              {"date", Form::text, Need::never},   {"what_if", Form::flag, Need::never}};

constexpr Key band_keys[] = {{"low_factor", Form::positive},
                             {"high_factor", Form::positive},
                             {"ranks", Form::count, Need::never},
                             {"source", Form::text},
                             {"date", Form::text}};

GpuModel read_gpu(const Json& json) {
  check_keys(json, gpu_keys, "/gpu");
  const Numbers numbers(json, gpu_keys, "/gpu");
  const auto bytes = [&numbers](const char* name) { return static_cast<std::uint64_t>(numbers.at(name, 0)); };
  GpuModel gpu;
  gpu.name = text_at(json, "name", "/gpu");
  gpu.architecture = choice_at(json, "architecture", "/gpu", {"volta", "turing", "ampere", "hopper", "blackwell"}, "");
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

/// Reads how the collectives library uses the links.
void read_collectives(const Json& json, const Numbers& numbers, Cluster& cluster) {
  const std::vector<std::string> names(std::begin(all_to_all_names), std::end(all_to_all_names));
  const std::string all_to_all = choice_at(json, "all_to_all", "", names, names.front());
  cluster.all_to_all = static_cast<AllToAll>(std::find(names.begin(), names.end(), all_to_all) - names.begin());
  cluster.all_to_all_efficiency = numbers.at("all_to_all_efficiency", 1);
  if (cluster.all_to_all_efficiency > 1) {
    throw InvalidRequest("/all_to_all_efficiency/value", "a share of the network is at most 1");
  }
  cluster.all_to_all_half_bytes = numbers.at("all_to_all_half_bytes", 0);
  cluster.all_to_all_peer_seconds = numbers.at("all_to_all_peer_seconds", default_peer_cost.seconds);
  cluster.message_seconds = numbers.at("message_seconds", default_message_cost.seconds);
  cluster.nvls_bytes_per_second = numbers.at("nvls_bytes_per_second", 0);
  cluster.nvls_latency_seconds = numbers.at("nvls_latency_seconds", 0);
  cluster.nccl_latency_seconds = numbers.at("nccl_latency_seconds", 0);
  cluster.jitter = numbers.at("jitter", 0);
  if (cluster.jitter > 2) throw InvalidRequest("/jitter/value", "more than 2 would make epochs e^2 times as long");
  cluster.jitter_seed = static_cast<std::uint64_t>(numbers.at("jitter_seed", 1));
  cluster.draws_seed = static_cast<std::uint64_t>(numbers.at("draws_seed", 1));
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
  read_collectives(json, numbers, cluster);
  cluster.hierarchical_collectives =
      json.contains("hierarchical_collectives") && flag_at(json, "hierarchical_collectives");
}

void read_host_links(const Json& json, Cluster& cluster) {
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

/// A band of predicted epochs: two factors in order, and whence they are.
Band read_band(const Json& json, const std::string& pointer) {
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

/// One band, or a list of bands for more and more ranks.
std::vector<Band> read_bands(const Json& json) {
  const std::string pointer = "/epoch_band_90";
  if (!json.is_array()) return {read_band(json, pointer)};
  std::vector<Band> bands;
  for (const Json& one : json) {
    const std::string here = fmt::format("{}/{}", pointer, bands.size());
    bands.push_back(read_band(one, here));
    if (bands.size() > 1 && bands.back().ranks <= bands[bands.size() - 2].ranks)
      throw InvalidRequest(here + "/ranks", "list the bands in ascending order of their ranks");
  }
  if (bands.empty()) throw InvalidRequest(pointer, "the list of bands is empty; leave the key out");
  return bands;
}

/// Groups of GPUs (on a host link, at a NIC) must divide the node's GPUs.
void check_topology(const Cluster& cluster) {
  const auto refuse = [&cluster](const char* key, int count, const char* what) {
    throw InvalidRequest(std::string("/") + key + "/value",
                         fmt::format("{} {} do not fit a node of {} GPUs", count, what, cluster.gpus_per_node));
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

/// "gpu.memory_bytes" is the key memory_bytes of the object gpu; a key without a dot is the cluster's own.
std::pair<std::string, std::string> object_and_key(const std::string& path) {
  for (const std::string object : {"gpu", "host"}) {
    if (path.rfind(object + ".", 0) == 0) return {object, path.substr(object.size() + 1)};
  }
  return {"", path};
}

/// Nobody has measured a changed number, nor listed a changed price: it has no date, and a price no region.
void change_quantity(Json& held, const Json& changed, const std::string& text, bool price) {
  const bool known = held.is_object() && held.contains("value") && !held.at("value").is_null();
  const std::string before = known ? held.at("value").dump() : "nothing";
  if (!held.is_object()) held = Json::object();
  for (const char* key : {"reason", "low", "high"}) held.erase(key);
  held["value"] = changed;
  held["what_if"] = true;
  held["source"] =
      price ? "changed by the command, instead of " + before : fmt::format("what-if: {} instead of {}", text, before);
  if (!price) return;
  held.erase("date");
  held.erase("region");
}

/// For a measured machine, the ranks of those measurements; otherwise all GPUs that the sources describe.
std::int64_t covered_ranks(const Numbers& numbers, const Cluster& cluster) {
  if (numbers.has("covered_ranks")) return static_cast<std::int64_t>(numbers.at("covered_ranks"));
  if (cluster.calibration == nullptr) return cluster.gpus();
  const int judged = cluster.epoch_bands.empty() ? 1 : cluster.epoch_bands.back().ranks;
  return std::max(judged, cluster.calibration->most_ranks());
}

std::shared_ptr<const Cluster> read_cluster(const Json& json) {
  check_keys(json, cluster_keys, "");
  const Numbers numbers(json, cluster_keys, "");
  auto cluster = std::make_shared<Cluster>();
  cluster->name = text_at(json, "name", "");
  cluster->description = text_at(json, "description", "");
  cluster->calibrated = flag_at(json, "calibrated");
  cluster->nodes = cluster->described_nodes = static_cast<int>(numbers.at("nodes"));
  cluster->gpus_per_node = static_cast<int>(numbers.at("gpus_per_node"));
  cluster->gpu = read_gpu(json.at("gpu"));
  if (json.contains("host")) cluster->host = read_host(json.at("host"));
  read_host_links(json, *cluster);
  read_links(json, *cluster);
  check_topology(*cluster);
  cluster->compute_slowdown_factor = numbers.at("compute_slowdown_factor", 1);
  if (json.contains("calibration")) cluster->calibration = read_calibration(json.at("calibration"), "/calibration");
  if (json.contains("epoch_band_90")) cluster->epoch_bands = read_bands(json.at("epoch_band_90"));
  cluster->covered_ranks = covered_ranks(numbers, *cluster);
  read_price(json.at("price_per_node_hour"), *cluster);
  cluster->raw = json;
  return cluster;
}

/// Throws everything that is wrong with a file whose reading ended with `first`.
[[noreturn]] void refuse_file(const Json& json, const InvalidRequest& first) {
  Complaints complaints;
  hear_values(json, cluster_keys, "", complaints);
  const auto hear_part = [&](const char* key, const auto& read) {
    if (json.is_object() && json.contains(key)) complaints.hear([&] { read(json.at(key)); });
  };
  if (json.is_object() && json.contains("gpu")) hear_values(json.at("gpu"), gpu_keys, "/gpu", complaints);
  hear_part("host", [](const Json& host) { read_host(host); });
  hear_part("calibration", [](const Json& fits) { read_calibration(fits, "/calibration"); });
  hear_part("epoch_band_90", [](const Json& bands) { read_bands(bands); });
  hear_part("price_per_node_hour", [](const Json& price) {
    Cluster priced;
    read_price(price, priced);
  });
  complaints.hear([&] { throw InvalidRequest(first); });
  complaints.raise();
  throw InvalidRequest(first);
}

}  // namespace

std::shared_ptr<const Cluster> cluster_from_json(const Json& json) {
  try {
    return read_cluster(json);
  } catch (const InvalidRequest& first) {
    refuse_file(json, first);
  }
}

void change_value(Json& cluster, const std::string& path, const std::string& value) {
  const auto [object, name] = object_and_key(path);
  const Keys keys = object == "gpu" ? Keys(gpu_keys) : object == "host" ? host_file_keys() : Keys(cluster_keys);
  const std::string pointer = object.empty() ? "" : "/" + object;
  const Key* key = find_key(keys, name);
  if (key == nullptr) refuse_key(keys, name, pointer);
  const Json changed = value_from_text(*key, value, pointer + "/" + name);
  if (object == "host") complete_host(cluster["host"]);
  Json& held = object.empty() ? cluster[name] : cluster[object][name];
  if (key->form == Form::text || key->form == Form::flag) {
    held = changed;
    return;
  }
  if (key->form == Form::price && !held.is_object()) {
    throw InvalidRequest(pointer + "/" + name, "this cluster is not sold; give it a price in a file of its own");
  }
  change_quantity(held, changed, value, key->form == Form::price);
}

}  // namespace strobe::sim
