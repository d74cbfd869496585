// Handing temporal state over where a placement cuts timelines: a timeline is walked in segments, each on the ranks
// that own its steps, and what the encoder remembers moves from the owners of one segment to the owners of the next.
#pragma once

#include <vector>

#include "harness/full_batch/exchange/exchange_plan.hpp"
#include "models/snapshots/layer_protocol.hpp"

namespace strobe {

/// The segments of a placement in order of time; one when timelines lie whole.
std::vector<TemporalSegment> temporal_segments(const Placement& placement);

/// The state exchanges of one layer in one block of steps: plans[s] brings the state to the owners of segment s, from
/// those of the segment before it, which for s = 0 is the last one of the block before.
struct StateHandover {
  std::vector<StateShape> shape;    // [segments + 1]; of the state that segment s starts from, and of what lies behind
  std::vector<ExchangePlan> plans;  // [segments]; plans[0] is not used in the first block
};

/// Whether ranks hold whole steps, those of one segment each. What a window or an attention reads of earlier steps then
/// comes to all of them at once, and no rank waits for the one before it.
bool owns_one_segment(const Placement& placement, const std::vector<TemporalSegment>& segments);

/// The temporal halo of such a placement: rows of x to the inputs of earlier steps that the rank's segment reads, in
/// the order of state_shape(layer, first step). A row may go to many ranks.
ExchangePlan earlier_steps(const Placement& placement, const std::vector<TemporalSegment>& segments,
                           const LayerShape& layer, const ListScope& scope);

/// Hand-overs of `layer`, which remembers something, in a block whose steps lie under `placement`, from `first_step`
/// on. `before` is the placement of the block before, null for the first. Cost O(segments * N).
StateHandover state_handover(const Placement* before, const Placement& placement,
                             const std::vector<TemporalSegment>& segments, std::int64_t first_step,
                             const LayerShape& layer, const ListScope& scope);

}  // namespace strobe
