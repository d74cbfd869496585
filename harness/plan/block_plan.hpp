// The plan of one block of steps: its part of the placements, and the exchanges within it. A schedule without
// checkpoints is one block of all steps; with them, blocks are visited one after the other (ESDG sections 3.1, 4.2).
#pragma once

#include <vector>

#include "harness/exchange/exchange_plan.hpp"
#include "harness/exchange/placed_samples.hpp"
#include "harness/exchange/state_handover.hpp"
#include "harness/inputs/step_supports.hpp"
#include "harness/plan/overlap_plan.hpp"

namespace strobe {

struct PlannedCase;  // harness/plan/planned_case.hpp

/// Everything within counts steps from `first_step`.
struct BlockPlan {
  std::int64_t first_step = 0;
  Placement spatial, temporal;
  HaloNeeds spatial_needs;
  ExchangePlan spatial_halo, to_temporal, to_spatial;
  std::vector<SlicePlan> slices;                  // of steps whose exchanges overlap compute; none in one piece
  std::vector<TemporalSegment> segments;          // of the temporal placement
  std::vector<TemporalSegment> spatial_segments;  // of the spatial placement, for layers that go step by step
  std::vector<StateHandover> handover;            // [layers]; without plans for layers that remember nothing
  StepSupports supports;                          // of layers that go step by step
  PlacedSamples train;                            // those that read embeddings of the block

  std::int64_t steps() const { return spatial.steps(); }
};

/// The blocks of the plan's schedule. Reads what the plan decided before them: graph, model, samples, strategy.
std::vector<BlockPlan> derive_blocks(const PlannedCase& plan, const ListScope& scope);

/// Steps that test samples read, ascending.
std::vector<Step> steps_tested(const PlannedCase& plan);

/// Steps that validation samples read, ascending; none of a task without validation samples, and of a shape.
std::vector<Step> steps_validated(const PlannedCase& plan);

/// The test or the validation samples under the spatial placement of the steps that they read.
PlacedSamples place_validation_samples(const PlannedCase& plan, const std::vector<Step>& steps, const ListScope& scope);
PlacedSamples place_test_samples(const PlannedCase& plan, const std::vector<Step>& steps, const ListScope& scope);

}  // namespace strobe
