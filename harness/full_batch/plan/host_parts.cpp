#include "harness/full_batch/plan/host_parts.hpp"

#include <set>

#include "harness/full_batch/exchange/server_route.hpp"
#include "harness/placement/chunks/placed_chunks.hpp"
#include "workloads/partitioners/load_aware.hpp"

namespace strobe {
namespace {

/// Bytes of private memory; views of files have none.
template <class Values>
std::uint64_t array_bytes(const Values& values) {
  if constexpr (requires { values.own_bytes(); }) {
    return values.own_bytes();
  } else if constexpr (requires { values.capacity(); }) {
    return values.capacity() * sizeof(typename Values::value_type);
  } else {
    return values.size() * sizeof(typename Values::value_type);
  }
}

template <class... Values>
std::uint64_t arrays(const Values&... values) {
  return (array_bytes(values) + ... + 0);
}

std::uint64_t bytes_of(const VertexMap& map) {
  std::uint64_t sum = arrays(map.owner, map.owned, map.owned_count);
  for (const std::vector<Run>& runs : map.owned) sum += array_bytes(runs);
  return sum;
}

std::uint64_t bytes_of(const HaloNeeds& needs) {
  std::uint64_t sum = arrays(needs.vertices, needs.counted);
  for (const auto& rank : needs.vertices) {
    sum += array_bytes(rank);
    for (const std::vector<VertexId>& step : rank) sum += array_bytes(step);
  }
  for (const std::vector<std::int64_t>& rank : needs.counted) sum += array_bytes(rank);
  return sum;
}

std::uint64_t bytes_of(const ExchangePlan& plan) {
  std::uint64_t sum = array_bytes(plan.ranks);
  for (const RankExchange& rank : plan.ranks) sum += arrays(rank.keep, rank.send.list, rank.receive.list);
  if (plan.servers == nullptr) return sum;
  const ServerRoute& route = *plan.servers;
  return sum + bytes_of(route.push) + bytes_of(route.pull) + bytes_of(route.push_back) + bytes_of(route.pull_back);
}

/// Adds up what a plan holds. Blocks and slices share placements, which count once.
class HostCount {
 public:
  explicit HostCount(const FullBatchPlan& plan) {
    add(host_parts(plan.data));
    add(plan.strategy.spatial), add(plan.strategy.temporal);
    if (plan.strategy.chunks != nullptr)
      parts_[MemoryPart::graph] += arrays(plan.strategy.chunks->of_cell, plan.strategy.chunks->cells,
                                          plan.strategy.chunks->rank, plan.strategy.chunks->measured_beyond);
    if (plan.strategy.loads != nullptr)
      parts_[MemoryPart::graph] += arrays(plan.strategy.loads->load, plan.strategy.loads->group);
    if (plan.fusion != nullptr) {
      for (const auto& units : plan.fusion->blocks) {
        add(units->cells);
        add(units->reads);
      }
    }
    for (const BlockPlan& block : plan.blocks) add(block);
    add(plan.evaluation.test), add(plan.evaluation.validation);
  }

  HostBytes parts() const { return parts_; }

