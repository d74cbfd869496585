#include "harness/full_batch/plan/block_plan.hpp"

#include "harness/full_batch/exchange/counted_halo.hpp"
#include "harness/full_batch/exchange/needed_rows.hpp"
#include "harness/full_batch/plan/full_batch_plan.hpp"

namespace strobe {
namespace {

/// Whether the layer's state is inputs of earlier steps, which exist before any rank has walked these steps.
bool reads_earlier_inputs(const LayerShape& layer) {
  return walks_timelines(layer) && (layer.need == TemporalNeed::window || layer.need == TemporalNeed::all);
}

/// The hand-over of a packed recurrence at the start of a block: the states of the cells of the previous step.
StateHandover border_handover(const BlockPlan& before, const BlockPlan& block, const LayerShape& layer,
                              const ListScope& scope) {
  return state_handover(&before.temporal, of_steps(block.temporal, {0}), {{0, 1}}, block.first_step, layer, scope);
}

void add_handovers(const FullBatchCase& c, const BlockPlan* before, bool only, const ListScope& scope,
                   BlockPlan& block) {
  for (std::size_t l = 0; l < c.model.layers.size(); ++l) {
    StateHandover& layer = block.handover.emplace_back();
    auto& at_once = block.earlier_steps.emplace_back();
    if (!remembers(c.model.layers[l].need)) continue;
    if (block.packed[l] != nullptr) {
      const bool recurrent = c.model.layers[l].need == TemporalNeed::recurrent;
      if (recurrent && before != nullptr) layer = border_handover(*before, block, c.model.layers[l], scope);
      continue;
    }
    if (c.options.packs && reads_earlier_inputs(c.model.layers[l]) && only && block.segments.size() > 1 &&
        owns_one_segment(block.temporal, block.segments)) {
      at_once = earlier_steps(block.temporal, block.segments, c.model.layers[l], scope);
      continue;
    }
    const auto placement = c.model.layers[l].step_by_step ? &BlockPlan::spatial : &BlockPlan::temporal;
    const auto segments = c.model.layers[l].step_by_step ? &BlockPlan::spatial_segments : &BlockPlan::segments;
    layer = state_handover(before == nullptr ? nullptr : &(before->*placement), block.*placement, block.*segments,
                           block.first_step, c.model.layers[l], scope);
  }
}

PlacedSamples place(const FullBatchCase& c, Samples TaskData::*drawn, CountedSamples TaskCounts::*counted,
                    const Placement& placement, const std::vector<Step>& steps, const ListScope& scope) {
  if (c.data.shape != nullptr) {
    return place_counted_samples(c.data.shape->samples.*counted, c.data.shape->in_degree, placement, steps);
  }
  return place_samples((*c.data.samples).*drawn, placement, steps, scope);
}

BlockPlan derive_block(const FullBatchCase& c, const StrategyPlan& strategy, std::size_t number,
                       const BlockPlan* before, const std::shared_ptr<const FusionPlan>& fusion) {
  const ListScope scope = c.list_scope();
  const Run& steps = strategy.blocks[number];
  BlockPlan block;
  block.first_step = steps.first;
  const std::vector<Step> range = step_range(steps.first, steps.count);
  block.spatial = of_steps(strategy.spatial, range);
  block.temporal = of_steps(strategy.temporal, range);
  block.spatial_needs = c.model.any_layer_reads_neighbours()
                            ? spatial_needs(block.spatial, *c.data.graph, steps.first, NeedScope(scope))
                            : no_needs(c.ranks(), block.spatial.steps());
  block.spatial_halo = halo(block.spatial, block.spatial_needs, scope);
  block.to_temporal = redistribute(block.spatial, block.temporal, scope);
  block.to_spatial = reversed(block.to_temporal);
  block.slices = derive_slices(c, block, scope);
  block.segments = temporal_segments(block.temporal);
  block.spatial_segments = temporal_segments(block.spatial);
  block.packed.resize(c.model.layers.size());
  const std::shared_ptr<const BlockUnits> units = fusion == nullptr ? nullptr : fusion->of_block(number);
  if (units != nullptr && units->several()) block.units = units;
  if (units != nullptr && fusion->by_units_in_time) {
    block.packed = packed_plans(c, strategy.temporal, steps, units);
  } else if (walks_packed(c, strategy)) {
    block.packed = packed_plans(c, strategy.temporal, steps);
  }
  block.trained = trained_plans(c, strategy.states, block.packed);
  for (const auto& graph : c.data.supports) {
    block.supports.push_back(split_into_steps(graph, steps.first, block.spatial, scope));
  }
  add_handovers(c, before, strategy.blocks.size() == 1, scope, block);
  block.train = place(c, &TaskData::train, &TaskCounts::train, block.spatial, range, scope);
  return block;
}

}  // namespace

std::vector<BlockPlan> derive_blocks(const FullBatchCase& c, const StrategyPlan& strategy,
                                     const std::shared_ptr<const FusionPlan>& fusion) {
  std::vector<BlockPlan> blocks;
  blocks.reserve(strategy.blocks.size());
  for (std::size_t b = 0; b < strategy.blocks.size(); ++b)
    blocks.push_back(derive_block(c, strategy, b, b == 0 ? nullptr : &blocks.back(), fusion));
  return blocks;
}

EvaluationPlan place_evaluated(const FullBatchCase& c, const Placement& spatial) {
  const ListScope scope = c.list_scope();
  EvaluationPlan plan;
  plan.test_steps = c.data.steps_tested();
  plan.test = place(c, &TaskData::test, &TaskCounts::test, of_steps(spatial, plan.test_steps), plan.test_steps, scope);
  plan.validation_steps = c.data.steps_validated();
  if (plan.validation_steps.empty()) return plan;
  plan.validation =
      place_samples(c.data.samples->validation, of_steps(spatial, plan.validation_steps), plan.validation_steps, scope);
  return plan;
}

}  // namespace strobe
