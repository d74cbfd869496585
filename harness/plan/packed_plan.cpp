// Which layers walk their timelines packed, and what that takes. Rectangles are what kernels like best: they are kept
// where timelines lie whole on a rank, and where ranks own whole steps, so that all vertices change hands at once.
#include <map>
#include <tuple>

#include "harness/plan/full_batch_plan.hpp"

namespace strobe {
namespace {

bool owns_whole_steps(const Placement& placement) {
  for (const auto& map : placement.maps) {
    if (map->single < 0) return false;
  }
  return true;
}

std::shared_ptr<const PackedPlan> packed_plan(const FullBatchCase& c, const LayerShape& layer,
                                              const Placement& placement) {
  auto plan = std::make_shared<PackedPlan>();
  if (layer.need == TemporalNeed::recurrent) {
    plan->state = layer.recurrent_state;
    plan->rounds = sequence_rounds(placement, layer.reset_every);
    plan->handover = round_handovers(plan->rounds, placement.ranks, plan->state, c.list_scope());
    return plan;
  }
  plan->needs = temporal_needs(placement, layer.need == TemporalNeed::window ? layer.window : 0);
  plan->halo = halo(placement, plan->needs, c.list_scope());
  return plan;
}

}  // namespace

bool walks_packed(const FullBatchCase& c, const Placement& placement, std::size_t segments) {
  if (!placement.has_all_cells()) return true;
  return c.options.packs && c.options.blocks == 1 && segments > 1 && !owns_whole_steps(placement);
}

std::vector<std::shared_ptr<const PackedPlan>> packed_plans(const FullBatchCase& c, const Placement& placement) {
  std::vector<std::shared_ptr<const PackedPlan>> plans;
  std::map<std::tuple<TemporalNeed, std::int64_t, std::int64_t, std::int64_t>, std::shared_ptr<const PackedPlan>> made;
  for (const LayerShape& layer : c.model.layers) {
    if (!walks_timelines(layer)) {
      plans.push_back(nullptr);
      continue;
    }
    auto& plan = made[{layer.need, layer.window, layer.reset_every, layer.recurrent_state.rows_per_vertex}];
    if (plan == nullptr || plan->state.width != layer.recurrent_state.width) plan = packed_plan(c, layer, placement);
    plans.push_back(plan);
  }
  return plans;
}

}  // namespace strobe
