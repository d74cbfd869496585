#include "harness/full_batch/plan/own_part.hpp"

#include <malloc.h>

#include <map>

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
    share_columns(node_, owners_);
    share_columns(node_, indices_);
  }

 private:
  template <class Lists>
  void drop_others(Lists& of_ranks) const {
    for (std::size_t r = 0; r < of_ranks.size(); ++r)
      if (static_cast<Rank>(r) != rank_) of_ranks[r] = {};
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
  void cut(HaloNeeds& needs) const { drop_others(needs.vertices); }
  void cut(PlacedSamples& placed) {
    for (std::size_t r = 0; r < placed.ranks.size(); ++r) {
      LocalSamples& local = placed.ranks[r];
      indices_.push_back(&local.index);
      if (static_cast<Rank>(r) == rank_) continue;
      local.rows.assign(local.rows.size(), {});
      local.label = {}, local.value = {}, local.weight = {};
    }
  }
  /// Nothing asks where training samples of other ranks are in the task's list.
  void cut_trained(PlacedSamples& placed) const {
    for (std::size_t r = 0; r < placed.ranks.size(); ++r) {
      const std::int64_t count = placed.ranks[r].count();
      if (static_cast<Rank>(r) != rank_) placed.ranks[r] = {}, placed.ranks[r].counted = count;
    }
  }
  std::shared_ptr<const PackedPlan> cut(const std::shared_ptr<const PackedPlan>& packed) {
    if (packed == nullptr || packed->units != nullptr) return packed;
    std::shared_ptr<const PackedPlan>& own = packed_[packed];
    if (own == nullptr) {
      auto made = std::make_shared<PackedPlan>(*packed);
      cut(made->placement);
      for (RoundPieces& round : made->rounds) drop_others(round);
      cut(made->needs);
      own = std::move(made);
    }
    return own;
  }
  void cut(BlockPlan& block) {
    cut(block.spatial), cut(block.temporal), cut(block.spatial_needs);
    for (SlicePlan& slice : block.slices) cut(slice.spatial), cut(slice.needs);
    for (auto& packed : block.packed) packed = cut(packed);
    for (std::vector<StepSupport>& support : block.supports)
      for (StepSupport& step : support) cut(step.placement), cut(step.needs);
    cut_trained(block.train);
  }

  Rank rank_;
  const NodeStore* node_;
  std::map<std::shared_ptr<const VertexMap>, std::shared_ptr<VertexMap>> maps_;
  std::map<std::shared_ptr<const PackedPlan>, std::shared_ptr<const PackedPlan>> packed_;
  std::vector<Column<Rank>*> owners_;  // of maps_, in the order of the plan, which is the same in all processes
  std::vector<Column<std::int64_t>*> indices_;
};

}  // namespace

void keep_own_part(FullBatchPlan& plan, Rank rank, const NodeStore* node) {
  OwnPart(rank, node).cut(plan);
  malloc_trim(0);  // gives the freed lists back to the system
}

}  // namespace strobe
