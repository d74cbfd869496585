// Cluster: the hardware that the simulator runs on, read from backends/clusters/NAME.json. Every number there carries
// its unit in the key and names its source and date. The file leaves out numbers that nobody has measured or published;
// here they hold the value that switches their effect off.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "backends/span.hpp"
#include "backends/tensor.hpp"
#include "core/fields.hpp"

namespace strobe {

struct Software;  // backends/software.hpp

/// One accelerator.
struct GpuModel {
  std::string name;
  double flops_fp32_per_second = 0;  // sustained peak used by the roofline
  double flops_fp64_per_second = 0;
  double memory_bytes_per_second = 0;  // achieved, not nominal
  std::uint64_t memory_bytes = 0;
  std::uint64_t reserved_bytes = 0;  // context and other memory that no tensor can use
  double launch_seconds = 0;         // smallest time of one operation
  // Optional fields; each comment says what absence means.
  std::string architecture = "";                 // volta to blackwell: NCCL's limits; "": none are applied
  double round_seconds = 0;                      // for one round that depends on the one before (Work::rounds); 0: not
                                                 // known
  double host_issue_seconds = -1;                // host's time to issue one operation; below 0: launch_seconds
  std::uint64_t l2_bytes = 0;                    // 0: indexed rows are read once, as if the cache held them all
  std::uint64_t communication_buffer_bytes = 0;  // taken by the collectives library when there is more than one rank
  std::uint64_t allocation_bytes = 0;            // every tensor takes a multiple of this; 0: its own size
  std::uint64_t allocation_block_bytes = 0;      // the pool asks the driver for multiples of this; 0: as much as needed
  bool stores_transpose = false;                 // keeps sparse matrices also transposed (Device::wants_transpose)
  std::int64_t narrow_bytes = 0;  // also keeps forms for products with rows of up to this width (Device::narrow_bytes)
};

/// How a collectives library carries out an all-to-all: all messages at once; in rounds, with one peer each; or inside
/// the nodes first, so that messages to another node go between ranks of the same place.
enum class AllToAll : std::uint8_t { grouped, pairwise, hierarchical };
inline constexpr std::string_view all_to_all_names[] = {"grouped", "pairwise", "hierarchical"};

/// The cost of a message when a cluster file says nothing: the chosen value, the range of published values, and the
/// source of both.
struct DefaultCost {
  double seconds, low, high;
  const char* source;
};
inline constexpr DefaultCost default_message_cost{1e-6, 2.75e-7, 8e-6,
                                                  "default: what NCCL's tuning model charges for a step of the network "
                                                  "(src/graph/tuning.cc, 1 us; 2 us on AMD hosts); "
                                                  "a grouped message takes 0.275 us inside an H100 node "
                                                  "(AIConfigurator, all-to-all on 4 and 8 GPUs), a peer 8 us over "
                                                  "EFA (aws-gpu-communication-benchmark, p5)"};
inline constexpr DefaultCost default_peer_cost{1e-6, 1e-6, 8e-6,
                                               "default: what NCCL's tuning model charges for a step of the network "
                                               "(src/graph/tuning.cc, 1 us; 2 us on AMD hosts); "
                                               "8 us over EFA (aws-gpu-communication-benchmark, p5)"};

/// The host of a node; its ranks share it in equal parts. 0 in every field means not known, which takes no time.
struct HostModel {
  int cores = 0;                          // that programs can use (hardware threads)
  double core_operations_per_second = 0;  // arithmetic on one core
  double core_bytes_per_second = 0;       // memory that one core reads and writes in order
  double memory_bytes_per_second = 0;     // all cores together
  double random_access_seconds = 0;       // to follow a reference from one row to another at an unpredictable place
  double disk_bytes_per_second = 0;       // read in order
  std::uint64_t memory_bytes = 0;         // of a node; 0: not known
  double page_cache_bytes = -1;           // that a node's programs leave for pages of files; negative: all have room
  // Before training, by one process; 0: not known.
  double text_bytes_per_second = 0;         // of a text file, to steps in memory
  double binary_bytes_per_second = 0;       // of a binary graph
  double made_entries_per_second = 0;       // of a generated graph
  double prepared_entries_per_second = 0;   // of matrices as models read them
  double prepared_features_per_second = 0;  // values
};

/// Fitted times of a measured machine (`strobe calibrate`), which take precedence over the described models. `ranks` is
/// the number that compute at the same time: on one machine they share its memory and, beyond its cores, take turns.
class Calibration {
 public:
  virtual ~Calibration() = default;
  /// Seconds of one operation, or a negative number when operations of that name were not fitted in that precision.
  virtual double operation_seconds(std::string_view operation, const Work& work, ElementType precision,
                                   double ranks) const = 0;
  /// Seconds of host work (HostWork) of that name by one worker, or a negative number when it was not fitted.
  virtual double host_seconds(std::string_view /*name*/, const Work& /*work*/) const { return -1; }
  /// Cores that ranks of this machine share; 0: each has a processor of its own.
  virtual double shared_cores() const = 0;
  /// Seconds of the collective `collective` (collective_names) over `ranks` ranks; negative when it was not fitted.
  /// `bytes` is what the busiest rank sends or receives, and `messages` is its number of peers.
  virtual double collective_seconds(std::string_view collective, int ranks, double bytes, double messages) const = 0;
  /// The number of ranks in the fit that is used for `ranks` ranks; 0 when the collective was not fitted.
  virtual int fitted_ranks(std::string_view collective, int ranks) const = 0;
  /// The most ranks with which a collective was measured; 1 when none was.
  virtual int most_ranks() const = 0;
};

/// 90 % of the times measured lie between `low` and `high` times the predicted one.
struct Band {
  double low = 0, high = 0;
  std::string source;  // which predictions were compared with which measurements
  int ranks = 1;       // the most ranks in these measurements
};

/// A cluster of equal nodes.
struct Cluster {
  std::string name;
  std::string description;
  int nodes = 1;
  int gpus_per_node = 1;
  GpuModel gpu;
  HostModel host;
  double host_to_device_bytes_per_second = 0;  // pinned, per GPU
  double host_to_device_latency_seconds = 0;
  double intra_node_bytes_per_second = 0;  // per GPU and direction
  double intra_node_latency_seconds = 0;
  double inter_node_bytes_per_second = 0;  // per node and direction, all NICs together
  double inter_node_latency_seconds = 0;
  double price_per_node_hour = 0;                      // 0: not sold
  std::string price_currency;                          // ISO 4217, in capitals
  std::string price_region, price_date, price_source;  // a changed price has no region and no date, because nobody
                                                       // listed it
  bool calibrated = false;  // false: published numbers only, predictions are marked uncalibrated
  // Optional fields; each comment says what absence means.
  double host_to_device_pageable_bytes_per_second = 0;  // 0: not known
  bool pageable_host_memory = false;                    // inputs lie in pageable host memory, not in pinned memory
  bool shared_host_memory = false;          // the device computes in the host's memory: nothing is copied (a cpu)
  int gpus_per_host_link = 1;               // GPUs on one PCIe switch, which share its upstream link
  double host_link_bytes_per_second = 0;    // that upstream link; 0: each GPU has its own
  int nics_per_node = 1;                    // the node's GPUs are bound to its NICs in equal groups
  double host_bridge_bytes_per_second = 0;  // all traffic between a node's GPUs together; 0: no such limit
  double compute_slowdown_factor = 1;       // slows compute while a collective moves data
  bool hierarchical_collectives = false;    // sums are reduced inside the nodes first; NCCL does not
  AllToAll all_to_all = AllToAll::grouped;  // algorithm of the collectives library
  // An all-to-all over several nodes gets `efficiency` m / (m + `half_bytes`) of the links with messages of m bytes to
  // each peer. Each peer costs the sender `peer_seconds` more.
  double all_to_all_efficiency = 1;
  double all_to_all_half_bytes = 0;
  double all_to_all_peer_seconds = 0;
  double message_seconds = 0;        // a rank's time to issue one message; no collective is shorter than its messages
  double nvls_bytes_per_second = 0;  // bus bandwidth of sums inside a node by NVLink SHARP; 0: it has none
  double nvls_latency_seconds = 0;   // for one such sum
  double nccl_latency_seconds = 0;   // of the network, as its plug-in tells NCCL; 0: the link's own
  double jitter = 0;                 // standard deviation of the logarithm of a rank's speed from epoch to epoch
  std::uint64_t jitter_seed = 1;     // seed of the drawn speeds
  std::uint64_t draws_seed = 1;      // seed of drawn clusters (drawn_clusters.hpp)
  std::shared_ptr<const Calibration> calibration;  // null: none
  std::vector<Band> epoch_bands;                   // bands of predicted epochs, by ranks ascending; empty: not known
  int described_nodes = 0;                         // nodes of the file; fewer than `nodes` means extrapolation
  std::int64_t covered_ranks = 0;                  // the most ranks that a source of the file covers; 0: not asked
  std::shared_ptr<const Software> software;        // costs that a framework adds to the program; null: Strobe's own
                                                   // program
  std::vector<std::string> changes;                // what-if: "nodes=4", in the order of the keys
  Json raw;                                        // the file as read, with its changes

