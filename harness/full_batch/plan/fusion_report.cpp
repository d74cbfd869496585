// Counts what walking chunks in units costs, from the plan.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/full_batch/inputs/sequence_packing.hpp"
#include "harness/full_batch/inputs/visible_cells.hpp"
#include "harness/full_batch/plan/full_batch_plan.hpp"

namespace strobe {
namespace {

/// Cells that owners read in addition to their own, [P].
std::vector<std::int64_t> cells_read(const HaloNeeds& needs, int owners) {
  std::vector<std::int64_t> read;
  for (Rank owner = 0; owner < owners; ++owner) read.push_back(halo_offsets(needs, owner).back());
  return read;
}

std::uint64_t loaded_bytes(const FullBatchPlan& plan, const BlockPlan& block) {
  const bool by_units = block.units != nullptr;
  const Placement& owners = by_units ? block.units->cells : block.spatial;
  std::int64_t rows = 0, loaded = 0, matrices = owners.ranks;
  const auto read = cells_read(by_units ? block.units->reads : block.spatial_needs, owners.ranks);
  for (Rank owner = 0; owner < owners.ranks; ++owner) {
    rows += owners.rows(owner);
    loaded += owners.rows(owner) + read[owner];
  }
  for (Rank r = 0; by_units && r < plan.ranks(); ++r) matrices += block.units->of(r).count == 0 ? 1 : 0;
  std::int64_t entries = 0;
  const PreparedGraph& graph = *plan.data.graph;
  for (std::int64_t t = block.first_step; t < block.first_step + block.steps(); ++t)
    entries += graph.step_nonzeros(static_cast<Step>(t));
  const std::uint64_t element = plan.model.fp64 ? 8 : 4;
  std::uint64_t bytes = static_cast<std::uint64_t>(rows + matrices) * sizeof(std::int64_t) +
                        static_cast<std::uint64_t>(entries) * (sizeof(std::int32_t) + element);
  for (const LayerShape& layer : plan.model.layers)
    bytes += layer.reads_neighbours ? static_cast<std::uint64_t>(loaded * layer.input_width) * element : 0;
  return bytes;
}

void add_bins(const std::vector<std::int32_t>& lengths, bool padded, StageRows& counts) {
  const SequencePacking bins = padded ? pad_sequences(lengths) : pack_sequences(lengths);
  counts.bin_rows += static_cast<std::uint64_t>(bins.rows());
  counts.filled_rows += static_cast<std::uint64_t>(bins.rows());
  for (const std::int32_t length : lengths) counts.filled_rows -= static_cast<std::uint64_t>(length);
}

void add_recurrence(const PackedPlan& packed, StageRows& counts) {
  for (const RoundPieces& round : packed.rounds) {
    for (const std::vector<SequencePiece>& pieces : round) {
      std::map<std::int32_t, std::vector<std::int32_t>> lengths;
      for (const SequencePiece& piece : pieces) lengths[piece.unit].push_back(piece.steps);
      for (const auto& [unit, of_unit] : lengths) add_bins(of_unit, packed.units != nullptr, counts);
    }
  }
}

void add_attention(const PackedPlan& packed, StageRows& counts) {
  const bool by_units = packed.units != nullptr;
  const Placement& owners = by_units ? packed.unit_cells : packed.placement;
  const int count = by_units ? packed.units->cells.ranks : owners.ranks;
  for (Rank owner = 0; owner < count; ++owner) {
    if (owners.rows(owner) == 0) continue;
    const VisibleCells cells = visible_cells(owners, by_units ? packed.unit_needs : packed.needs, owner);
    add_bins(sequences_of(cells).lengths, by_units, counts);
  }
}

}  // namespace

StageRows planned_stage_rows(const FullBatchPlan& plan) {
  StageRows counts;
  for (const BlockPlan& block : plan.blocks) {
    if (plan.model.any_layer_reads_neighbours()) counts.loaded_bytes += loaded_bytes(plan, block);
    for (std::size_t l = 0; l < plan.model.layers.size(); ++l) {
      if (block.trained[l] == nullptr) continue;
      const TemporalNeed need = plan.model.layers[l].need;
      if (need == TemporalNeed::recurrent) add_recurrence(*block.trained[l], counts);
      if (need == TemporalNeed::all) add_attention(*block.trained[l], counts);
    }
  }
  return counts;
}

Json describe_fusion(const FullBatchPlan& plan) {
  const FusionPlan& fusion = *plan.fusion;
  const StageRows counts = planned_stage_rows(plan);
  Json described{{"fusion", fusion.kind},
                 {"limit_bytes", fusion.limit_bytes == 0 ? Json() : Json(fusion.limit_bytes)},
                 {"fusing_seconds", fusion.planning_seconds},
                 {"units_per_rank", fusion.units_per_rank},
                 {"loaded_bytes_per_pass", counts.loaded_bytes},
                 {"padded_share", counts.padded_share()}};
  return described;
}

std::string fusion_note(const FusionPlan* fusion) {
  if (fusion == nullptr) return "";
  std::string idle;
  if (fusion->reruns && !fusion->by_units_in_space)
    idle =
        "rerun_units has no effect: each rank computes its spatial stages at once; set fusion_gib, or fusion=temporal";
  if (fusion->blocks.empty()) return fusion->note + (fusion->note.empty() || idle.empty() ? "" : "; ") + idle;
  const std::vector<std::int64_t>& units = fusion->units_per_rank;
  const std::string blocks =
      fusion->blocks.size() > 1 ? fmt::format(" in {} blocks of steps", fusion->blocks.size()) : "";
  const char* const where = fusion->blocks.size() > 1 ? "on a rank in a block" : "on a rank";
  return fmt::format("fusion={}: {} units of chunks{}, at most {} {}, are walked one by one{}", fusion->kind,
                     fusion->unit_count(), blocks, *std::max_element(units.begin(), units.end()), where,
                     idle.empty() ? "" : "; " + idle);
}

}  // namespace strobe
