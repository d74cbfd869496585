// The plan of one block of steps: its part of the placements, and the exchanges within it. A schedule without
// checkpoints is one block of all steps; with them, blocks are visited one after the other (ESDG sections 3.1, 4.2).
#pragma once

#include <vector>

#include "harness/exchange/exchange_plan.hpp"
#include "harness/exchange/placed_samples.hpp"
#include "harness/exchange/state_handover.hpp"
#include "harness/inputs/step_supports.hpp"
#include "harness/placement/strategy.hpp"
#include "harness/plan/overlap_plan.hpp"

namespace strobe {

struct FullBatchCase;  // harness/plan/full_batch_case.hpp

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

/// The blocks of the strategy's schedule.
std::vector<BlockPlan> derive_blocks(const FullBatchCase& c, const StrategyPlan& strategy);

/// Samples that are evaluated, under the spatial placement of the steps that they read.
struct EvaluationPlan {
  std::vector<Step> test_steps;  // ascending
  PlacedSamples test;
  std::vector<Step> validation_steps;  // likewise; empty where the task has none
  PlacedSamples validation;
};

/// The test and validation samples of the case under the spatial placement of all steps.
EvaluationPlan place_evaluated(const FullBatchCase& c, const Placement& spatial);

}  // namespace strobe
