#include "harness/timeline/block_store.hpp"

namespace strobe {

BlockStore::BlockStore(Device& device, const PlannedCase& plan)
    : device_(device),
      plan_(plan),
      snapshots_(device, *plan.graph, held_blocks(plan, device.rank()), choice_of(plan),
                 plan.any_layer_reads_neighbours()) {
  for (const BlockPlan& block : plan.blocks) {
    const BlockSteps steps{block.first_step, plan.graph->steps, plan.trained_steps};
    cells_.push_back(make_spatial_rows(device, block.spatial, steps, block.spatial_needs, *plan.model));
  }
}

BlockInputs BlockStore::bring(std::size_t block, Visit visit) {
  BlockInputs inputs{snapshots_.bring(block), {}, cells_[block], {}};
  if (visit == Visit::differentiated) transpose_snapshots(device_, plan_, plan_.blocks[block].spatial, inputs.graph.a);
  return inputs;
}

}  // namespace strobe
