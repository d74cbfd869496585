#include "harness/plan/transfer_plan.hpp"

#include "core/errors.hpp"
#include "workloads/shape/shape_difference.hpp"

namespace strobe {
namespace {

/// Entries that leave at each step of the plan's shape; nothing when whole snapshots move.
std::vector<std::int64_t> counted_removed(const PlannedCase& plan, std::vector<std::string>& notes) {
  const Preprocessing what = plan.model->preprocessing();
  if (plan.request.transfer == "full") return {};
  const std::int64_t window = what.smooth == "none" ? 1 : what.window;
  return removed_entries(plan.shape->complete.shape, window, what.laplacian, plan.graph->counted_nonzeros, notes);
}

}  // namespace

TransferChoice choice_of(const PlannedCase& plan) {
  const Case& c = plan.request;
  TransferChoice choice{c.transfer, c.transfer_format == "coo64" ? TransferFormat::coo64 : TransferFormat::csr32, {}};
  std::vector<std::string> noted;
  if (plan.shape != nullptr) choice.removed = counted_removed(plan, noted);
  return choice;
}

std::vector<HeldSteps> held_blocks(const PlannedCase& plan, Rank rank) {
  std::vector<HeldSteps> blocks;
  for (const BlockPlan& block : plan.blocks) blocks.push_back(held_steps(block.spatial, rank, block.first_step));
  return blocks;
}

bool moves_snapshots(const Case& c) { return c.transfer != "direct"; }

bool inputs_stay(const PlannedCase& plan) {
  return !moves_snapshots(plan.request) && (plan.blocks.size() == 1 || plan.request.inputs == "resident");
}

void check_transfer(PlannedCase& plan) {
  if (!moves_snapshots(plan.request)) return;
  if (plan.request.inputs != "streamed") {
    throw InvalidRequest("/inputs",
                         "snapshots that are moved one by one are moved in every epoch; use inputs=streamed");
  }
  if (!plan.graph->has_structure() && (plan.request.transfer == "changed" || plan.request.transfer == "least")) {
    throw InvalidRequest("/transfer",
                         "a graph that is known by its shape only has no values to compare; use transfer=difference, "
                         "full or direct");
  }
  if (!plan.support_graphs.empty()) {
    throw InvalidRequest("/transfer",
                         "this model multiplies with a matrix of its own in every step, which is not moved "
                         "snapshot by snapshot; use transfer=direct");
  }
  for (Rank rank = 0; rank < plan.ranks(); ++rank) held_blocks(plan, rank);
  if (plan.shape != nullptr) counted_removed(plan, plan.notes);
}

TransferBytes planned_transfer_bytes(const PlannedCase& plan) {
  const TransferChoice choice = choice_of(plan);
  const std::uint64_t element = plan.fp64 ? 8 : 4;
  TransferBytes sum;
  for (std::size_t b = 0; b < plan.blocks.size(); ++b) {
    const BlockPlan& block = plan.blocks[b];
    const std::uint64_t times = plan.keeps_last_block() && b + 1 == plan.blocks.size() ? 1 : 2;
    const std::int64_t cells = block.steps() * plan.graph->vertices;
    sum.features += times * element * static_cast<std::uint64_t>(cells * plan.graph->cell_width());
    for (Rank rank = 0; plan.any_layer_reads_neighbours() && rank < plan.ranks(); ++rank) {
      const HeldSteps held = held_steps(block.spatial, rank, block.first_step);
      sum.snapshots += times * planned_bytes(plan_snapshots(*plan.graph, held, choice), choice.format, element);
    }
  }
  return sum;
}

}  // namespace strobe
