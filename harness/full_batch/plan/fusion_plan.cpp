// Which chunks of a rank form a unit. Invariants: all chunks of a unit belong to one rank, and all its cells to one
// block of steps. A rank that fuses without a memory limit has one unit in each block, so its program equals that of a
// rank without chunks.
#include "harness/full_batch/plan/fusion_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>

#include "backends/cluster.hpp"
#include "backends/processor_clock.hpp"
#include "core/errors.hpp"
#include "harness/full_batch/plan/full_batch_plan.hpp"
#include "harness/placement/chunks/cell_placement.hpp"
#include "harness/placement/chunks/placed_chunks.hpp"
#include "workloads/storage/node_store.hpp"

namespace strobe {
namespace {

std::uint64_t limit_of(const FullBatchCase& c, const PlacedChunks& chunks) {
  constexpr double gib = 1024.0 * 1024 * 1024;
  if (chunks.fusion_gib > 0) return static_cast<std::uint64_t>(chunks.fusion_gib * gib);
  if (c.request.memory_limit_gib > 0) return static_cast<std::uint64_t>(c.request.memory_limit_gib * gib);
  return c.request.cluster.empty() ? 0 : load_cluster(c.request.cluster)->gpu.memory_bytes;
}

/// The parts of each rank in one block, [P][].
std::vector<std::vector<std::uint32_t>> parts_by_rank(const PlacedChunks& chunks, const CutChunks& parts,
                                                      std::size_t block, int ranks) {
  std::vector<std::vector<std::uint32_t>> of_rank(ranks);
  for (std::size_t part = parts.first[block]; part < parts.first[block + 1]; ++part)
    of_rank[chunks.rank[parts.chunk[part]]].push_back(static_cast<std::uint32_t>(part));
  return of_rank;
}

/// The parts of one rank after the other, ascending.
std::vector<std::uint32_t> parts_in_rank_order(const PlacedChunks& chunks, const CutChunks& parts) {
  std::vector<std::uint32_t> order(parts.chunk.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return chunks.rank[parts.chunk[a]] < chunks.rank[parts.chunk[b]];
  });
  return order;
}

/// Whether all chunks of every rank fit together in each block, whatever they share.
bool surely_fits(const FullBatchCase& c, const StrategyPlan& strategy, std::uint64_t limit) {
  if (limit == 0) return true;
  const PreparedGraph& graph = *c.data.graph;
  const UnitBytes bytes = bytes_of_unit(c.model);
  for (const Run& steps : strategy.blocks) {
    std::vector<std::int64_t> rows(c.ranks(), 0), entries(c.ranks(), 0);
    for (std::int64_t t = steps.first; t < steps.first + steps.count; ++t) {
      for (VertexId v = 0; v < graph.vertices; ++v) {
        const std::size_t row = t * graph.vertices + v;
        const Rank owner = strategy.spatial.owner(v, static_cast<Step>(t));
        if (owner < 0) continue;
        ++rows[owner];
        entries[owner] += graph.row_offsets[row + 1] - graph.row_offsets[row];
      }
    }
    for (std::size_t r = 0; r < rows.size(); ++r)
      if (bytes.of(rows[r] + entries[r], rows[r], entries[r]) > limit) return false;
  }
  return true;
}

/// The loads of some parts, moved out of those of all.
ChunkLoads take(ChunkLoads& all, const std::vector<std::uint32_t>& parts) {
  ChunkLoads some;
  for (const std::uint32_t part : parts) {
    some.cells.push_back(std::move(all.cells[part]));
    some.own.push_back(all.own[part]);
    some.entries.push_back(all.entries[part]);
    if (!all.beyond.empty()) some.beyond.push_back(all.beyond[part]);
  }
  return some;
}

/// How the parts of a rank in one block become units.
enum class Merging : std::uint8_t { each_alone, within_limit, together };

/// The units of parts of chunks.
struct UnitsOfParts {
  std::vector<std::uint32_t> unit;                  // of each part, among the units of its block
  std::vector<std::vector<std::int64_t>> per_rank;  // [blocks][P] numbers of units
};

/// Merges the parts of each rank in each block. Returns the unit of each part, [parts], among those of its rank and
/// block. Where processes plan together, each merges the parts of its own rank, and gets the units of the others.
std::vector<std::uint32_t> merge_within(const FullBatchCase& c, const PlacedChunks& chunks, const CutChunks& parts,
                                        std::uint64_t limit) {
  const ShareHolders holders = c.share_holders();
  const auto merges_here = [&holders](Rank rank) { return !holders.several() || rank == holders.rank; };
  std::vector<bool> wanted;
  for (const std::uint32_t chunk : parts.chunk) wanted.push_back(merges_here(chunks.rank[chunk]));
  std::vector<std::uint32_t> unit(parts.chunk.size(), 0);
  holders.together([&] {
    ChunkLoads loads = loads_of_chunks(*c.data.graph, parts.of_cell, parts.chunk.size(), wanted);
    loads.beyond = chunks.measured_beyond.copy();
    for (std::size_t b = 0; b + 1 < parts.first.size(); ++b) {
      const std::vector<std::vector<std::uint32_t>> of_rank = parts_by_rank(chunks, parts, b, c.ranks());
      for (std::size_t r = 0; r < of_rank.size(); ++r) {
        if (!merges_here(static_cast<Rank>(r))) continue;
        const std::vector<std::uint32_t> merged = fuse_chunks(take(loads, of_rank[r]), bytes_of_unit(c.model), limit);
        for (std::size_t i = 0; i < merged.size(); ++i) unit[of_rank[r][i]] = merged[i];
      }
    }
  });
  return values_of_parts(holders, chunks, parts, std::move(unit));
}

UnitsOfParts merge_parts(const FullBatchCase& c, const PlacedChunks& chunks, const CutChunks& parts, Merging how,
                         std::uint64_t limit) {
  UnitsOfParts units{how == Merging::within_limit ? merge_within(c, chunks, parts, limit)
                                                  : std::vector<std::uint32_t>(parts.chunk.size(), 0),
                     std::vector<std::vector<std::int64_t>>(parts.first.size() - 1)};
  for (std::size_t b = 0; b < units.per_rank.size(); ++b) {
    std::uint32_t first = 0;
    for (const std::vector<std::uint32_t>& of_rank : parts_by_rank(chunks, parts, b, c.ranks())) {
      std::uint32_t count = 0;
      for (std::size_t i = 0; i < of_rank.size(); ++i) {
        std::uint32_t& unit = units.unit[of_rank[i]];
        if (how == Merging::each_alone) unit = static_cast<std::uint32_t>(i);
        count = std::max(count, unit + 1);
        unit += first;
      }
      units.per_rank[b].push_back(count);
      first += count;
    }
  }
  return units;
}

/// A part of the program that computes a rank's cells at once, so that chunks cannot be walked one by one.
struct Obstacle {
  std::string where, why, without;  // the option, the reason, and what to set instead
};

std::optional<Obstacle> obstacle_of(const FullBatchCase& c) {
  bool sums = false;
  for (const LayerShape& layer : c.model.layers) {
    sums = sums || layer.sums.values > 0 || layer.sums.constants_per_rank > 0;
    if (layer.step_by_step) {
      return Obstacle{"/strategy/fusion",
                      "a layer of this model goes step by step. Each of its products needs the results of all cells of "
                      "the step, so walking chunks one by one would save nothing",
                      ""};
    }
  }
  if (sums && !c.model.equations->traits().sums_outside_rows) {
    return Obstacle{"/strategy/fusion", "a spatial stage of this model sums over all cells of a step between its rows",
                    ""};
  }
  if (c.options.overlap > 1) {
    return Obstacle{"/overlap", "overlap cuts a block into slices of whole steps, and a unit of chunks has many steps",
                    "set overlap=1, or "};
  }
  if (c.options.moves_snapshots()) {
    return Obstacle{"/transfer", "snapshots that are moved one by one make one matrix of all chunks",
                    "set transfer=direct, or "};
  }
  return std::nullopt;
}

void refuse(const Obstacle& obstacle, const std::string& instead) {
  throw InvalidRequest(obstacle.where, obstacle.why + "; " + obstacle.without + instead);
}

/// Throws if no epoch can measure chunks, or if the measurement would decide nothing.
void check_measurement(const FullBatchCase& c, const FusionPlan& fusion) {
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
  if (const auto obstacle = obstacle_of(c)) refuse(*obstacle, "use fusion_memory=planned");
}

/// How parts become units. Without a request for units, an obstacle puts all parts of a rank together.
Merging merging_of(const FullBatchCase& c, const StrategyPlan& strategy, FusionPlan& fusion) {
  const PlacedChunks& chunks = *strategy.chunks;
  const bool merges = fusion.kind == "both" || fusion.kind == "spatial";
  const bool fits = merges && chunks.measured_beyond.empty() && surely_fits(c, strategy, fusion.limit_bytes);
  if (fusion.kind == "both" && fits) return Merging::together;
  if (const auto obstacle = obstacle_of(c)) {
    const bool wanted = fusion.kind != "both" || chunks.fusion_gib > 0;
    if (wanted) refuse(*obstacle, "use fusion=both" + std::string(chunks.fusion_gib > 0 ? " without fusion_gib" : ""));
    fusion.note =
        "fusion=both: all chunks of a rank are walked together, whatever the memory limit, because " + obstacle->why;
    return Merging::together;
  }
  if (fits) return Merging::together;
  return merges ? Merging::within_limit : Merging::each_alone;
}

void add_blocks(const FullBatchCase& c, const StrategyPlan& strategy, const CutChunks& parts, UnitsOfParts units,
                FusionPlan& fusion) {
  const PreparedGraph& graph = *c.data.graph;
  std::vector<Column<Rank>> unit_of_step =
      owners_by_step(graph, [&](NodeId node) { return static_cast<Rank>(units.unit[parts.of_cell[node]]); });
  for (std::size_t b = 0; b < strategy.blocks.size(); ++b) {
    const Run& steps = strategy.blocks[b];
    auto block = std::make_shared<BlockUnits>();
    block->per_rank = std::move(units.per_rank[b]);
    const NeedScope scope = block->need_scope(c.list_scope());
    const auto first = std::make_move_iterator(unit_of_step.begin() + steps.first);
    block->cells =
        place_by_step({first, first + steps.count}, graph.vertices, static_cast<int>(block->count()), scope.own);
    block->reads = c.model.any_layer_reads_neighbours() ? spatial_needs(block->cells, graph, steps.first, scope)
                                                        : no_needs(block->cells.ranks, steps.count);
    fusion.by_units_in_space = fusion.by_units_in_space || block->several();
    fusion.blocks.push_back(std::move(block));
  }
}

}  // namespace

