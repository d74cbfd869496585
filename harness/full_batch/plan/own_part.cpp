#include "harness/full_batch/plan/own_part.hpp"

#include <malloc.h>

#include <map>
#include <tuple>

#include "harness/placement/chunks/placed_chunks.hpp"
#include "workloads/partitioners/load_aware.hpp"
#include "workloads/storage/shared_columns.hpp"

namespace strobe {
namespace {

/// Placements of a plan share maps, also afterwards.
class OwnPart {
 public:
  OwnPart(Rank rank, const NodeStore* node) : rank_(rank), node_(node) {}

  void cut(FullBatchPlan& plan) {
    cut(plan.strategy.spatial), cut(plan.strategy.temporal);
    for (BlockPlan& block : plan.blocks) cut(block);
    for (PlacedSamples* placed : {&plan.evaluation.test, &plan.evaluation.validation}) cut(*placed);
    plan.fusion = cut(plan.fusion);
    share_columns(node_, owners_);
    share(plan.strategy);
  }

 private:
  /// A list that `= {}` empties would keep its memory.
  template <class... Lists>
  static void drop(Lists&... lists) {
    ((lists = Lists()), ...);
  }
  template <class Lists>
  void drop_others(Lists& of_ranks) const {
    for (std::size_t r = 0; r < of_ranks.size(); ++r)
      if (static_cast<Rank>(r) != rank_) drop(of_ranks[r]);
  }

