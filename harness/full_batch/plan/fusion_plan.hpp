// How each rank walks its chunks (chunk fusion of DGC, SIGMOD'23, section 5.1). It walks them in units that each load
// the rows they read by themselves, or all together.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backends/stage_rows.hpp"
#include "harness/full_batch/exchange/exchange_plan.hpp"
#include "harness/full_batch/plan/model_plan.hpp"
#include "harness/placement/chunks/chunk_fusion.hpp"
#include "harness/placement/strategy.hpp"

namespace strobe {

struct FullBatchCase;  // harness/full_batch/plan/full_batch_case.hpp
struct FullBatchPlan;  // harness/full_batch/plan/full_batch_plan.hpp

/// Units are numbered rank by rank, those of rank 0 first.
struct FusionPlan {
  std::string kind = "both";
  std::uint64_t limit_bytes = 0;             // most bytes of merged chunks; 0: no limit is known
  double planning_seconds = 0;               // processor time of this process for finding units
  std::vector<std::int64_t> units_per_rank;  // [P]
  /// Whether an epoch before training measures the bytes of chunks, and chunks are then merged again. This plan is the
  /// one that planned bytes give.
  bool to_measure = false;
  bool by_units_in_space = false;  // whether any rank's spatial stages go unit by unit
  bool by_units_in_time = false;   // whether sequences are those of units, padded to the unit's longest
  /// If either is true: the unit of each cell, as if units were ranks. `reads` are the cells that a unit's spatial
  /// stages read and do not hold, on this rank or others.
  Placement units;
  HaloNeeds reads;
  /// Units before the first one of `units` and `reads`: 0, or in the plan of one rank those of lower ranks. Such a plan
  /// lists the cells of its rank's units only, and not the unit of each cell.
  std::int64_t left_out = 0;

  /// The units of a rank, as `units` and `reads` number them: [first, first + count).
  Run units_of(Rank rank) const;
  std::int64_t unit_count() const;
};

/// Null for strategies without chunks. Throws InvalidRequest if units do not fit the case: layers that go step by step,
/// models whose spatial stages read all rows at once, blocks of steps, overlapping slices, transfer through a store.
/// Also throws if chunks shall be measured but are not trained, or if no limit would use the measurement.
std::shared_ptr<const FusionPlan> plan_fusion(const FullBatchCase& c, const StrategyPlan& strategy);

/// Counts for the stages of all ranks together in one forward pass over all steps.
StageRows planned_stage_rows(const FullBatchPlan& plan);

/// Bytes of a unit: its rows of A, the inputs that it loads in all layers, and the results of its spatial stages.
UnitBytes bytes_of_unit(const ModelPlan& model);

/// The description that `--dry-run` prints, and one sentence for the notes of a row. The note is "" if every rank walks
/// all its chunks together.
Json describe_fusion(const FullBatchPlan& plan);
std::string fusion_note(const FusionPlan* fusion);

}  // namespace strobe
