// Handing temporal state over where a placement cuts timelines: a timeline is walked in segments, each on the ranks
// that own its steps, and what the encoder remembers moves from the owners of one segment to the owners of the next.
#pragma once

#include <vector>

#include "harness/exchange_plan.hpp"
#include "models/model.hpp"

namespace strobe {

/// A maximal run of steps with one vertex map.
struct TemporalSegment {
  std::int64_t first_step = 0;
  std::int64_t steps = 0;
};

/// The segments of a placement in order of time; one when timelines lie whole.
std::vector<TemporalSegment> temporal_segments(const Placement& placement);

/// Whether a layer with this need remembers something of a vertex between segments.
inline bool remembers(TemporalNeed need) {
  return need == TemporalNeed::window || need == TemporalNeed::recurrent || need == TemporalNeed::all;
}

/// Whether a layer's temporal stage walks whole timelines under the temporal placement.
inline bool walks_timelines(const LayerShape& layer) { return remembers(layer.need) && !layer.step_by_step; }

/// The state exchanges of one layer: plans[s] brings the state to the owners of segment s, for s >= 1.
struct StateHandover {
  std::vector<StateShape> shape;    // [segments]; of the state that segment s starts from
  std::vector<ExchangePlan> plans;  // [segments]; plans[0] is not used
};

/// Cost O(segments * N).
StateHandover state_handover(const Placement& placement, const std::vector<TemporalSegment>& segments,
                             const Model& model, int layer, const ListScope& scope);

}  // namespace strobe
