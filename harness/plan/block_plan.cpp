#include "harness/plan/block_plan.hpp"

#include "harness/exchange/counted_halo.hpp"
#include "harness/plan/planned_case.hpp"

namespace strobe {
namespace {

HaloNeeds no_needs(const Placement& placement) {
  HaloNeeds needs;
  needs.vertices.assign(static_cast<std::size_t>(placement.ranks),
                        std::vector<std::vector<VertexId>>(static_cast<std::size_t>(placement.steps())));
  return needs;
}

void add_handovers(const PlannedCase& plan, const BlockPlan* before, const ListScope& scope, BlockPlan& block) {
  for (std::size_t l = 0; l < plan.layers.size(); ++l) {
    StateHandover& layer = block.handover.emplace_back();
    if (!remembers(plan.layers[l].need)) continue;
    const auto placement = plan.layers[l].step_by_step ? &BlockPlan::spatial : &BlockPlan::temporal;
    const auto segments = plan.layers[l].step_by_step ? &BlockPlan::spatial_segments : &BlockPlan::segments;
    layer = state_handover(before == nullptr ? nullptr : &(before->*placement), block.*placement, block.*segments,
                           block.first_step, *plan.model, static_cast<int>(l), scope);
  }
}

PlacedSamples place(const PlannedCase& plan, Samples TaskData::*drawn, CountedSamples TaskCounts::*counted,
                    const Placement& placement, const std::vector<Step>& steps, const ListScope& scope) {
  if (plan.shape != nullptr) {
    return place_counted_samples(plan.shape->samples.*counted, plan.shape->in_degree, placement, steps);
  }
  return place_samples((*plan.task_data).*drawn, placement, steps, scope);
}

BlockPlan derive_block(const PlannedCase& plan, const Run& steps, const BlockPlan* before, const ListScope& scope) {
  BlockPlan block;
  block.first_step = steps.first;
  const std::vector<Step> range = step_range(steps.first, steps.count);
  block.spatial = of_steps(plan.strategy.spatial, range);
  block.temporal = of_steps(plan.strategy.temporal, range);
  block.spatial_needs = plan.any_layer_reads_neighbours() ? spatial_needs(block.spatial, *plan.graph, steps.first)
                                                          : no_needs(block.spatial);
  block.spatial_halo = halo(block.spatial, block.spatial_needs, scope);
  block.to_temporal = redistribute(block.spatial, block.temporal, scope);
  block.to_spatial = redistribute(block.temporal, block.spatial, scope);
  block.slices = derive_slices(plan, block, scope);
  block.segments = temporal_segments(block.temporal);
  block.spatial_segments = temporal_segments(block.spatial);
  for (const auto& graph : plan.support_graphs) {
    block.supports.push_back(split_into_steps(graph, steps.first, block.spatial, scope));
  }
  add_handovers(plan, before, scope, block);
  block.train = place(plan, &TaskData::train, &TaskCounts::train, block.spatial, range, scope);
  return block;
}

}  // namespace

std::vector<BlockPlan> derive_blocks(const PlannedCase& plan, const ListScope& scope) {
  std::vector<BlockPlan> blocks;
  blocks.reserve(plan.strategy.schedule.blocks.size());
  for (const Run& steps : plan.strategy.schedule.blocks) {
    blocks.push_back(derive_block(plan, steps, blocks.empty() ? nullptr : &blocks.back(), scope));
  }
  return blocks;
}

std::vector<Step> steps_tested(const PlannedCase& plan) {
  if (plan.shape == nullptr) return steps_of(plan.task_data->test);
  std::vector<Step> steps;
  for (const StepSamples& step : plan.shape->samples.test.steps) steps.push_back(step.step);
  return steps;
}

std::vector<Step> steps_validated(const PlannedCase& plan) {
  return plan.shape == nullptr ? steps_of(plan.task_data->validation) : std::vector<Step>();
}

PlacedSamples place_test_samples(const PlannedCase& plan, const std::vector<Step>& steps, const ListScope& scope) {
  return place(plan, &TaskData::test, &TaskCounts::test, of_steps(plan.strategy.spatial, steps), steps, scope);
}

PlacedSamples place_validation_samples(const PlannedCase& plan, const std::vector<Step>& steps,
                                       const ListScope& scope) {
  return place_samples(plan.task_data->validation, of_steps(plan.strategy.spatial, steps), steps, scope);
}

}  // namespace strobe
