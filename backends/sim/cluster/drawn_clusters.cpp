// Returns draws of a cluster. Invariants: a draw of one constant does not depend on which others are drawn; wider bands
// move a drawn constant further from the value in the same direction. Cost: O(constants) per draw.
#include "backends/drawn_clusters.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "backends/software.hpp"
#include "core/hash.hpp"
#include "core/random.hpp"

namespace strobe {
namespace {

constexpr const char* launch_reason = "published 5 us (older GPUs) and measured 10.6 us (Hopper) lie 2.1 apart";
constexpr const char* peak_reason = "the sustained share of 0.43 is of large products; vendors' peaks are 2.3 times it";
constexpr const char* memory_reason = "rates are 0.8 of the nominal one, which nothing exceeds";
constexpr const char* copy_reason = "an H100 described with 25e9 bytes/s moved 53e9: 2.1 times";
constexpr const char* link_reason =
    "predicted collectives were 13 to 24 % off on average; EFA reached 0.7 of other networks";
constexpr const char* latency_reason = "published latencies of one kind of link differ by a factor of 2";
constexpr const char* host_reason = "estimates from clock rates and other processors; most are not measured";
constexpr const char* fit_reason = "calibrated predictions were 12 to 17 % off on average where ranks shared cores";
constexpr const char* software_reason = "times that papers print are typically 2 to 2.6 times off";

using Slot = double& (*)(Cluster&);
struct Drawn {
  UncertainConstant constant;
  Slot slot;
  const char* moves_with = nullptr;  // the key whose draws it takes; null: its own
};

#define STROBE_SLOT(member) [](Cluster& c) -> double& { return c.member; }
const Drawn drawn_constants[] = {
    {{"gpu.launch_seconds", 0.5, 2, launch_reason}, STROBE_SLOT(gpu.launch_seconds)},
    {{"gpu.host_issue_seconds", 0.5, 2, launch_reason}, STROBE_SLOT(gpu.host_issue_seconds)},
    {{"gpu.round_seconds", 0.8, 1.25, "measured 0.87 us forward and 1.25 us backward on one H100"},
     STROBE_SLOT(gpu.round_seconds)},
    {{"gpu.flops_fp32_per_second", 0.5, 2, peak_reason}, STROBE_SLOT(gpu.flops_fp32_per_second)},
    {{"gpu.flops_fp64_per_second", 0.5, 2, peak_reason},
     STROBE_SLOT(gpu.flops_fp64_per_second),
     "gpu.flops_fp32_per_second"},
    {{"gpu.memory_bytes_per_second", 0.8, 1.25, memory_reason}, STROBE_SLOT(gpu.memory_bytes_per_second)},
    {{"host_to_device_bytes_per_second", 0.5, 2, copy_reason}, STROBE_SLOT(host_to_device_bytes_per_second)},
    {{"host_to_device_pageable_bytes_per_second", 0.5, 2, copy_reason},
     STROBE_SLOT(host_to_device_pageable_bytes_per_second),
     "host_to_device_bytes_per_second"},
    {{"host_to_device_latency_seconds", 0.5, 2, latency_reason}, STROBE_SLOT(host_to_device_latency_seconds)},
    {{"host_link_bytes_per_second", 0.5, 2, copy_reason}, STROBE_SLOT(host_link_bytes_per_second)},
    {{"host_bridge_bytes_per_second", 0.7, 1.4, link_reason}, STROBE_SLOT(host_bridge_bytes_per_second)},
    {{"intra_node_bytes_per_second", 0.7, 1.4, link_reason}, STROBE_SLOT(intra_node_bytes_per_second)},
    {{"intra_node_latency_seconds", 0.5, 2, latency_reason}, STROBE_SLOT(intra_node_latency_seconds)},
    {{"inter_node_bytes_per_second", 0.7, 1.4, link_reason}, STROBE_SLOT(inter_node_bytes_per_second)},
    {{"inter_node_latency_seconds", 0.5, 2, latency_reason}, STROBE_SLOT(inter_node_latency_seconds)},
    {{"all_to_all_efficiency", 0.75, 1.25, link_reason}, STROBE_SLOT(all_to_all_efficiency)},
    {{"all_to_all_half_bytes", 0.5, 2, link_reason}, STROBE_SLOT(all_to_all_half_bytes)},
    {{"all_to_all_peer_seconds", 0.5, 2, latency_reason}, STROBE_SLOT(all_to_all_peer_seconds)},
    {{"message_seconds", 0.5, 2, latency_reason}, STROBE_SLOT(message_seconds)},
    {{"nvls_bytes_per_second", 0.7, 1.4, link_reason}, STROBE_SLOT(nvls_bytes_per_second)},
    {{"nvls_latency_seconds", 0.5, 2, latency_reason}, STROBE_SLOT(nvls_latency_seconds)},
    {{"host.core_operations_per_second", 0.5, 2, host_reason}, STROBE_SLOT(host.core_operations_per_second)},
    {{"host.core_bytes_per_second", 0.5, 2, host_reason}, STROBE_SLOT(host.core_bytes_per_second)},
    {{"host.memory_bytes_per_second", 0.8, 1.25, memory_reason}, STROBE_SLOT(host.memory_bytes_per_second)},
    {{"host.random_access_seconds", 0.67, 1.5, host_reason}, STROBE_SLOT(host.random_access_seconds)},
    {{"host.disk_bytes_per_second", 0.5, 2, host_reason}, STROBE_SLOT(host.disk_bytes_per_second)},
};
#undef STROBE_SLOT
constexpr UncertainConstant drawn_fits{"calibration", 0.8, 1.25, fit_reason};
constexpr UncertainConstant drawn_terms{"software", 0.5, 2, software_reason};

struct Interval {
  double low, high;
};

/// A name's own stream of draws. The hash is FNV-1a.
double drawn_share(std::uint64_t seed, std::string_view name, std::size_t draw) {
  constexpr std::uint32_t draws_purpose = 0x64726177;
  std::uint32_t hash = 2166136261u;
  for (const char letter : name) hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619u;
  return RandomStream(seed, draws_purpose, hash).uniform(draw);
}

double drawn_in(const Interval& band, std::uint64_t seed, std::string_view name, std::size_t draw) {
  return band.low * std::pow(band.high / band.low, drawn_share(seed, name, draw));
}

/// The quantity of a key in the cluster's file; null when the file leaves it out.
const Json* quantity_of(const Json& file, const std::string& key) {
  const std::size_t dot = key.find('.');
  const Json* object = &file;
  if (dot != std::string::npos) {
    if (!file.contains(key.substr(0, dot))) return nullptr;
    object = &file.at(key.substr(0, dot));
  }
  const std::string name = dot == std::string::npos ? key : key.substr(dot + 1);
  return object->contains(name) ? &object->at(name) : nullptr;
}

/// The band of a constant with this value. Nothing where it is not drawn: the file leaves it out or says that it is not
/// known, a command set it (a what-if), or it is 0.
std::optional<Interval> band_of(const Cluster& cluster, const UncertainConstant& constant, double value) {
  if (!(value > 0)) return std::nullopt;
  const Interval otherwise{constant.low * value, constant.high * value};
  if (!cluster.raw.is_object()) return otherwise;
  const Json* const quantity = quantity_of(cluster.raw, constant.key);
  if (quantity == nullptr) {
    const std::string key = constant.key;
    if (key == "message_seconds") return Interval{default_message_cost.low, default_message_cost.high};
    if (key == "all_to_all_peer_seconds") return Interval{default_peer_cost.low, default_peer_cost.high};
    return std::nullopt;
  }
  if (quantity->at("value").is_null() || quantity->contains("what_if")) return std::nullopt;
  if (!quantity->contains("low") && !quantity->contains("high")) return otherwise;
  const Interval stated{quantity->value("low", value), quantity->value("high", value)};
  return stated.low > 0 ? stated : Interval{otherwise.low, stated.high};
}

/// Fits of a measured machine, each off by a factor of its own.
class DrawnCalibration final : public Calibration {
 public:
  DrawnCalibration(std::shared_ptr<const Calibration> fitted, std::uint64_t seed, std::size_t draw)
      : fitted_(std::move(fitted)), seed_(seed), draw_(draw) {}
  double operation_seconds(std::string_view operation, const Work& work, ElementType precision,
                           double ranks) const override {
    return factor(operation) * fitted_->operation_seconds(operation, work, precision, ranks);
  }
  double host_seconds(std::string_view name, const Work& work) const override {
    return factor(name) * fitted_->host_seconds(name, work);
  }
  double shared_cores() const override { return fitted_->shared_cores(); }
  double collective_seconds(std::string_view collective, int ranks, double bytes, double messages) const override {
    return factor(collective) * fitted_->collective_seconds(collective, ranks, bytes, messages);
  }
  int fitted_ranks(std::string_view collective, int ranks) const override {
    return fitted_->fitted_ranks(collective, ranks);
  }
  int most_ranks() const override { return fitted_->most_ranks(); }
  double factor(std::string_view name) const { return drawn_in({drawn_fits.low, drawn_fits.high}, seed_, name, draw_); }

