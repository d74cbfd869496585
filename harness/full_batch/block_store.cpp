#include "harness/full_batch/block_store.hpp"

namespace strobe {

BlockStore::BlockStore(Device& device, const FullBatchPlan& plan)
    : device_(device),
      plan_(plan),
      snapshots_(device, *plan.data.graph, held_blocks(plan.blocks, device.rank()), choice_of(plan),
                 plan.model.any_layer_reads_neighbours()) {
  for (const BlockPlan& block : plan.blocks) {
    const BlockSteps steps{block.first_step, plan.data.graph->steps, plan.data.trained_steps,
                           plan.data.graph->presence.get()};
    cells_.push_back(
        make_spatial_rows(device, block.spatial, steps, block.spatial_needs, plan.model.equations->traits()));
  }
}

BlockInputs BlockStore::bring(std::size_t block, Visit visit) {
  const PartScope part(device_, MemoryPart::graph);
  BlockInputs inputs{snapshots_.bring(block), {}, cells_[block], {}, {}, {}};
  const BlockPlan& plan = plan_.blocks[block];
  prepare_passing(device_, plan.spatial, use_by_layers(plan_, visit, plan.spatial_halo.identity), inputs.graph.a);
  return inputs;
}

}  // namespace strobe
