// Which chunks of a rank form a unit. Invariants: all chunks of a unit belong to one rank. A rank that fuses without a
// memory limit has one unit, so its program equals that of a rank without chunks.
#include "harness/full_batch/plan/fusion_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "backends/cluster.hpp"
#include "backends/processor_clock.hpp"
#include "core/errors.hpp"
#include "harness/full_batch/plan/full_batch_plan.hpp"
#include "harness/placement/chunks/cell_placement.hpp"
#include "harness/placement/chunks/placed_chunks.hpp"

namespace strobe {
namespace {

std::uint64_t limit_of(const FullBatchCase& c, const PlacedChunks& chunks) {
  constexpr double gib = 1024.0 * 1024 * 1024;
  if (chunks.fusion_gib > 0) return static_cast<std::uint64_t>(chunks.fusion_gib * gib);
  if (c.request.memory_limit_gib > 0) return static_cast<std::uint64_t>(c.request.memory_limit_gib * gib);
  return c.request.cluster.empty() ? 0 : load_cluster(c.request.cluster)->gpu.memory_bytes;
}

/// The chunks of each rank, [P][].
std::vector<std::vector<std::uint32_t>> chunks_by_rank(const PlacedChunks& chunks, int ranks) {
  std::vector<std::vector<std::uint32_t>> of_rank(ranks);
  for (std::size_t chunk = 0; chunk < chunks.rank.size(); ++chunk)
    of_rank[chunks.rank[chunk]].push_back(static_cast<std::uint32_t>(chunk));
  return of_rank;
}

/// Whether all chunks of every rank fit together, whatever they share.
bool surely_fits(const FullBatchCase& c, const Placement& placement, std::uint64_t limit) {
  if (limit == 0) return true;
  const PreparedGraph& graph = *c.data.graph;
  const UnitBytes bytes = bytes_of_unit(c.model);
  std::vector<std::int64_t> entries(placement.ranks, 0);
  for (Step t = 0; t < static_cast<Step>(placement.steps()); ++t) {
    for (VertexId v = 0; v < graph.vertices; ++v) {
      const std::size_t row = t * graph.vertices + v;
      const Rank owner = placement.owner(v, t);
      if (owner >= 0) entries[owner] += graph.row_offsets[row + 1] - graph.row_offsets[row];
    }
  }
  for (Rank r = 0; r < placement.ranks; ++r) {
    const std::int64_t rows = placement.rows(r), of_rank = entries[r];
    if (bytes.of(rows + of_rank, rows, of_rank) > limit) return false;
  }
  return true;
}

ChunkLoads only(const ChunkLoads& all, const std::vector<std::uint32_t>& chunks) {
  ChunkLoads some;
  for (const std::uint32_t chunk : chunks) {
    some.cells.push_back(all.cells[chunk]);
    some.own.push_back(all.own[chunk]);
    some.entries.push_back(all.entries[chunk]);
    if (!all.beyond.empty()) some.beyond.push_back(all.beyond[chunk]);
  }
  return some;
}

/// The unit of each chunk. Also sets the number of units of each rank in `fusion`.
std::vector<std::uint32_t> units_of_chunks(const FullBatchCase& c, const StrategyPlan& strategy, FusionPlan& fusion) {
  const PlacedChunks& chunks = *strategy.chunks;
  const bool fuses = fusion.kind == "both" || fusion.kind == "spatial";
  const bool together = fuses && chunks.measured_beyond.empty() && surely_fits(c, strategy.spatial, fusion.limit_bytes);
  ChunkLoads loads =
      fuses && !together ? loads_of_chunks(*c.data.graph, chunks.of_cell, chunks.cells.size()) : ChunkLoads();
  loads.beyond = chunks.measured_beyond.copy();
  std::vector<std::uint32_t> unit(chunks.cells.size());
  const auto of_rank = chunks_by_rank(chunks, c.ranks());
  for (std::size_t r = 0; r < of_rank.size(); ++r) {
    const auto first = static_cast<std::uint32_t>(fusion.unit_count());
    std::vector<std::uint32_t> own(of_rank[r].size(), 0);
    if (!fuses) {
      for (std::size_t i = 0; i < own.size(); ++i) own[i] = static_cast<std::uint32_t>(i);
    } else if (!together) {
      own = fuse_chunks(only(loads, of_rank[r]), bytes_of_unit(c.model), fusion.limit_bytes);
    }
    for (std::size_t i = 0; i < own.size(); ++i) unit[of_rank[r][i]] = first + own[i];
    fusion.units_per_rank.push_back(own.empty() ? 0 : 1 + *std::max_element(own.begin(), own.end()));
  }
  return unit;
}

/// Throws if a unit's stages cannot be computed by themselves. `in_space` includes the spatial stages. `instead` is the
/// end of the message.
void check_units(const FullBatchCase& c, bool in_space, const std::string& instead, std::size_t blocks) {
  bool sums = false;
  for (const LayerShape& layer : c.model.layers) {
    sums = sums || layer.sums.values > 0 || layer.sums.constants_per_rank > 0;
    if (!layer.step_by_step) continue;
    throw InvalidRequest(
        "/strategy/fusion",
        "a layer of this model goes step by step, all cells of a step at once, so chunks cannot be walked "
        "one by one; " +
            instead);
  }
  if (in_space && sums && !c.model.equations->traits().sums_after_rows) {
    throw InvalidRequest(
        "/strategy/fusion",
        "a spatial stage of this model chooses among all cells of a step, so chunks cannot be walked one by "
        "one; " +
            instead);
  }
  if (blocks > 1)
    throw InvalidRequest("/nb",
                         "chunks that are walked one by one reach over blocks of steps; use nb=1, or " + instead);
  if (c.options.overlap > 1)
    throw InvalidRequest(
        "/overlap", "chunks that are walked one by one cannot be cut into slices too; use overlap=1, or " + instead);
  if (c.options.moves_snapshots()) {
    throw InvalidRequest(
        "/transfer",
        "snapshots that are moved one by one make one matrix of all chunks; use transfer=direct, or " + instead);
  }
}

/// Throws if no epoch can measure chunks, or if the measurement would decide nothing.
void check_measurement(const FullBatchCase& c, const FusionPlan& fusion, std::size_t blocks) {
  if (c.use == PlanUse::report) {
    throw InvalidRequest(
        "/strategy/fusion_memory",
        "measured needs an epoch of training, and this run trains none; set fusion_memory=planned, or leave "
        "out the option that prevents training (--dry-run)");
  }
  if (fusion.limit_bytes == 0) {
    throw InvalidRequest(
        "/strategy/fusion_memory",
        "no memory limit is known here, so all chunks of a rank are merged in any case; set fusion_gib or "
        "memory_limit_gib, or fusion_memory=planned");
  }
  check_units(c, true, "use fusion_memory=planned", blocks);
}

}  // namespace

Run FusionPlan::units_of(Rank rank) const {
  const auto own = units_per_rank.begin() + rank;
  return {std::accumulate(units_per_rank.begin(), own, -left_out), *own};
}

std::int64_t FusionPlan::unit_count() const {
  return std::accumulate(units_per_rank.begin(), units_per_rank.end(), std::int64_t{0});
}

UnitBytes bytes_of_unit(const ModelPlan& model) {
  const std::uint64_t element = model.fp64 ? 8 : 4;
  UnitBytes bytes{0, sizeof(std::int64_t), sizeof(std::int32_t) + element};
  for (const LayerShape& layer : model.layers) {
    (layer.reads_neighbours ? bytes.loaded : bytes.own) += element * static_cast<std::uint64_t>(layer.input_width);
    bytes.own += element * static_cast<std::uint64_t>(layer.spatial_width);
  }
  return bytes;
}

std::shared_ptr<const FusionPlan> plan_fusion(const FullBatchCase& c, const StrategyPlan& strategy) {
  if (strategy.chunks == nullptr) return nullptr;
  const PlacedChunks& chunks = *strategy.chunks;
  auto fusion = std::make_shared<FusionPlan>();
  fusion->kind = chunks.fusion;
  fusion->limit_bytes = limit_of(c, chunks);
  fusion->to_measure = chunks.fusion_memory == "measured" && chunks.measured_beyond.empty();
  if (fusion->to_measure) check_measurement(c, *fusion, strategy.blocks.size());
  ProcessorLaps laps;
  const std::vector<std::uint32_t> unit = units_of_chunks(c, strategy, *fusion);
  fusion->planning_seconds = laps.lap();
  for (const std::int64_t units : fusion->units_per_rank)
    fusion->by_units_in_space = fusion->by_units_in_space || units > 1;
  fusion->by_units_in_time = fusion->kind == "none" || fusion->kind == "spatial";
  if (!fusion->by_units_in_space && !fusion->by_units_in_time) return fusion;
  const std::string instead = "use fusion=both" + std::string(fusion->limit_bytes > 0 ? " and more memory" : "");
  check_units(c, fusion->by_units_in_space, instead, strategy.blocks.size());
  const PreparedGraph& graph = *c.data.graph;
  fusion->units = place_cells(graph, static_cast<int>(fusion->unit_count()),
                              [&](NodeId node) { return static_cast<Rank>(unit[chunks.of_cell[node]]); });
  fusion->reads = c.model.any_layer_reads_neighbours() ? spatial_needs(fusion->units, graph)
                                                       : no_needs(fusion->units.ranks, fusion->units.steps());
  return fusion;
}

}  // namespace strobe
