// Returns the chunks of a block. Invariants: every cell is in exactly one chunk, the same for all ranks that share its
// step; all ranks have the same number of chunks, some of them without rows; what the chunks send together is what the
// block sends.
#include "harness/plan/overlap_plan.hpp"

#include <algorithm>

#include "core/errors.hpp"
#include "harness/plan/planned_case.hpp"

namespace strobe {
namespace {

/// Throws when the layers, or the way in which inputs come, do not allow chunks.
void check_cuttable(const PlannedCase& plan) {
  if (plan.request.transfer != "direct") {
    throw InvalidRequest("/overlap",
                         "snapshots that are moved one by one make the matrix of a whole block, not of its chunks; "
                         "use transfer=direct or overlap=1");
  }
  for (const LayerShape& layer : plan.layers) {
    if (layer.step_by_step || layer.need == TemporalNeed::weights_only) {
      throw InvalidRequest("/overlap",
                           "a layer of this model goes from step to step in its spatial stage, which cannot be cut "
                           "into chunks; use overlap=1");
    }
  }
}

/// Throws when a rank's chunks do not follow each other in its rows.
void check_contiguous(const Placement& placement, const std::vector<Rank>& chunk_of) {
  for (Rank r = 0; r < placement.ranks; ++r) {
    Rank last = 0;
    for (Step t = 0; t < placement.steps(); ++t) {
      if (placement.step_rows(r, t) == 0) continue;
      if (chunk_of[static_cast<std::size_t>(t)] < last) {
        throw InvalidRequest("/overlap",
                             "ranks share snapshots with changing ranks under this strategy, so that their steps "
                             "cannot be cut alike; use overlap=1");
      }
      last = chunk_of[static_cast<std::size_t>(t)];
    }
  }
}

/// The chunk of each step: even contiguous shares of the steps that the first rank among its owners holds as such.
std::vector<Rank> chunk_of_steps(const Placement& placement, std::int64_t wanted, std::int64_t& chunks) {
  std::vector<std::vector<std::size_t>> held(static_cast<std::size_t>(placement.ranks));
  for (Step t = 0; t < placement.steps(); ++t) {
    const std::vector<std::int64_t>& count = placement.map(t).owned_count;
    const auto first = std::find_if(count.begin(), count.end(), [](std::int64_t rows) { return rows > 0; });
    if (first != count.end()) {
      held[static_cast<std::size_t>(first - count.begin())].push_back(static_cast<std::size_t>(t));
    }
  }
  std::size_t most = 0;
  for (const auto& steps : held) most = std::max(most, steps.size());
  chunks = std::min(wanted, static_cast<std::int64_t>(most));
  std::vector<Rank> chunk(static_cast<std::size_t>(placement.steps()), 0);
  for (const auto& steps : held) {
    const std::vector<Rank> share =
        contiguous_owners(static_cast<std::int64_t>(steps.size()), static_cast<int>(chunks));
    for (std::size_t i = 0; i < steps.size(); ++i) chunk[steps[i]] = share[i];
  }
  return chunk;
}

std::shared_ptr<const VertexMap> nobody(int ranks) {
  auto map = std::make_shared<VertexMap>();
  map->owned.resize(static_cast<std::size_t>(ranks));
  map->owned_count.resize(static_cast<std::size_t>(ranks), 0);
  return map;
}

/// `placement` with nobody in the steps of other chunks, and only the maps that are left.
Placement steps_of_chunk(const Placement& placement, const std::vector<Rank>& chunk_of, Rank chunk) {
  Placement part;
  part.ranks = placement.ranks;
  part.vertices = placement.vertices;
  part.maps = {nobody(placement.ranks)};
  std::vector<std::int32_t> renumbered(placement.maps.size(), -1);
  for (std::size_t t = 0; t < chunk_of.size(); ++t) {
    if (chunk_of[t] != chunk) {
      part.map_of_step.push_back(0);
      continue;
    }
    std::int32_t& map = renumbered[static_cast<std::size_t>(placement.map_of_step[t])];
    if (map < 0) {
      map = static_cast<std::int32_t>(part.maps.size());
      part.maps.push_back(placement.maps[static_cast<std::size_t>(placement.map_of_step[t])]);
    }
    part.map_of_step.push_back(map);
  }
  return part;
}

HaloNeeds needs_of_chunk(HaloNeeds needs, const std::vector<Rank>& chunk_of, Rank chunk) {
  for (std::size_t t = 0; t < chunk_of.size(); ++t) {
    if (chunk_of[t] == chunk) continue;
    for (auto& rank : needs.vertices) rank[t].clear();
    for (auto& rank : needs.counted) rank[t] = 0;
  }
  return needs;
}

ExchangePlan no_exchange(int ranks) {
  ExchangePlan plan;
  plan.identity = true;
  plan.ranks.resize(static_cast<std::size_t>(ranks));
  return plan;
}

}  // namespace

std::vector<ChunkPlan> derive_chunks(const PlannedCase& plan, const BlockPlan& block, const ListScope& scope) {
  const bool walks = std::any_of(plan.layers.begin(), plan.layers.end(), walks_timelines);
  if (plan.request.overlap == 1 || !walks) return {};
  if (block.to_temporal.total_rows() == 0 && block.to_spatial.total_rows() == 0) return {};
  check_cuttable(plan);
  std::int64_t count = 0;
  const std::vector<Rank> chunk_of = chunk_of_steps(block.spatial, plan.request.overlap, count);
  check_contiguous(block.spatial, chunk_of);
  std::vector<ChunkPlan> chunks;
  for (Rank c = 0; count > 1 && c < count; ++c) {
    ChunkPlan& chunk = chunks.emplace_back();
    chunk.spatial = steps_of_chunk(block.spatial, chunk_of, c);
    chunk.needs = needs_of_chunk(block.spatial_needs, chunk_of, c);
    chunk.halo = block.spatial_halo.identity ? no_exchange(plan.ranks()) : halo(chunk.spatial, chunk.needs, scope);
    chunk.to_temporal = redistribute(chunk.spatial, block.temporal, scope);
    // Behind the last layer there is nothing to compute beside it.
    if (plan.layers.size() > 1) chunk.to_spatial = redistribute(block.temporal, chunk.spatial, scope);
  }
  return chunks;
}

void note_overlap(PlannedCase& plan) {
  const auto in_chunks = [](const BlockPlan& block) { return !block.chunks.empty(); };
  if (plan.request.overlap == 1 || std::any_of(plan.blocks.begin(), plan.blocks.end(), in_chunks)) return;
  plan.notes.push_back("overlap=" + std::to_string(plan.request.overlap) +
                       " has no effect: no block has a redistribution between ranks and two steps on a rank");
}

}  // namespace strobe
