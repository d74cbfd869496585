// How each rank walks the chunks that it owns (chunk fusion of DGC, SIGMOD'23, section 5.1): in units, which load what
// they read by themselves, or all together.
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

/// Units are numbered rank by rank.
struct FusionPlan {
  std::string kind = "both";
  std::uint64_t limit_bytes = 0;   // that merged chunks may take; 0: no limit is known
  double planning_seconds = 0;     // processor time of this process that finding units took
  std::vector<Rank> rank_of_unit;  // [U] ascending
  /// Whether what chunks take is measured in an epoch before training, and chunks are then merged anew: this plan is
  /// the one that planned bytes give.
  bool to_measure = false;
  bool by_units_in_space = false;  // whether any rank's spatial stages go unit by unit
  bool by_units_in_time = false;   // whether sequences are those of units, padded to the unit's longest
  /// Where either is true: the unit of each cell, as if units were ranks; and the cells that spatial stages of a unit
  /// read and do not hold, on this rank or others.
  Placement units;
  HaloNeeds reads;

  /// The units of a rank are [first, first + count).
  Run units_of(Rank rank) const;
  std::vector<std::int64_t> units_per_rank(int ranks) const;
};

/// Null for strategies without chunks. Throws InvalidRequest where units do not go with the case: layers that go step
/// by step, models whose spatial stages read all rows at once, blocks of steps, overlapping slices, transfer through a
/// store; and where chunks shall be measured, but are not trained, or no limit would use it.
std::shared_ptr<const FusionPlan> plan_fusion(const FullBatchCase& c, const StrategyPlan& strategy);

/// What the stages of all ranks together go through in one forward pass over all steps.
StageRows planned_stage_rows(const FullBatchPlan& plan);

/// What a unit takes: its rows of A, the inputs that it loads in all layers, and what its spatial stages make of them.
UnitBytes bytes_of_unit(const ModelPlan& model);

/// What `--dry-run` prints of it, and one sentence for the notes of a row; "" where every rank walks all its chunks
/// together.
Json describe_fusion(const FullBatchPlan& plan);
std::string fusion_note(const FusionPlan* fusion, int ranks);

}  // namespace strobe
