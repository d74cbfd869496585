#include "harness/hybrid_batches/batch_bytes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "backends/cluster.hpp"
#include "backends/device.hpp"
#include "backends/shapes_device.hpp"
#include "backends/software.hpp"
#include "harness/hybrid_batches/batch_maker.hpp"
#include "harness/hybrid_batches/batch_walk.hpp"
#include "harness/hybrid_batches/dealt_windows.hpp"
#include "harness/hybrid_batches/encoding/cached_vertices.hpp"
#include "harness/hybrid_batches/single_rank_sums.hpp"
#include "harness/schedule/trained_weights.hpp"

namespace strobe {
namespace {

/// Bytes that a rank may take; 0: unknown, or no limit.
struct RankMemory {
  std::uint64_t device = 0;
  std::uint64_t host = 0;
  bool shared = false;  // whether both are the same memory
};

std::uint64_t device_bytes(const Case& c) {
  DeviceRequest request;
  request.memory_limit_bytes = static_cast<std::uint64_t>(c.memory_limit_gib * 1024 * 1024 * 1024);
  if (c.cluster.empty() && (c.memory_limit_gib > 0 || is_on_host(c.device))) return request.memory_limit_bytes;
  request.ranks = static_cast<int>(c.ranks);
  request.precision = c.precision == "fp64" ? ElementType::f64 : ElementType::f32;
  request.values = false;
  if (!c.cluster.empty()) request.cluster = load_cluster(c.cluster, c.software);
  try {
    const auto device = DeviceRegistry::instance().find(c.device, "/device").value(request);
    return device->memory_limit_bytes() > 0 ? device->memory_limit_bytes() : device->memory_bytes();
  } catch (const Unavailable&) {
    return 0;  // plans are printed also on machines without the device
  }
}

RankMemory memory_of(const Case& c) {
  RankMemory memory;
  memory.device = device_bytes(c);
  memory.shared = is_on_host(c.device);
  if (memory.shared) memory.host = memory.device;
  if (c.cluster.empty()) return memory;
  const auto cluster = load_cluster(c.cluster, c.software);
  const std::int64_t on_a_node = std::min<std::int64_t>(c.ranks, cluster->gpus_per_node);
  memory.host = cluster->host.memory_bytes / static_cast<std::uint64_t>(on_a_node);
  return memory;
}

double mib(std::uint64_t bytes) { return static_cast<double>(bytes) / (1024.0 * 1024.0); }

/// The size whose update takes the most bytes, and these bytes.
std::pair<std::size_t, std::uint64_t> largest_update(const HybridPlan& plan) {
  std::pair<std::size_t, std::uint64_t> most{0, 0};
  for (std::size_t action = 0; action < plan.actions.size(); ++action) {
    // Sizes that hold less on average also take less in updates.
    if (plan.typical[action].bytes + plan.typical[action].cells <
        plan.typical[most.first].bytes + plan.typical[most.first].cells)
      continue;
    const std::uint64_t bytes = update_bytes(plan, action);
    if (bytes > most.second) most = {action, bytes};
  }
  return most;
}

void check_update(const HybridPlan& plan, const RankMemory& memory, std::size_t action, std::uint64_t bytes) {
  if (memory.device == 0 || bytes <= memory.device) return;
  const BatchAction& size = plan.actions[action];
  const std::string what = plan.adjusts() ? "the largest size to choose from, " : "a batch of ";
  const std::string change =
      plan.adjusts() ? "smaller vertex_sizes or snapshot_sizes" : "smaller vertices or snapshots";
  throw NoRoom(plan.adjusts() ? "/strategy/vertex_sizes" : "/strategy/vertices",
               fmt::format("{}{} x {}, takes about {:.4g} MiB in an update, and a rank has {:.4g} MiB; take {}, "
                           "more ranks, or a larger memory_limit_gib",
                           what, size.vertices.text, size.snapshots.text, mib(bytes), mib(memory.device), change));
}

void check_caches(const HybridPlan& plan, const RankMemory& memory, std::uint64_t update) {
  if (memory.host == 0 || !plan.caches) return;
  const CacheSizes& caches = *plan.caches;
  const std::uint64_t beside = memory.shared ? update : 0;
  for (std::size_t r = 0; r < caches.own_bytes.size(); ++r) {
    const std::uint64_t kept = caches.own_bytes[r] + caches.cached_bytes[r];
    if (kept + beside <= memory.host) continue;
    throw NoRoom(
        memory.shared ? "/memory_limit_gib" : "/cluster",
        fmt::format("rank {} keeps {:.4g} MiB of the graph for its batches, {:.4g} MiB of it copies{}, "
                    "and it has {:.4g} MiB; take more ranks, a partitioner that cuts fewer edges, a model of fewer "
                    "hops, or {}",
                    r, mib(kept), mib(caches.cached_bytes[r]),
                    beside > 0 ? fmt::format(", an update takes about {:.4g} MiB", mib(beside)) : "", mib(memory.host),
                    memory.shared ? "a larger memory_limit_gib" : "nodes with more memory"));
  }
}

}  // namespace

CacheSizes count_caches(const HybridPlan& plan) {
  if (plan.cuts_steps()) return count_held_steps(plan);
  std::int64_t window = 1;
  for (const BatchAction& action : plan.actions) {
    for (const BatchSize& size : action.of_rank) window = std::max(window, size.steps);
  }
  CacheSizes sizes;
  for (Rank r = 0; r < plan.ranks(); ++r) {
    const std::vector<VertexId> others = others_of(plan.full->data.samples->train, plan.owner, r);
    const CachedVertices kept = cached_vertices(plan.source, plan.owner, r, others, plan.trained_steps(), window);
    sizes.cached_vertices += static_cast<std::int64_t>(kept.cached.size());
    sizes.own_bytes.push_back(kept.owned_structure_bytes + kept.owned_feature_bytes);
    sizes.cached_bytes.push_back(kept.cached_structure_bytes + kept.cached_feature_bytes);
  }
  sizes.duplication = static_cast<double>(sizes.cached_vertices) / static_cast<double>(plan.graph().vertices);
  return sizes;
}

std::uint64_t update_bytes(const HybridPlan& plan, std::size_t action) {
  constexpr std::uint64_t first_number = std::uint64_t{3} << 30;  // no training draws these
  BatchMaker maker(plan, false);
  std::uint64_t most = 0;
  for (Rank rank = 0; rank < std::min(plan.ranks(), 4); ++rank) {
    SharedBatch batch = maker.make(rank, action, first_number);
    const SharedBatch other = maker.make(rank, action, first_number + 1);
    if (other->layers.computed_cells > batch->layers.computed_cells) batch = other;
    DeviceRequest request;
    request.precision = plan.full->model.fp64 ? ElementType::f64 : ElementType::f32;
    request.values = false;
    ShapesDevice device(request);
    TrainedWeights weights(device, plan.full->model.parameters, plan.seed(), plan.full->model.start_values,
                           plan.full->request.optimizer);
    const SingleRankSums sums;
    train_batch(device, plan, *batch, weights.parameters(), {plan.seed(), 0, true, &sums}, 1.0,
                device.allocate(1, 1, ElementType::f64));
    most = std::max(most, device.peak_bytes());
  }
  return most;
}

void check_memory(const HybridPlan& plan) {
  const RankMemory memory = memory_of(plan.full->request);
  if (memory.device == 0 && memory.host == 0) return;
  const auto [action, bytes] = largest_update(plan);
  check_update(plan, memory, action, bytes);
  check_caches(plan, memory, bytes);
}

}  // namespace strobe