  std::int64_t gpus() const { return std::int64_t{nodes} * gpus_per_node; }
  bool extrapolated() const { return nodes > described_nodes; }
  /// Whether no source covers communication among this many ranks.
  bool beyond_sources(std::int64_t ranks) const { return covered_ranks > 0 && ranks > covered_ranks; }
  double issue_seconds() const { return gpu.host_issue_seconds < 0 ? gpu.launch_seconds : gpu.host_issue_seconds; }
};

/// Reads a cluster by built-in name or by the path of a JSON file. Changes may follow either: NAME:key=value,... where
/// key is one of the file's ("nodes", "gpu.memory_bytes"). Throws InvalidRequest with the JSON pointer when a key is
/// unknown, missing, without unit, or out of range (negative latency, zero bandwidth, GPUs that do not divide). Throws
/// it also when a file that does not come with the program has a price listed in the future.
std::shared_ptr<const Cluster> load_cluster(const std::string& cluster);

/// Adds a change to the cluster's text: "aimos-v100" with nodes, 4 gives "aimos-v100:nodes=4". Keys are kept in order,
/// so the same changes give the same text.
std::string change_cluster(const std::string& cluster, const std::string& key, const std::string& value);

/// The name or path in a cluster's text, without its changes.
std::string cluster_base(const std::string& cluster);

/// Names of the built-in clusters (files in backends/clusters).
std::vector<std::string> cluster_names();

/// Whole days from the price's date to `today` (YYYY-MM-DD); below 0 when the cluster is not sold, when its price was
/// changed or dates do not parse, and when it was listed after `today`.
std::int64_t price_age_days(const Cluster& cluster, const std::string& today);

/// The origin of the price of a cluster that is sold: "us-east-1, listed 2026-09-25", or "changed by the command,
/// instead of 55.04".
std::string price_origin(const Cluster& cluster);

/// Why a predicted epoch on `ranks` ranks of this cluster has no band: the cluster was changed, no measurement had that
/// many ranks, or none exists. "" when it has a band.
std::string band_refusal(const Cluster& cluster, std::int64_t ranks);

/// The band of a prediction on `ranks` ranks that band_refusal does not refuse. It is the band with the fewest ranks
/// that covers `ranks`.
const Band& band_for(const Cluster& cluster, std::int64_t ranks);

}  // namespace strobe
