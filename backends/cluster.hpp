// Cluster: the hardware that the simulator runs on, read from backends/clusters/NAME.json. Every number there carries
// its unit in the key and names its source and date.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/fields.hpp"

namespace strobe {

/// One accelerator.
struct GpuModel {
  std::string name;
  double flops_fp32_per_second = 0;    // sustained peak used by the roofline
  double flops_fp64_per_second = 0;
  double memory_bytes_per_second = 0;  // achieved, not nominal
  std::uint64_t memory_bytes = 0;
  std::uint64_t reserved_bytes = 0;    // context and communication buffers, not available to tensors
  double launch_seconds = 0;           // smallest time of one operation
};

/// A cluster of equal nodes.
struct Cluster {
  std::string name;
  std::string description;
  int nodes = 1;
  int gpus_per_node = 1;
  GpuModel gpu;
  double host_to_device_bytes_per_second = 0;  // pinned, per GPU
  double host_to_device_latency_seconds = 0;
  double intra_node_bytes_per_second = 0;      // per GPU and direction
  double intra_node_latency_seconds = 0;
  double inter_node_bytes_per_second = 0;      // per node and direction, all NICs together
  double inter_node_latency_seconds = 0;
  double price_per_node_hour = 0;              // 0: not sold
  std::string price_currency, price_date, price_source;
  bool calibrated = false;                     // false: published numbers only, predictions are marked uncalibrated
  Json raw;                                    // the file as read, recorded in env.json
};

/// Reads a cluster by built-in name or by the path of a JSON file. Throws InvalidRequest with the JSON pointer when a
/// key is unknown, missing, without unit, or out of range (negative latency, zero bandwidth).
std::shared_ptr<const Cluster> load_cluster(const std::string& name_or_path);

/// Names of the built-in clusters (files in backends/clusters).
std::vector<std::string> cluster_names();

}  // namespace strobe
