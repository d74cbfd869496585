#include "harness/full_batch/exchange/state_handover.hpp"

#include "harness/full_batch/exchange/plan_builder.hpp"
#include "harness/full_batch/exchange/server_route.hpp"
#include "harness/placement/local_rows.hpp"

namespace strobe {
namespace {

/// `blocks` blocks of one row per vertex, all owned as at step t.
Placement repeated(const Placement& placement, Step t, std::int64_t blocks) {
  Placement result;
  result.ranks = placement.ranks;
  result.vertices = placement.vertices;
  result.maps = {placement.maps[placement.map_of_step[t]]};
  result.map_of_step.assign(blocks, 0);
  return result;
}

}  // namespace

std::vector<TemporalSegment> temporal_segments(const Placement& placement) {
  std::vector<TemporalSegment> segments;
  for (std::int64_t t = 0; t < placement.steps(); ++t) {
    const std::size_t step = t;
    if (t == 0 || placement.map_of_step[step] != placement.map_of_step[step - 1]) segments.push_back({t, 0});
    ++segments.back().steps;
  }
  return segments;
}

bool owns_one_segment(const Placement& placement, const std::vector<TemporalSegment>& segments) {
  std::vector<bool> owns(placement.ranks, false);
  for (const TemporalSegment& segment : segments) {
    const Rank owner = placement.map(static_cast<Step>(segment.first_step)).single;
    if (owner < 0 || owns[owner]) return false;
    owns[owner] = true;
  }
  return true;
}

ExchangePlan earlier_steps(const Placement& placement, const std::vector<TemporalSegment>& segments,
                           const LayerShape& layer, const ListScope& scope) {
  PlanBuilder builder(placement.ranks, scope_of_routed(scope));
  LocalRows rows(placement);
  for (const TemporalSegment& segment : segments) {
    const auto first = static_cast<Step>(segment.first_step);
    const Rank reader = placement.map(first).single;
    const auto steps = static_cast<Step>(state_shape(layer, first).rows_per_vertex);
    for (Step t = first - steps; t < first; ++t)
      builder.move(placement.map(t).single, reader, rows.row(0, t), (t - (first - steps)) * placement.vertices,
                   placement.vertices);
    builder.rows(reader, placement.rows(reader), steps * placement.vertices);
  }
  return through_servers(builder.finish(true), scope);
}

StateHandover state_handover(const Placement* before, const Placement& placement,
                             const std::vector<TemporalSegment>& segments, std::int64_t first_step,
                             const LayerShape& layer, const ListScope& scope) {
  StateHandover handover;
  handover.plans.resize(segments.size());
  for (std::size_t s = 0; s < segments.size(); ++s) {
    const auto here = static_cast<Step>(segments[s].first_step);
    const StateShape shape = state_shape(layer, first_step + here);
    handover.shape.push_back(shape);
    if (s == 0 && before == nullptr) continue;
    const Placement& from = s == 0 ? *before : placement;
    const auto last = static_cast<Step>(s == 0 ? before->steps() - 1 : here - 1);
    ExchangePlan states = redistribute(repeated(from, last, shape.rows_per_vertex),
                                       repeated(placement, here, shape.rows_per_vertex), scope_of_routed(scope));
    handover.plans[s] = through_servers(std::move(states), scope);
  }
  handover.shape.push_back(state_shape(layer, first_step + placement.steps()));
  return handover;
}

}  // namespace strobe