template <class T>
std::vector<T> values_of_parts(const ShareHolders& holders, const PlacedChunks& chunks, const CutChunks& parts,
                               std::vector<T> values) {
  if (!holders.several()) return values;
  const std::vector<std::uint32_t> order = parts_in_rank_order(chunks, parts);
  std::vector<T> own;
  for (const std::uint32_t part : order)
    if (chunks.rank[parts.chunk[part]] == holders.rank) own.push_back(values[part]);
  const std::vector<T> all = holders.all_gather(own);
  for (std::size_t i = 0; i < order.size(); ++i) values[order[i]] = all[i];
  return values;
}
template std::vector<std::uint32_t> values_of_parts(const ShareHolders& holders, const PlacedChunks& chunks,
                                                    const CutChunks& parts, std::vector<std::uint32_t> values);
template std::vector<std::uint64_t> values_of_parts(const ShareHolders& holders, const PlacedChunks& chunks,
                                                    const CutChunks& parts, std::vector<std::uint64_t> values);

Run BlockUnits::of(Rank rank) const {
  const auto own = per_rank.begin() + rank;
  return {std::accumulate(per_rank.begin(), own, -left_out), *own};
}

NeedScope BlockUnits::need_scope(const ListScope& scope) const {
  return scope.others_as_sums ? NeedScope(of(scope.rank), false) : NeedScope();
}

