// Which layers walk their timelines packed, and the plans for it. Kernels are fastest on rectangles. They are kept
// where timelines lie whole on a rank, and where ranks own whole steps, so that all vertices change owner at once.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "core/errors.hpp"
#include "harness/full_batch/exchange/needed_rows.hpp"
#include "harness/full_batch/plan/full_batch_plan.hpp"

namespace strobe {
namespace {

bool owns_whole_steps(const Placement& placement) {
  for (const auto& map : placement.maps) {
    if (map->single < 0) return false;
  }
  return true;
}

/// Whether the steps that a rank owns in a block follow each other, under a placement of whole steps.
bool owns_runs(const StrategyPlan& strategy) {
  return std::all_of(strategy.blocks.begin(), strategy.blocks.end(), [&](const Run& block) {
    const Placement steps = of_steps(strategy.temporal, step_range(block.first, block.count));
    return owns_one_segment(steps, temporal_segments(steps));
  });
}

bool steps_with_state(const LayerShape& layer) { return layer.step_by_step && remembers(layer.need); }

bool any_recurrence(const std::vector<LayerShape>& layers) {
  return std::any_of(layers.begin(), layers.end(), [](const LayerShape& layer) {
    return walks_timelines(layer) && layer.need == TemporalNeed::recurrent;
  });
}

/// The recurrence of `exact` in one round. Neighbouring pieces of one rank are one piece, so that every cut lies
/// between ranks.
std::shared_ptr<const PackedPlan> trained_plan(const FullBatchCase& c, const PackedPlan& exact,
                                               const SequenceStart& start, CutStates states) {
  auto plan = std::make_shared<PackedPlan>();
  plan->placement = exact.placement;
  plan->state = exact.state;
  const bool handed = states == CutStates::previous_epoch;
  const ListScope scope = c.list_scope();
  RoundSums beyond;
  plan->rounds = {pieces_at_once(plan->placement, start, handed, {NeedScope(scope), {}}, &beyond)};
  if (handed)
    plan->handover = {handover_to_next_epoch(plan->rounds[0], plan->placement.ranks, plan->state, scope, beyond)};
  return plan;
}

/// Steps before `first_step` whose inputs are read by cells of the block.
std::int64_t earlier_steps_read(const LayerShape& layer, std::int64_t first_step) {
  return layer.need == TemporalNeed::recurrent ? 0 : state_shape(layer, first_step).rows_per_vertex;
}

/// The owner of each cell of the `earlier` steps and of the block: in the block its unit, before it unit count + its
/// rank under `ranks`. Lists the cells of `listed` units.
Placement units_after_past(const Placement& ranks, std::int64_t earlier, const Placement& units, const Run& listed) {
  if (earlier == 0) return units;
  Placement owners{units.ranks + ranks.ranks, units.vertices, {}, {}};
  const VertexMap* before = nullptr;
  for (Step t = 0; t < static_cast<Step>(earlier); ++t) {
    if (const VertexMap& map = ranks.map(t); &map != before) {
      std::vector<Rank> owner(static_cast<std::size_t>(units.vertices), -1);
      for (std::size_t v = 0; v < owner.size(); ++v) {
        const Rank rank = map.owner_of(static_cast<VertexId>(v));
        if (rank >= 0) owner[v] = units.ranks + rank;
      }
      owners.maps.push_back(partial_vertex_map(std::move(owner), owners.ranks, listed));
      before = &map;
    }
    owners.map_of_step.push_back(static_cast<std::int32_t>(owners.maps.size()) - 1);
  }
  const auto first = static_cast<std::int32_t>(owners.maps.size());
  owners.maps.insert(owners.maps.end(), units.maps.begin(), units.maps.end());
  for (const std::int32_t map : units.map_of_step) owners.map_of_step.push_back(first + map);
  return owners;
}

std::shared_ptr<const PackedPlan> packed_plan(const FullBatchCase& c, const LayerShape& layer,
                                              const Placement& temporal, const Run& steps,
                                              const std::shared_ptr<const BlockUnits>& units) {
  auto plan = std::make_shared<PackedPlan>();
  plan->earlier = earlier_steps_read(layer, steps.first);
  plan->placement = of_steps(temporal, step_range(steps.first - plan->earlier, steps.count + plan->earlier));
  plan->units = units;
  if (layer.need == TemporalNeed::recurrent) {
    const SequenceStart start{steps.first, layer.reset_every};
    plan->state = layer.recurrent_state;
    const ListScope scope = c.list_scope();
    RoundSums beyond;
    plan->rounds =
        sequence_rounds(units == nullptr ? plan->placement : units->cells, start,
                        units == nullptr ? PieceScope{NeedScope(scope), {}} : units->piece_scope(scope), &beyond);
    if (units != nullptr) plan->rounds = pieces_of_ranks(plan->rounds, units->per_rank);
    plan->handover = round_handovers(plan->rounds, temporal.ranks, plan->state, scope, beyond);
    return plan;
  }
  const std::int64_t window = layer.need == TemporalNeed::window ? layer.window : 0;
  const ListScope scope = c.list_scope();
  plan->needs = temporal_needs(plan->placement, window, static_cast<Step>(plan->earlier), NeedScope(scope));
  plan->halo = halo(plan->placement, plan->needs, scope);
  if (units == nullptr) return plan;
  const NeedScope of_units = units->need_scope(scope);
  plan->unit_cells = units_after_past(plan->placement, plan->earlier, units->cells, of_units.own);
  plan->unit_needs = temporal_needs(plan->unit_cells, window, static_cast<Step>(plan->earlier), of_units);
  return plan;
}

}  // namespace

bool walks_packed(const FullBatchCase& c, const StrategyPlan& strategy) {
  const Placement& temporal = strategy.temporal;
  if (!temporal.has_all_cells()) return true;
  if (temporal_segments(temporal).size() < 2) return false;
  if (strategy.states != CutStates::exact && any_recurrence(c.model.layers)) return true;
  return c.options.packs && !(owns_whole_steps(temporal) && owns_runs(strategy));
}

std::vector<std::shared_ptr<const PackedPlan>> packed_plans(const FullBatchCase& c, const Placement& temporal,
                                                            const Run& steps,
                                                            const std::shared_ptr<const BlockUnits>& units) {
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

std::vector<std::shared_ptr<const PackedPlan>> trained_plans(
    const FullBatchCase& c, CutStates states, const std::vector<std::shared_ptr<const PackedPlan>>& exact) {
  std::vector<std::shared_ptr<const PackedPlan>> plans = exact;
  if (states == CutStates::exact) return plans;
  std::map<const PackedPlan*, std::shared_ptr<const PackedPlan>> made;
  for (std::size_t l = 0; l < plans.size(); ++l) {
    if (exact[l] == nullptr || exact[l]->rounds.size() < 2) continue;  // no timeline is cut
    auto& plan = made[exact[l].get()];
    if (plan == nullptr) plan = trained_plan(c, *exact[l], {0, c.model.layers[l].reset_every}, states);
    plans[l] = plan;
  }
  return plans;
}

void check_states(const FullBatchCase& c, const StrategyPlan& strategy, const FusionPlan* fusion) {
  const std::vector<LayerShape>& layers = c.model.layers;
  const bool stepped = std::any_of(layers.begin(), layers.end(), steps_with_state);
  // Elsewhere nothing is cut, and the option has no effect.
  if (strategy.states == CutStates::exact || c.ranks() == 1 || !(stepped || any_recurrence(layers))) return;
  const std::string text = text_of(strategy.states);
  if (strategy.blocks.size() > 1)
    throw InvalidRequest("/nb", text + " trains all steps in one block; set nb=1, or states=exact");
  if (fusion != nullptr && fusion->by_units_in_time) {
    throw InvalidRequest("/strategy/fusion",
                         text + " puts all sequences of a rank end to end, and fusion=" + fusion->kind +
                             " walks them chunk by chunk; use fusion=both or "
                             "temporal, or states=exact");
  }
  if (stepped) {
    throw InvalidRequest("/strategy/states",
                         fmt::format("a layer of model {} goes from step to step, all cells of a step at once; use "
                                     "states=exact or another model",
                                     c.request.model.at("name").get<std::string>()));
  }
}

}  // namespace strobe
