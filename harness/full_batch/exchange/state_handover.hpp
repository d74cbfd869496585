// Hands temporal state over where a placement cuts timelines. A timeline is walked in segments, each on the ranks that
// own its steps. The encoder's state moves from the owners of one segment to the owners of the next.
#pragma once

#include <vector>

#include "harness/full_batch/exchange/exchange_plan.hpp"
#include "models/snapshots/layer_protocol.hpp"

namespace strobe {

/// The segments of a placement in order of time; a single one if no timeline is cut.
std::vector<TemporalSegment> temporal_segments(const Placement& placement);

/// The state exchanges of one layer in one block of steps. plans[s] brings the state to the owners of segment s from
/// those of the previous segment. For s = 0 that is the last segment of the previous block.
struct StateHandover {
  std::vector<StateShape> shape;    // [segments + 1]; of the state before each segment, and after the last
  std::vector<ExchangePlan> plans;  // [segments]; plans[0] is not used in the first block
};

/// Whether ranks hold whole steps, each of a single segment. Then a window or an attention gets the rows of all earlier
/// steps in one exchange, and no rank waits for the previous one.
bool owns_one_segment(const Placement& placement, const std::vector<TemporalSegment>& segments);

/// The temporal halo of such a placement. It brings rows of x to the ranks whose segments read them, in the order of
/// state_shape(layer, first step). A row may go to many ranks.
ExchangePlan earlier_steps(const Placement& placement, const std::vector<TemporalSegment>& segments,
                           const LayerShape& layer, const ListScope& scope);

/// Hand-overs of `layer`, which must have state, in a block whose steps lie under `placement` and begin at
/// `first_step`. `before` is the placement of the previous block, null for the first. Cost O(segments * N).
StateHandover state_handover(const Placement* before, const Placement& placement,
                             const std::vector<TemporalSegment>& segments, std::int64_t first_step,
                             const LayerShape& layer, const ListScope& scope);

}  // namespace strobe
