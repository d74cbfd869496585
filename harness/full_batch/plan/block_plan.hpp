// The plan of one block of steps: its part of the placements, and the exchanges within it. A schedule without
// checkpoints is one block of all steps. With checkpoints, blocks are visited one after the other (ESDG sections 3.1,
// 4.2).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "harness/full_batch/exchange/exchange_plan.hpp"
#include "harness/full_batch/exchange/placed_samples.hpp"
#include "harness/full_batch/exchange/sequence_rounds.hpp"
#include "harness/full_batch/exchange/state_handover.hpp"
#include "harness/full_batch/inputs/step_supports.hpp"
#include "harness/full_batch/plan/fusion_plan.hpp"
#include "harness/full_batch/plan/overlap_plan.hpp"
#include "harness/placement/strategy.hpp"

namespace strobe {

struct FullBatchCase;  // harness/full_batch/plan/full_batch_case.hpp

/// How a layer walks timelines that are not rectangles: in rounds that hand their states on, or with a temporal halo. A
/// halo brings rows of the block and of `earlier` steps before it. On their owners, the earlier rows come first.
/// Training that does not wait at cuts (CutStates) has one round. Its hand-over, if any, leads to the next epoch.
struct PackedPlan {
  Placement placement;                 // temporal, of the earlier steps and the block
  std::int64_t earlier = 0;            // 0 for a recurrence
  std::vector<RoundPieces> rounds;     // for a recurrence
  std::vector<ExchangePlan> handover;  // [rounds - 1]
  StateShape state;
  HaloNeeds needs;    // for a window or an attention
  ExchangePlan halo;  // for a window or an attention
  /// The block's units, if sequences are walked unit by unit. For a window or an attention, `unit_cells` places the
  /// cells of the earlier steps and the block: those of the block on their units, and those before it on one owner for
  /// each rank, numbered after the units. `unit_needs` are the cells that a unit reads and does not hold.
  std::shared_ptr<const BlockUnits> units = nullptr;
  Placement unit_cells = {};
  HaloNeeds unit_needs = {};
};

/// All steps within count from `first_step`.
struct BlockPlan {
  std::int64_t first_step = 0;
  Placement spatial, temporal;
  HaloNeeds spatial_needs;
  ExchangePlan spatial_halo, to_temporal, to_spatial;
  std::vector<SlicePlan> slices;          // of steps whose exchanges overlap compute; empty for a block in one piece
  std::vector<TemporalSegment> segments;  // of the temporal placement
  std::vector<TemporalSegment> spatial_segments;          // of the spatial placement, for layers that go step by step
  std::vector<StateHandover> handover;                    // [layers]; without plans for layers without state
  std::vector<std::shared_ptr<const PackedPlan>> packed;  // [layers]; null where timelines are rectangles
  std::vector<std::shared_ptr<const PackedPlan>>
      trained;  // [layers]; of training passes; `packed` where those are exact
  std::vector<std::optional<ExchangePlan>> earlier_steps;  // [layers]; replace hand-overs from segment to segment
  StepSupports supports;                                   // for layers that go step by step
  PlacedSamples train;                                     // samples that read embeddings of the block
  std::shared_ptr<const BlockUnits> units = nullptr;       // of spatial stages; null where ranks have one each
  double readers = 1;  // ranks that need a page of the block's file, on average; known for simulated jobs

  std::int64_t steps() const { return spatial.steps(); }
  /// Whether training passes of the layer do not wait where timelines are cut, and so differ from evaluations.
  bool trains_at_once(std::size_t layer) const { return trained[layer] != packed[layer]; }
};

/// The blocks of the strategy's schedule.
std::vector<BlockPlan> derive_blocks(const FullBatchCase& c, const StrategyPlan& strategy,
                                     const std::shared_ptr<const FusionPlan>& fusion = nullptr);

/// Whether timelines under the temporal placement of the strategy are walked packed. They are if cells are missing, if
/// timelines are cut at different steps, if a rank's whole steps are not one run, or if training does not wait at cuts.
bool walks_packed(const FullBatchCase& c, const StrategyPlan& strategy);

/// Packed plans of the block `steps`, by layer; null for layers that walk no timelines. With `units`, sequences are
/// walked unit by unit.
std::vector<std::shared_ptr<const PackedPlan>> packed_plans(const FullBatchCase& c, const Placement& temporal,
                                                            const Run& steps,
                                                            const std::shared_ptr<const BlockUnits>& units = nullptr);

/// The plans of training passes, from those of exact passes.
std::vector<std::shared_ptr<const PackedPlan>> trained_plans(
    const FullBatchCase& c, CutStates states, const std::vector<std::shared_ptr<const PackedPlan>>& exact);

/// Throws InvalidRequest if the case has options or layers with which training has to wait at cuts of timelines.
void check_states(const FullBatchCase& c, const StrategyPlan& strategy, const FusionPlan* fusion);

/// Evaluated samples, under the spatial placement of the steps that they read.
struct EvaluationPlan {
  std::vector<Step> test_steps;  // ascending
  PlacedSamples test;
  std::vector<Step> validation_steps;  // ascending; empty if the task has none
  PlacedSamples validation;
};

/// The test and validation samples of the case under the spatial placement of all steps.
EvaluationPlan place_evaluated(const FullBatchCase& c, const Placement& spatial);

}  // namespace strobe
