// Cuts a block into slices. Invariants: every cell is in exactly one slice, the same for all ranks that share its step.
// All ranks have the same number of slices, some of them without rows. The slices together send what the block sends.
#include "harness/full_batch/plan/overlap_plan.hpp"

#include <algorithm>

#include "core/errors.hpp"
#include "harness/full_batch/exchange/needed_rows.hpp"
#include "harness/full_batch/plan/block_plan.hpp"
#include "harness/full_batch/plan/full_batch_case.hpp"

namespace strobe {
namespace {

/// Throws if the layers, or the transfer of inputs, do not allow slices.
void check_cuttable(const FullBatchCase& c) {
  if (c.options.transfer != "direct") {
    throw InvalidRequest("/overlap",
                         "snapshots that are moved one by one make the matrix of a whole block, not of its slices; "
                         "use transfer=direct or overlap=1");
  }
  for (const LayerShape& layer : c.model.layers) {
    if (layer.step_by_step || layer.need == TemporalNeed::weights_only) {
      throw InvalidRequest("/overlap",
                           "a layer of this model goes from step to step in its spatial stage, which cannot be cut "
                           "into slices; use overlap=1");
    }
  }
}

/// Throws if a rank's slices do not follow each other in its rows.
void check_contiguous(const Placement& placement, const std::vector<Rank>& slice_of) {
  for (Rank r = 0; r < placement.ranks; ++r) {
    Rank last = 0;
    for (Step t = 0; t < placement.steps(); ++t) {
      if (placement.step_rows(r, t) == 0) continue;
      if (slice_of[t] < last) {
        throw InvalidRequest(
            "/overlap",
            "ranks share snapshots with different ranks over time under this strategy, so their steps cannot be "
            "cut in the same way; use overlap=1");
      }
      last = slice_of[t];
    }
  }
}

/// The slice of each step. Each rank's steps are cut into even contiguous shares. A shared step counts for its first
/// owner.
std::vector<Rank> slice_of_steps(const Placement& placement, std::int64_t wanted, std::int64_t& slices) {
  std::vector<std::vector<std::size_t>> held(placement.ranks);
  for (Step t = 0; t < placement.steps(); ++t) {
    Rank first = -1;
    placement.map(t).for_owners([&first](Rank rank, std::int64_t) { first = first < 0 ? rank : first; });
    if (first >= 0) held[first].push_back(static_cast<std::size_t>(t));
  }
  std::size_t most = 0;
  for (const auto& steps : held) most = std::max(most, steps.size());
  slices = std::min(wanted, static_cast<std::int64_t>(most));
  std::vector<Rank> slice(placement.steps(), 0);
  for (const auto& steps : held) {
    const std::vector<Rank> share =
        contiguous_owners(static_cast<std::int64_t>(steps.size()), static_cast<int>(slices));
    for (std::size_t i = 0; i < steps.size(); ++i) slice[steps[i]] = share[i];
  }
  return slice;
}

/// `placement` without owners in the steps of other slices, and with only the maps that remain.
Placement steps_of_slice(const Placement& placement, const std::vector<Rank>& slice_of, Rank slice) {
  Placement part;
  part.ranks = placement.ranks;
  part.vertices = placement.vertices;
  part.maps = {std::make_shared<VertexMap>()};  // no owner
  std::vector<std::int32_t> renumbered(placement.maps.size(), -1);
  for (std::size_t t = 0; t < slice_of.size(); ++t) {
    if (slice_of[t] != slice) {
      part.map_of_step.push_back(0);
      continue;
    }
    std::int32_t& map = renumbered[placement.map_of_step[t]];
    if (map < 0) {
      map = static_cast<std::int32_t>(part.maps.size());
      part.maps.push_back(placement.maps[placement.map_of_step[t]]);
    }
    part.map_of_step.push_back(map);
  }
  return part;
}

HaloNeeds needs_of_slice(HaloNeeds needs, const std::vector<Rank>& slice_of, Rank slice) {
  for (std::size_t t = 0; t < slice_of.size(); ++t) {
    if (slice_of[t] == slice) continue;
    for (auto& rank : needs.vertices) {
      if (!rank.empty()) rank[t].clear();
    }
    for (auto& rank : needs.counted) {
      if (!rank.empty()) rank[t] = 0;
    }
  }
  return needs;
}

ExchangePlan no_exchange(int ranks) {
  ExchangePlan plan;
  plan.rank_count = ranks;
  plan.identity = true;
  return plan;
}

}  // namespace

std::vector<SlicePlan> derive_slices(const FullBatchCase& c, const BlockPlan& block, const ListScope& scope) {
  const bool walks = std::any_of(c.model.layers.begin(), c.model.layers.end(), walks_timelines);
  if (c.options.overlap == 1 || !walks) return {};
  if (block.to_temporal.total_rows() == 0 && block.to_spatial.total_rows() == 0) return {};
  check_cuttable(c);
  std::int64_t count = 0;
  const std::vector<Rank> slice_of = slice_of_steps(block.spatial, c.options.overlap, count);
  check_contiguous(block.spatial, slice_of);
  std::vector<SlicePlan> slices;
  for (Rank s = 0; count > 1 && s < count; ++s) {
    SlicePlan& slice = slices.emplace_back();
    slice.spatial = steps_of_slice(block.spatial, slice_of, s);
    const bool exchanges = !block.spatial_halo.identity;
    // The block's sums of rows that other ranks exchange are not by step.
    slice.needs = scope.others_as_sums && exchanges
                      ? spatial_needs(slice.spatial, *c.data.graph, block.first_step, NeedScope(scope))
                      : needs_of_slice(block.spatial_needs, slice_of, s);
    slice.halo = exchanges ? halo(slice.spatial, slice.needs, scope) : no_exchange(c.ranks());
    slice.to_temporal = redistribute(slice.spatial, block.temporal, scope);
    // After the last layer there is no compute to overlap with.
    if (c.model.layers.size() > 1) slice.to_spatial = reversed(slice.to_temporal);
  }
  return slices;
}

std::string overlap_note(const FullBatchCase& c, const std::vector<BlockPlan>& blocks) {
  const auto in_slices = [](const BlockPlan& block) { return !block.slices.empty(); };
  if (c.options.overlap == 1 || std::any_of(blocks.begin(), blocks.end(), in_slices)) return "";
  return "overlap=" + std::to_string(c.options.overlap) +
         " has no effect: no block has a redistribution between ranks and two steps on a rank";
}

}  // namespace strobe
