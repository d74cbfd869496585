#include "harness/hybrid_batches/update_cost.hpp"

#include <algorithm>
#include <memory>

#include "backends/cluster.hpp"
#include "backends/device.hpp"
#include "harness/hybrid_batches/batch_maker.hpp"
#include "harness/hybrid_batches/batch_walk.hpp"
#include "harness/hybrid_batches/single_rank_sums.hpp"
#include "harness/schedule/trained_weights.hpp"

namespace strobe {
namespace {

constexpr std::uint64_t first_number = std::uint64_t{5} << 29;  // no training draws these

/// Seconds of one update on one accelerator of the cluster. It follows a first update, which sets up data that later
/// ones reuse.
double computed_seconds(const HybridPlan& plan, const std::shared_ptr<const Cluster>& cluster, Rank rank,
                        std::size_t action) {
  DeviceRequest request;
  request.precision = plan.full->model.fp64 ? ElementType::f64 : ElementType::f32;
  request.values = false;
  request.cluster = cluster;
  request.ranks = plan.ranks(), request.rank = rank;
  const auto device = DeviceRegistry::instance().find("sim", "/device").value(request);
  TrainedWeights weights(*device, plan.full->model.parameters, plan.seed(), plan.full->model.start_values,
                         plan.full->request.optimizer);
  BatchMaker maker(plan, false);
  const SingleRankSums sums;
  const Tensor loss = device->allocate(1, 1, ElementType::f64);
  double begin = 0;
  for (std::uint64_t update = 0; update < 2; ++update) {
    const SharedBatch batch = maker.make(rank, action, first_number + update);
    device->synchronize();
    begin = device->now();
    weights.clear_gradients();
    train_batch(*device, plan, *batch, weights.parameters(), {plan.seed(), 0, true, &sums}, 1.0, loss);
    weights.update();
    device->synchronize();
  }
  return device->now() - begin;
}

/// Seconds of a ring all-reduce over all ranks, per update. With several nodes, the slowest link is the one between
/// nodes.
double averaging_seconds(const HybridPlan& plan, const Cluster& cluster) {
  if (plan.ranks() < 2 || plan.options.averaging == "never") return 0;
  const double ranks = plan.ranks();
  const bool one_node = plan.ranks() <= cluster.gpus_per_node;
  const double rate = one_node ? cluster.intra_node_bytes_per_second : cluster.inter_node_bytes_per_second;
  const double hop = one_node ? cluster.intra_node_latency_seconds : cluster.inter_node_latency_seconds;
  const double latency = std::max(hop, cluster.message_seconds);
  const double bytes = static_cast<double>(plan.full->model.parameter_count) * (plan.full->model.fp64 ? 8 : 4);
  const double seconds = 2 * (ranks - 1) * (latency + (rate > 0 ? bytes / ranks / rate : 0));
  return seconds / static_cast<double>(std::max<std::int64_t>(1, plan.iterations()));
}

}  // namespace

std::vector<double> expected_update_seconds(const HybridPlan& plan) {
  std::vector<double> seconds;
  if (plan.full->request.cluster.empty()) {
    for (const TypicalBatch& typical : plan.typical) {
      // Seconds for an update's launches, and for cells and entries at the rates of a processor or a slow device.
      constexpr double update = 3e-4, of_cell = 1e-7, of_entry = 1e-8;
      seconds.push_back(update + of_cell * typical.cells + of_entry * typical.entries);
    }
    return seconds;
  }
  const auto cluster = load_cluster(plan.full->request.cluster);
  const int some = std::min(plan.ranks(), 2);
  for (std::size_t action = 0; action < plan.actions.size(); ++action) {
    double computed = 0;
    for (Rank rank = 0; rank < some; ++rank) computed += computed_seconds(plan, cluster, rank, action) / some;
    seconds.push_back(computed + averaging_seconds(plan, *cluster));
  }
  return seconds;
}

}  // namespace strobe