PieceScope BlockUnits::piece_scope(const ListScope& scope) const {
  PieceScope pieces;
  if (scope.others_as_sums) pieces.needs = NeedScope(of(scope.rank), true);
  for (std::size_t rank = 0; rank < per_rank.size(); ++rank)
    pieces.rank_of_owner.insert(pieces.rank_of_owner.end(), static_cast<std::size_t>(per_rank[rank]),
                                static_cast<Rank>(rank));
  return pieces;
}

std::int64_t BlockUnits::count() const { return std::accumulate(per_rank.begin(), per_rank.end(), std::int64_t{0}); }

bool BlockUnits::several() const {
  return std::any_of(per_rank.begin(), per_rank.end(), [](std::int64_t units) { return units > 1; });
}

std::shared_ptr<const BlockUnits> FusionPlan::of_block(std::size_t block) const {
  return blocks.empty() ? nullptr : blocks[block];
}

std::int64_t FusionPlan::unit_count() const {
  if (blocks.empty()) return std::accumulate(units_per_rank.begin(), units_per_rank.end(), std::int64_t{0});
  std::int64_t sum = 0;
  for (const auto& block : blocks) sum += block->count();
  return sum;
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

namespace {

void add_units(const FullBatchCase& c, const StrategyPlan& strategy, Merging how, ProcessorLaps& laps,
               FusionPlan& fusion) {
  const PlacedChunks& chunks = *strategy.chunks;
  const CutChunks parts = cut_chunks(*c.data.graph, chunks.of_cell, chunks.cells.size(), strategy.blocks);
  UnitsOfParts units = merge_parts(c, chunks, parts, how, fusion.limit_bytes);
  fusion.planning_seconds = laps.lap();
  for (const auto& per_rank : units.per_rank) {
    for (std::size_t r = 0; r < per_rank.size(); ++r)
      fusion.units_per_rank[r] = std::max(fusion.units_per_rank[r], per_rank[r]);
  }
  const bool several = std::any_of(fusion.units_per_rank.begin(), fusion.units_per_rank.end(),
                                   [](std::int64_t count) { return count > 1; });
  if (several || fusion.by_units_in_time) add_blocks(c, strategy, parts, std::move(units), fusion);
}

}  // namespace

std::shared_ptr<const FusionPlan> plan_fusion(const FullBatchCase& c, const StrategyPlan& strategy) {
  if (strategy.chunks == nullptr) return nullptr;
  const PlacedChunks& chunks = *strategy.chunks;
  auto fusion = std::make_shared<FusionPlan>();
  fusion->kind = chunks.fusion;
  fusion->limit_bytes = limit_of(c, chunks);
  fusion->reruns = chunks.rerun_units;
  fusion->to_measure = chunks.fusion_memory == "measured" && chunks.measured_beyond.empty();
  if (fusion->to_measure) check_measurement(c, *fusion);
  ProcessorLaps laps;
  const Merging how = merging_of(c, strategy, *fusion);
  fusion->by_units_in_time = fusion->kind == "none" || fusion->kind == "spatial";
  fusion->units_per_rank.assign(c.ranks(), 0);
  if (how == Merging::together && !fusion->by_units_in_time) {
    for (const Rank rank : chunks.rank) fusion->units_per_rank[rank] = 1;
    fusion->planning_seconds = laps.lap();
    return fusion;
  }
  if (c.node == nullptr) {
    add_units(c, strategy, how, laps, *fusion);
  } else {
    const BoundedReading bound = c.node->bounded_reading();  // units of cells that do not fit lie in files
    add_units(c, strategy, how, laps, *fusion);
  }
  return fusion;
}

}  // namespace strobe