 private:
  std::shared_ptr<const Calibration> fitted_;
  std::uint64_t seed_;
  std::size_t draw_;
};

std::shared_ptr<const Software> drawn_software(const Software& profile, std::uint64_t seed, std::size_t draw) {
  auto drawn = std::make_shared<Software>(profile);
  const auto scale = [&](std::optional<double>& cost, const std::string& name) {
    if (cost) *cost *= drawn_in({drawn_terms.low, drawn_terms.high}, seed, "software." + name, draw);
  };
  const auto scale_items = [&](ItemCost& cost, const std::string& name) {
    scale(cost.seconds, name);
    scale(cost.bytes, name);
  };
  scale(drawn->issue_seconds, "issue_seconds");
  scale_items(drawn->coo, "coo");
  scale_items(drawn->coo_backward, "coo_backward");
  for (auto& [name, cost] : drawn->recurrences) scale_items(cost, name);
  scale(drawn->row_seconds, "row_seconds");
  scale(drawn->message_seconds, "message_seconds");
  scale(drawn->exchange_seconds, "exchange_seconds");
  scale(drawn->exchange_byte_seconds, "exchange_seconds_per_byte");
  scale(drawn->sum_seconds, "sum_seconds");
  scale(drawn->sum_byte_seconds, "sum_seconds_per_byte");
  scale(drawn->serialise_message_seconds, "serialise_seconds_per_message");
  scale(drawn->serialise_byte_seconds, "serialise_seconds_per_byte");
  return drawn;
}

std::shared_ptr<const Cluster> drawn_cluster(const Cluster& described, std::size_t draw) {
  auto drawn = std::make_shared<Cluster>(described);
  drawn->raw = nullptr;
  drawn->changes.clear();
  const std::uint64_t seed = described.draws_seed;
  for (const Drawn& one : drawn_constants) {
    double& value = one.slot(*drawn);
    const auto band = band_of(described, one.constant, value);
    if (!band) continue;
    value = drawn_in(*band, seed, one.moves_with == nullptr ? one.constant.key : one.moves_with, draw);
    if (one.constant.key == std::string_view("all_to_all_efficiency")) value = std::min(value, 1.0);
    drawn->changes.push_back(fmt::format("{}={:.17g}", one.constant.key, value));
  }
  if (described.calibration != nullptr)
    drawn->calibration = std::make_shared<DrawnCalibration>(described.calibration, seed, draw);
  if (described.software != nullptr) drawn->software = drawn_software(*described.software, seed, draw);
  return drawn;
}

}  // namespace

const std::vector<UncertainConstant>& uncertain_constants() {
  static const std::vector<UncertainConstant> all = [] {
    std::vector<UncertainConstant> constants;
    for (const Drawn& one : drawn_constants) constants.push_back(one.constant);
    constants.push_back(drawn_fits);
    constants.push_back(drawn_terms);
    return constants;
  }();
  return all;
}

std::vector<std::shared_ptr<const Cluster>> drawn_clusters(const std::shared_ptr<const Cluster>& cluster,
                                                           std::size_t count) {
  std::vector<std::shared_ptr<const Cluster>> draws;
  for (std::size_t draw = 0; draw < count; ++draw) draws.push_back(drawn_cluster(*cluster, draw));
  return draws;
}

std::string drawn_changes(const Cluster& drawn) { return fmt::format("{}", fmt::join(drawn.changes, ",")); }

double factor_of_fits(const Cluster& cluster, std::string_view name) {
  const auto* const drawn = dynamic_cast<const DrawnCalibration*>(cluster.calibration.get());
  return drawn == nullptr ? 1 : drawn->factor(name);
}

std::string digest_of_draws(const std::vector<std::shared_ptr<const Cluster>>& draws) {
  std::string text;
  for (const auto& drawn : draws) {
    // Fits and terms of software follow from the seed and their names.
    text += fmt::format("{} {} {} {} {}\n", drawn->name, drawn->draws_seed, drawn_changes(*drawn),
                        drawn->software == nullptr ? "" : drawn->software->name,
                        drawn->calibration == nullptr ? "" : drawn_fits.key);
  }
  constexpr std::size_t digits = 16;
  return sha256_hex(text).substr(0, digits);
}

}  // namespace strobe
