// Which layers walk their timelines packed, and the plans for it. Kernels are fastest on rectangles. They are kept
// where timelines lie whole on a rank, and where ranks own whole steps, so that all vertices change owner at once.
#include <map>
#include <tuple>

#include "harness/full_batch/plan/full_batch_plan.hpp"

namespace strobe {
namespace {

bool owns_whole_steps(const Placement& placement) {
  for (const auto& map : placement.maps) {
    if (map->single < 0) return false;
  }
  return true;
}

/// Steps before `first_step` whose inputs are read by cells of the block.
std::int64_t earlier_steps_read(const LayerShape& layer, std::int64_t first_step) {
  return layer.need == TemporalNeed::recurrent ? 0 : state_shape(layer, first_step).rows_per_vertex;
}

std::shared_ptr<const PackedPlan> packed_plan(const FullBatchCase& c, const LayerShape& layer,
                                              const Placement& temporal, const Run& steps,
                                              const std::shared_ptr<const FusionPlan>& units) {
  auto plan = std::make_shared<PackedPlan>();
  plan->earlier = earlier_steps_read(layer, steps.first);
  plan->placement = of_steps(temporal, step_range(steps.first - plan->earlier, steps.count + plan->earlier));
  plan->units = units;
  if (layer.need == TemporalNeed::recurrent) {
    const SequenceStart start{steps.first, layer.reset_every};
    plan->state = layer.recurrent_state;
    plan->rounds = units == nullptr ? sequence_rounds(plan->placement, start)
                                    : pieces_of_ranks(sequence_rounds(units->units, start), units->units_per_rank);
    plan->handover = round_handovers(plan->rounds, temporal.ranks, plan->state, c.list_scope());
    return plan;
  }
  const std::int64_t window = layer.need == TemporalNeed::window ? layer.window : 0;
  plan->needs = temporal_needs(plan->placement, window, static_cast<Step>(plan->earlier));
  plan->halo = halo(plan->placement, plan->needs, c.list_scope());
  if (units != nullptr) plan->unit_needs = temporal_needs(units->units, window);
  return plan;
}

}  // namespace

bool walks_packed(const FullBatchCase& c, const Placement& temporal) {
  if (!temporal.has_all_cells()) return true;
  return c.options.packs && temporal_segments(temporal).size() > 1 && !owns_whole_steps(temporal);
}

std::vector<std::shared_ptr<const PackedPlan>> packed_plans(const FullBatchCase& c, const Placement& temporal,
                                                            const Run& steps,
                                                            const std::shared_ptr<const FusionPlan>& units) {
  std::vector<std::shared_ptr<const PackedPlan>> plans;
  std::map<std::tuple<TemporalNeed, std::int64_t, std::int64_t, std::int64_t>, std::shared_ptr<const PackedPlan>> made;
  for (const LayerShape& layer : c.model.layers) {
    if (!walks_timelines(layer)) {
      plans.push_back(nullptr);
      continue;
    }
    auto& plan = made[{layer.need, layer.window, layer.reset_every, layer.recurrent_state.rows_per_vertex}];
    if (plan == nullptr || plan->state.width != layer.recurrent_state.width)
      plan = packed_plan(c, layer, temporal, steps, units);
    plans.push_back(plan);
  }
  return plans;
}

}  // namespace strobe