 private:
  void add(const HostBytes& more) {
    for (std::size_t i = 0; i < parts_.size(); ++i) parts_[i] += more[i];
  }
  void add(const Placement& placement) {
    parts_[MemoryPart::graph] += arrays(placement.maps, placement.map_of_step);
    for (const auto& map : placement.maps)
      if (seen_.insert(map.get()).second) parts_[MemoryPart::graph] += bytes_of(*map);
  }
  void add(const HaloNeeds& needs) { parts_[MemoryPart::buffers] += bytes_of(needs); }
  void add(const ExchangePlan& plan) { parts_[MemoryPart::buffers] += bytes_of(plan); }
  void add(const PlacedSamples& placed) {
    add(placed.halo);
    for (const LocalSamples& own : placed.ranks) {
      for (const auto& list : own.rows) parts_[MemoryPart::samples] += array_bytes(list);
      parts_[MemoryPart::samples] += arrays(own.label, own.value, own.weight, own.index);
    }
  }
  void add(const PackedPlan& packed) {
    add(packed.placement);
    for (const RoundPieces& round : packed.rounds)
      for (const std::vector<SequencePiece>& pieces : round) parts_[MemoryPart::graph] += array_bytes(pieces);
    for (const ExchangePlan& handover : packed.handover) add(handover);
    add(packed.unit_cells);
    add(packed.needs), add(packed.halo), add(packed.unit_needs);
  }
  void add(const BlockPlan& block) {
    add(block.spatial), add(block.temporal);
    add(block.spatial_needs);
    add(block.spatial_halo), add(block.to_temporal), add(block.to_spatial);
    for (const SlicePlan& slice : block.slices) {
      add(slice.spatial), add(slice.needs);
      add(slice.halo), add(slice.to_temporal), add(slice.to_spatial);
    }
    for (const StateHandover& layer : block.handover)
      for (const ExchangePlan& plan : layer.plans) add(plan);
    for (const auto* const layers : {&block.packed, &block.trained}) {
      for (const auto& packed : *layers)
        if (packed != nullptr && seen_.insert(packed.get()).second) add(*packed);
    }
    for (const auto& earlier : block.earlier_steps)
      if (earlier) add(*earlier);
    for (const std::vector<StepSupport>& support : block.supports) {
      for (const StepSupport& step : support) add(step.placement), add(step.needs), add(step.halo);
    }
    add(block.train);
  }

  HostBytes parts_{};
  std::set<const void*> seen_;
};

}  // namespace

HostBytes bytes_of_parts(const SnapshotGraph& graph) {
  HostBytes parts{};
  parts[MemoryPart::features] = arrays(graph.features, graph.exact_features);
  parts[MemoryPart::samples] = arrays(graph.targets, graph.vertex_label, graph.cell_label);
  parts[MemoryPart::graph] =
      arrays(graph.snapshots, graph.original_id, graph.vertex_name.bytes(), graph.vertex_name.ends(), graph.side);
  const Snapshot* before = nullptr;
  for (const auto& snapshot : graph.snapshots) {
    if (snapshot.get() == before) continue;
    before = snapshot.get();
    parts[MemoryPart::graph] +=
        arrays(snapshot->row_offsets, snapshot->columns, snapshot->values, snapshot->exact_values);
  }
  return parts;
}

HostBytes bytes_of_parts(const PreparedGraph& graph) {
  HostBytes parts{};
  parts[MemoryPart::graph] = arrays(graph.row_offsets, graph.columns, graph.values32, graph.values64);
  parts[MemoryPart::features] = arrays(graph.features32, graph.features64, graph.products32, graph.products64);
  return parts;
}

std::uint64_t bytes_of(const Samples& samples) {
  return arrays(samples.vertices, samples.step, samples.label, samples.value, samples.weight, samples.baseline,
                samples.candidate_of, samples.memory, samples.codes);
}

HostBytes host_parts(const DataPlan& data) {
  HostBytes parts{};
  const auto add = [&](const HostBytes& more) {
    for (std::size_t i = 0; i < parts.size(); ++i) parts[i] += more[i];
  };
  if (data.raw != nullptr) add(bytes_of_parts(*data.raw));
  add(bytes_of_parts(*data.graph));
  for (const auto& support : data.supports) add(bytes_of_parts(*support));
  if (data.presence != nullptr) parts[MemoryPart::graph] += data.presence->own_bytes();
  for (const Samples* some : {&data.samples->train, &data.samples->test, &data.samples->validation})
    parts[MemoryPart::samples] += bytes_of(*some);
  return parts;
}

HostBytes host_parts(const FullBatchPlan& plan) { return HostCount(plan).parts(); }

}  // namespace strobe
