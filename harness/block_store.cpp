#include "harness/block_store.hpp"

#include "core/errors.hpp"

namespace strobe {
namespace {

TransferChoice choice_of(const Case& c) {
  return {c.transfer, c.transfer_format == "coo64" ? TransferFormat::coo64 : TransferFormat::csr32};
}

std::vector<HeldSteps> held_blocks(const PlannedCase& plan, Rank rank) {
  std::vector<HeldSteps> blocks;
  for (const BlockPlan& block : plan.blocks) blocks.push_back(held_steps(block.spatial, rank, block.first_step));
  return blocks;
}

}  // namespace

bool moves_snapshots(const Case& c) { return c.transfer != "direct"; }

bool inputs_stay(const PlannedCase& plan) {
  return !moves_snapshots(plan.request) && (plan.blocks.size() == 1 || plan.request.inputs == "resident");
}

void check_transfer(const PlannedCase& plan) {
  if (!moves_snapshots(plan.request)) return;
  if (plan.request.inputs != "streamed") {
    throw InvalidRequest("/inputs",
                         "snapshots that are moved one by one are moved in every epoch; use inputs=streamed");
  }
  if (!plan.graph->has_structure()) {
    throw InvalidRequest("/transfer",
                         "a graph that is known by its shape only has no snapshots to compare; use "
                         "transfer=direct");
  }
  if (!plan.support_graphs.empty()) {
    throw InvalidRequest("/transfer",
                         "this model multiplies with a matrix of its own in every step, which is not moved "
                         "snapshot by snapshot; use transfer=direct");
  }
  for (Rank rank = 0; rank < plan.ranks(); ++rank) held_blocks(plan, rank);
}

TransferBytes planned_transfer_bytes(const PlannedCase& plan) {
  const TransferChoice choice = choice_of(plan.request);
  const std::uint64_t element = plan.fp64 ? 8 : 4;
  TransferBytes sum;
  for (std::size_t b = 0; b < plan.blocks.size(); ++b) {
    const BlockPlan& block = plan.blocks[b];
    const std::uint64_t times = plan.keeps_last_block() && b + 1 == plan.blocks.size() ? 1 : 2;
    const std::int64_t cells = block.steps() * plan.graph->vertices;
    sum.features += times * element * static_cast<std::uint64_t>(cells * plan.graph->feature_width);
    for (Rank rank = 0; plan.any_layer_reads_neighbours() && rank < plan.ranks(); ++rank) {
      const HeldSteps held = held_steps(block.spatial, rank, block.first_step);
      sum.snapshots += times * planned_bytes(plan_snapshots(*plan.graph, held, choice), choice.format, element);
    }
  }
  return sum;
}

BlockStore::BlockStore(Device& device, const PlannedCase& plan)
    : snapshots_(device, *plan.graph, held_blocks(plan, device.rank()), choice_of(plan.request),
                 plan.any_layer_reads_neighbours()) {
  for (const BlockPlan& block : plan.blocks) {
    cells_.push_back(
        make_cell_rows(device, block.spatial, {block.first_step, plan.graph->steps}, plan.model->reads_ids()));
  }
}

BlockInputs BlockStore::bring(std::size_t block) { return {snapshots_.bring(block), {}, cells_[block], {}}; }

}  // namespace strobe