  void cut(Placement& placement) {
    for (auto& map : placement.maps) {
      if (map->single >= 0) continue;  // a constant
      std::shared_ptr<VertexMap>& own = maps_[map];
      if (own == nullptr) {
        own = std::make_shared<VertexMap>();
        *own = {map->single, map->owner, std::vector<std::vector<Run>>(map->owned.size()), map->owned_count};
        if (!map->owned.empty()) own->owned[rank_] = map->owned[rank_];
        owners_.push_back(&own->owner);
      }
      map = own;
    }
  }
  void cut(HaloNeeds& needs) const { drop_others(needs.vertices), drop(needs.beyond); }
  void cut(PlacedSamples& placed) const {
    for (std::size_t r = 0; r < placed.ranks.size(); ++r) {
      const std::int64_t count = placed.ranks[r].count();
      if (static_cast<Rank>(r) != rank_) placed.ranks[r] = {}, placed.ranks[r].counted = count;
    }
  }
  /// Copies own lists only. Copies of all lists would exist for a moment, next to the lists themselves.
  std::shared_ptr<const PackedPlan> cut(const std::shared_ptr<const PackedPlan>& whole) {
    if (whole == nullptr) return nullptr;
    std::shared_ptr<const PackedPlan>& own = packed_[whole];
    if (own != nullptr) return own;
    const auto& [placement, earlier, rounds, handover, state, needs, halo, units, unit_cells, unit_needs] = *whole;
    auto made = std::make_shared<PackedPlan>(
        PackedPlan{placement, earlier, {}, handover, state, own_of(needs), halo, cut(units), {}, {}});
    cut(made->placement);
    for (const RoundPieces& round : rounds) made->rounds.push_back(own_of(round));
    if (units != nullptr) {
      made->unit_cells = part_of(unit_cells, units->of(rank_));
      made->unit_needs = part_of(unit_needs, units->of(rank_));
    }
    return own = std::move(made);
  }
  std::shared_ptr<const FusionPlan> cut(const std::shared_ptr<const FusionPlan>& whole) {
    if (whole == nullptr) return nullptr;
    auto own = std::make_shared<FusionPlan>(*whole);
    for (auto& units : own->blocks) units = cut(units);
    return own;
  }
  /// Keeps the units of this rank, which are numbered from 0 then.
  std::shared_ptr<const BlockUnits> cut(const std::shared_ptr<const BlockUnits>& whole) {
    if (whole == nullptr) return nullptr;
    std::shared_ptr<const BlockUnits>& own = units_[whole];
    if (own != nullptr) return own;
    const Run kept = whole->of(rank_);
    return own = std::make_shared<const BlockUnits>(BlockUnits{whole->per_rank, part_of(whole->cells, kept),
                                                               part_of(whole->reads, kept),
                                                               whole->left_out + kept.first});
  }
  /// The list of this rank, among empty ones of the others.
  template <class Lists>
  Lists own_of(const Lists& of_ranks) const {
    Lists own(of_ranks.size());
    if (!own.empty()) own[rank_] = of_ranks[rank_];
    return own;
  }
  HaloNeeds own_of(const HaloNeeds& needs) const { return {own_of(needs.vertices), needs.counted, needs.steps, {}}; }
  static HaloNeeds part_of(const HaloNeeds& needs, const Run& units) {
    const auto some = [&units](const auto& lists) {
      if (lists.empty()) return lists;
      const auto first = lists.begin() + units.first;
      return std::decay_t<decltype(lists)>(first, first + units.count);
    };
    return {some(needs.vertices), some(needs.counted), needs.steps, {}};
  }
  Placement part_of(const Placement& units, const Run& kept) {
    Placement own{static_cast<int>(kept.count), units.vertices, {}, units.map_of_step};
    for (const auto& map : units.maps) own.maps.push_back(part_of(map, kept));
    return own;
  }
  std::shared_ptr<const VertexMap> part_of(const std::shared_ptr<const VertexMap>& map, const Run& kept) {
    std::shared_ptr<VertexMap>& own = unit_maps_[{map, kept.first, kept.count}];
    if (own != nullptr) return own;
    own = std::make_shared<VertexMap>();
    for (std::int64_t unit = kept.first; unit < kept.first + kept.count; ++unit) {
      own->owned.push_back(map->runs_of(static_cast<Rank>(unit)));
      own->owned_count.push_back(map->count_of(static_cast<Rank>(unit)));
    }
    return own;
  }
  /// Shares the arrays of all ranks that reports read: chunks of cells, and loads of vertices.
  void share(StrategyPlan& strategy) const {
    if (strategy.chunks != nullptr) {
      auto chunks = std::make_shared<PlacedChunks>(*strategy.chunks);
      share_columns<std::uint32_t>(node_, {&chunks->of_cell});
      share_columns<std::int64_t>(node_, {&chunks->cells, &chunks->measured_beyond});
      share_columns<Rank>(node_, {&chunks->rank});
      strategy.chunks = std::move(chunks);
    }
    if (strategy.loads != nullptr) strategy.loads = shared(*strategy.loads, node_);
  }
  void cut(BlockPlan& block) {
    cut(block.spatial), cut(block.temporal), cut(block.spatial_needs);
    for (SlicePlan& slice : block.slices) cut(slice.spatial), cut(slice.needs);
    for (auto& packed : block.packed) packed = cut(packed);
    block.units = cut(block.units);
    for (auto& packed : block.trained) packed = cut(packed);
    for (std::vector<StepSupport>& support : block.supports)
      for (StepSupport& step : support) cut(step.placement), cut(step.needs);
    cut(block.train);
  }

  Rank rank_;
  const NodeStore* node_;
  std::map<std::shared_ptr<const VertexMap>, std::shared_ptr<VertexMap>> maps_;
  std::map<std::shared_ptr<const PackedPlan>, std::shared_ptr<const PackedPlan>> packed_;
  std::map<std::shared_ptr<const BlockUnits>, std::shared_ptr<const BlockUnits>> units_;
  /// Maps of units, by the whole map and the run of kept units.
  std::map<std::tuple<std::shared_ptr<const VertexMap>, std::int64_t, std::int64_t>, std::shared_ptr<VertexMap>>
      unit_maps_;
  std::vector<Column<Rank>*> owners_;  // of maps_, in the order of the plan, which is the same in all processes
};

}  // namespace

std::shared_ptr<const VertexLoads> shared(const VertexLoads& loads, const NodeStore* node) {
  auto views = std::make_shared<VertexLoads>(loads);
  share_columns<double>(node, {&views->load});
  share_columns<std::int32_t>(node, {&views->group});
  return views;
}

void keep_own_part(FullBatchPlan& plan, Rank rank, const NodeStore* node) {
  OwnPart(rank, node).cut(plan);
  malloc_trim(0);  // gives the freed lists back to the system
}

}  // namespace strobe
