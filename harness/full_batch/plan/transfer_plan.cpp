#include "harness/full_batch/plan/transfer_plan.hpp"

#include <fmt/format.h>

#include "core/errors.hpp"
#include "workloads/shape/shape_difference.hpp"

namespace strobe {
namespace {

/// Entries removed at each step of the case's shape; empty if whole snapshots move.
std::vector<std::int64_t> counted_removed(const FullBatchCase& c, std::vector<std::string>& notes) {
  const Preprocessing what = c.model.equations->preparation().inputs;
  if (c.options.transfer == "full") return {};
  const std::int64_t window = what.smooth == "none" ? 1 : what.window;
  return removed_entries(c.data.shape->complete.shape, window, what.laplacian, c.data.graph->counted_nonzeros, notes);
}

}  // namespace

TransferChoice choice_of(const FullBatchCase& c) {
  TransferChoice choice{
      c.options.transfer, c.options.transfer_in_coo64 ? TransferFormat::coo64 : TransferFormat::csr32, {}};
  std::vector<std::string> noted;
  if (c.data.shape != nullptr) choice.removed = counted_removed(c, noted);
  return choice;
}

std::vector<HeldSteps> held_blocks(const std::vector<BlockPlan>& blocks, Rank rank) {
  std::vector<HeldSteps> held;
  for (const BlockPlan& block : blocks) held.push_back(held_steps(block.spatial, rank, block.first_step));
  return held;
}

bool inputs_stay(const FullBatchPlan& plan) {
  return !plan.options.moves_snapshots() && (plan.blocks.size() == 1 || plan.options.resident);
}

void check_transfer(const FullBatchCase& c, const std::vector<BlockPlan>& blocks, std::vector<std::string>& notes) {
  if (!c.options.moves_snapshots()) return;
  if (c.options.resident) {
    throw InvalidRequest("/inputs", fmt::format("with transfer={} snapshots are moved in every epoch; use "
                                                "inputs=streamed, or transfer=direct",
                                                c.options.transfer));
  }
  if (c.data.graph->presence != nullptr) {
    throw InvalidRequest("/transfer",
                         "snapshots that are moved one by one have a row for every vertex; use transfer=direct, or "
                         "presence=all");
  }
  if (!c.data.graph->has_structure() && (c.options.transfer == "changed" || c.options.transfer == "least")) {
    throw InvalidRequest("/transfer",
                         "a graph that is known by its shape only has no values to compare; use transfer=difference, "
                         "full or direct");
  }
  if (!c.data.supports.empty()) {
    throw InvalidRequest("/transfer",
                         "this model multiplies with a matrix of its own in every step, which is not moved "
                         "snapshot by snapshot; use transfer=direct");
  }
  for (Rank rank = 0; rank < c.ranks(); ++rank) held_blocks(blocks, rank);
  if (c.data.shape != nullptr) counted_removed(c, notes);
}

TransferBytes planned_transfer_bytes(const FullBatchPlan& plan) {
  const TransferChoice choice = choice_of(plan);
  const std::uint64_t element = plan.model.fp64 ? 8 : 4;
  TransferBytes sum;
  for (std::size_t b = 0; b < plan.blocks.size(); ++b) {
    const BlockPlan& block = plan.blocks[b];
    const std::uint64_t times = plan.keeps_last_block() && b + 1 == plan.blocks.size() ? 1 : 2;
    const std::int64_t cells = block.steps() * plan.data.graph->vertices;
    sum.features += times * element * static_cast<std::uint64_t>(cells * plan.data.graph->cell_width());
    for (Rank rank = 0; plan.model.any_layer_reads_neighbours() && rank < plan.ranks(); ++rank) {
      const HeldSteps held = held_steps(block.spatial, rank, block.first_step);
      sum.snapshots += times * planned_bytes(plan_snapshots(*plan.data.graph, held, choice), choice.format, element);
    }
  }
  return sum;
}

}  // namespace strobe
