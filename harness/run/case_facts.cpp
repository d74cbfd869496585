#include "harness/run/case_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "backends/cluster.hpp"
#include "backends/software.hpp"
#include "core/units.hpp"
#include "harness/full_batch/full_batch_schedule.hpp"
#include "harness/request/kernel_threads.hpp"
#include "harness/run/target_facts.hpp"
#include "harness/training/load_time.hpp"

namespace strobe {
namespace {

void add_cluster_notes(const Cluster& cluster, std::int64_t ranks, std::vector<std::string>& notes) {
  if (cluster.software != nullptr) notes.push_back(software_note(*cluster.software));
  if (cluster.jitter > 0) {
    notes.push_back(fmt::format("jitter {}: a rank's operations of an epoch are e^(N(0, {})) times as long, seed {}",
                                cluster.jitter, cluster.jitter, cluster.jitter_seed));
  }
  if (!cluster.calibrated) notes.push_back("uncalibrated");
  if (cluster.extrapolated()) {
    notes.push_back(
        fmt::format("extrapolated to {} nodes; the cluster file describes {}", cluster.nodes, cluster.described_nodes));
  }
  if (cluster.beyond_sources(ranks)) {
    notes.push_back(fmt::format(
        "extrapolated beyond {} rank{}, the most that a source of {} covers: its times rest on {:.3g} us a message and "
        "{:.3g} us a peer of an exchange between nodes",
        cluster.covered_ranks, cluster.covered_ranks == 1 ? "" : "s", cluster.name, cluster.message_seconds * 1e6,
        std::max(cluster.message_seconds, cluster.all_to_all_peer_seconds) * 1e6));
  }
  if (cluster.price_per_node_hour > 0) {
    const std::string origin =
        cluster.price_date.empty() ? price_origin(cluster) : cluster.price_region + ", " + cluster.price_date;
    notes.push_back(
        fmt::format("price {} {} per node hour, {}", cluster.price_per_node_hour, cluster.price_currency, origin));
  }
}

/// Fills in the price, the error band and the notes of predictions on this cluster.
void take_cluster(const Case& c, const Cluster& cluster, CaseResult& result) {
  const std::int64_t nodes = (c.ranks + cluster.gpus_per_node - 1) / cluster.gpus_per_node;
  result.dollars_per_second = static_cast<double>(nodes) * cluster.price_per_node_hour / 3600.0;
  result.currency = cluster.price_currency;
  result.band_source = band_refusal(cluster, c.ranks);
  if (result.band_source.empty()) {
    const Band& band = band_for(cluster, c.ranks);
    result.band_low_factor = band.low;
    result.band_high_factor = band.high;
    result.band_source = band.source;
  }
  add_cluster_notes(cluster, c.ranks, result.notes);
}

void predict_load(const PlannedCase& plan, const Cluster& cluster, CaseResult& result) {
  const FullBatchPlan* const full = full_batch_or_null(plan);
  const auto work = full == nullptr ? std::nullopt : load_work(plan.request, full->data);
  const auto seconds = work ? load_seconds(*work, cluster.host) : std::nullopt;
  if (!seconds) {
    result.load_unknown = full == nullptr ? "loading is predicted for full batches alone"
                          : !work         ? "nobody knows the files of a shape"
                                          : "the cluster states no rates of loading; strobe calibrate measures them";
    return;
  }
  result.load_seconds = *seconds;
  result.notes.push_back(fmt::format("start-up, in no epoch: {} to read and prepare the graph, as {} predicts",
                                     format_seconds(*seconds), cluster.name));
}

}  // namespace

CaseResult empty_result(const PlannedCase& plan, const LaunchRequest& launch) {
  CaseResult result;
  const Case& c = plan.request;
  const PlanSummary& summary = plan.schedule->summary();
  const EpochItems& items = summary.items;
  result.items_per_epoch = items.count;
  result.throughput_unit = items.unit;
  result.nonzeros_per_epoch = items.nonzeros;
  result.cells_per_epoch = items.cells;
  result.edges_per_epoch = items.edges;
  result.iterations_per_epoch = items.iterations;
  result.facts = plan.schedule->facts({});
  add_target_facts(plan, result.facts);
  result.approximations = summary.approximations;
  result.exact = result.approximations.empty();
  result.notes = plan.notes;
  if (is_on_host(c.device)) result.threads = kernel_threads(c);
  const ByteBudget budget = plan.schedule->budget(0);
  for (std::size_t traffic = 0; traffic < traffic_count; ++traffic)
    result.planned_bytes[std::string(traffic_names[traffic])] = budget.bytes[traffic];
  if (plan.schedule->is_outside())
    result.load_unknown = "another program loads its own data";
  else if (!launch.device.cluster)
    result.load_seconds = plan.load_seconds;
  if (launch.device.cluster) {
    const Cluster& cluster = *launch.device.cluster;
    result.time_source = "virtual";
    result.peak_flops_per_second = static_cast<double>(c.ranks) * (plan.fp64() ? cluster.gpu.flops_fp64_per_second
                                                                               : cluster.gpu.flops_fp32_per_second);
    result.peak_bytes_per_second = static_cast<double>(c.ranks) * cluster.gpu.memory_bytes_per_second;
    take_cluster(c, cluster, result);
    predict_load(plan, cluster, result);
  }
  return result;
}

}  // namespace strobe
