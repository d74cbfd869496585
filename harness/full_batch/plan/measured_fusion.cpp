#include "harness/full_batch/plan/measured_fusion.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/placement/chunks/chunk_fusion.hpp"
#include "harness/placement/chunks/placed_chunks.hpp"

namespace strobe {
namespace {

/// Bytes that each part takes according to its sizes, [parts].
std::vector<std::uint64_t> planned_bytes_of(const FullBatchPlan& plan, const CutChunks& parts) {
  const ShareHolders holders = plan.share_holders();
  const PlacedChunks& chunks = *plan.strategy.chunks;
  std::vector<bool> wanted;
  for (const std::uint32_t chunk : parts.chunk)
    wanted.push_back(!holders.several() || chunks.rank[chunk] == holders.rank);
  std::vector<std::uint64_t> planned;
  holders.together([&] {
    const ChunkLoads loads = loads_of_chunks(*plan.data.graph, parts.of_cell, parts.chunk.size(), wanted);
    const UnitBytes bytes = bytes_of_unit(plan.model);
    for (std::size_t c = 0; c < loads.cells.size(); ++c)
      planned.push_back(bytes.of(static_cast<std::int64_t>(loads.cells[c].size()), loads.own[c], loads.entries[c]));
  });
  return values_of_parts(holders, chunks, parts, std::move(planned));
}

/// Whether the epoch of plan_chunks_alone walked each part by itself, [parts]: only in blocks in which any rank has
/// several.
std::vector<bool> measured_parts(const FullBatchPlan& plan, const CutChunks& parts) {
  const auto& rank = plan.strategy.chunks->rank;
  std::vector<bool> measured;
  for (std::size_t b = 0; b + 1 < parts.first.size(); ++b) {
    std::vector<std::int64_t> of_rank(plan.ranks(), 0);
    for (std::size_t part = parts.first[b]; part < parts.first[b + 1]; ++part) ++of_rank[rank[parts.chunk[part]]];
    measured.resize(parts.first[b + 1], *std::max_element(of_rank.begin(), of_rank.end()) > 1);
  }
  return measured;
}

std::shared_ptr<FullBatchPlan> lay_out_with(const FullBatchPlan& plan, PlacedChunks chunks) {
  StrategyPlan strategy = plan.strategy;
  strategy.chunks = std::make_shared<const PlacedChunks>(std::move(chunks));
  return lay_out(plan, std::move(strategy));
}

}  // namespace

std::shared_ptr<FullBatchPlan> plan_chunks_alone(const FullBatchPlan& plan) {
  PlacedChunks chunks = *plan.strategy.chunks;
  chunks.fusion = chunks.fusion == "both" ? "temporal" : "none";
  chunks.fusion_memory = "planned";
  return lay_out_with(plan, std::move(chunks));
}

std::shared_ptr<FullBatchPlan> fuse_as_measured(const FullBatchPlan& plan,
                                                const std::vector<std::vector<std::uint64_t>>& bytes) {
  PlacedChunks chunks = *plan.strategy.chunks;
  const CutChunks parts = cut_chunks(*plan.data.graph, chunks.of_cell, chunks.cells.size(), plan.strategy.blocks);
  const std::vector<std::uint64_t> planned = planned_bytes_of(plan, parts);
  const std::vector<bool> measured_alone = measured_parts(plan, parts);
  std::vector<std::size_t> next(bytes.size(), 0);  // each rank's next part
  std::vector<std::int64_t> beyond(planned.size(), 0);
  double least = 0, most = 0;
  std::uint64_t largest = 0;
  for (std::size_t c = 0; c < planned.size(); ++c) {
    const std::size_t rank = chunks.rank[parts.chunk[c]];
    if (bytes[rank].empty() || !measured_alone[c]) continue;
    const std::uint64_t measured = bytes[rank].at(next[rank]++);
    beyond[c] = static_cast<std::int64_t>(measured) - static_cast<std::int64_t>(planned[c]);
    const double factor = static_cast<double>(measured) / static_cast<double>(planned[c]);
    least = least == 0 ? factor : std::min(least, factor);
    most = std::max(most, factor);
    largest = std::max(largest, measured);
  }
  chunks.measured_beyond = std::move(beyond);
  chunks.measured_note =
      "fusion_memory=measured: no rank has several chunks in a block of steps, so there was nothing to measure";
  if (largest > 0)
    chunks.measured_note = fmt::format(
        "fusion_memory=measured: chunks took {:.2f} to {:.2f} times their planned bytes, at most {} bytes, in an epoch "
        "before training whose updates were discarded; by planned bytes they would be {} units",
        least, most, largest, plan.fusion->unit_count());
  return lay_out_with(plan, std::move(chunks));
}

}  // namespace strobe
