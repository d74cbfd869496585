// How each rank walks its chunks (chunk fusion of DGC, SIGMOD'23, section 5.1). It walks them in units that each load
// the rows they read by themselves, or all together.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backends/stage_rows.hpp"
#include "harness/full_batch/exchange/sequence_rounds.hpp"
#include "harness/full_batch/plan/model_plan.hpp"
#include "harness/placement/chunks/chunk_fusion.hpp"
#include "harness/placement/strategy.hpp"

namespace strobe {

struct FullBatchCase;  // harness/full_batch/plan/full_batch_case.hpp
struct FullBatchPlan;  // harness/full_batch/plan/full_batch_plan.hpp

/// The units of one block of steps. Chunks are cut at the borders of blocks, and units are made of these parts. Units
/// are numbered rank by rank, those of rank 0 first.
struct BlockUnits {
  std::vector<std::int64_t> per_rank;  // [P] numbers of units
  /// The unit of each cell of the block, as if units were ranks. `reads` are the cells that a unit's spatial stages
  /// read and do not hold, on this rank or others.
  Placement cells;
  HaloNeeds reads;
  /// Units before the first one of `cells` and `reads`: 0, or in the plan of one rank those of lower ranks. Such a plan
  /// lists the cells of its rank's units only, and not the unit of each cell.
  std::int64_t left_out = 0;

  /// The units of a rank, as `cells` and `reads` number them: [first, first + count).
  Run of(Rank rank) const;
  std::int64_t count() const;
  /// Whose needs a plan of this scope lists, if units were ranks: those of one rank's units, or all.
  NeedScope need_scope(const ListScope& scope) const;
  PieceScope piece_scope(const ListScope& scope) const;
  /// Whether any rank has several units.
  bool several() const;
};

struct FusionPlan {
  std::string kind = "both";
  std::uint64_t limit_bytes = 0;             // most bytes of merged chunks in a block; 0: no limit is known
  double planning_seconds = 0;               // processor time of this process for finding units
  std::vector<std::int64_t> units_per_rank;  // [P] in the block where the rank has most
  /// Whether an epoch before training measures the bytes of chunks, and chunks are then merged again. This plan is the
  /// one that planned bytes give.
  bool to_measure = false;
  bool by_units_in_space = false;  // whether any rank's spatial stages go unit by unit
  bool by_units_in_time = false;   // whether sequences are those of units, padded to the unit's longest
  std::vector<std::shared_ptr<const BlockUnits>> blocks;  // [blocks] if either is true, else empty
  bool reruns = false;  // whether the backward pass computes the spatial stages of units again
  std::string note;     // why chunks are walked together whatever the limit; "" otherwise

  /// Null where all chunks of a rank are walked together.
  std::shared_ptr<const BlockUnits> of_block(std::size_t block) const;
  /// Units of all ranks in all blocks.
  std::int64_t unit_count() const;
};

/// Null for strategies without chunks. Where layers go step by step, slices overlap or a store moves snapshots, chunks
/// are walked together: throws InvalidRequest if the request wants them apart.
/// Also throws if chunks shall be measured but are not trained, or if no limit would use the measurement.
std::shared_ptr<const FusionPlan> plan_fusion(const FullBatchCase& c, const StrategyPlan& strategy);

/// Counts for the stages of all ranks together in one forward pass over all steps.
StageRows planned_stage_rows(const FullBatchPlan& plan);

/// Bytes of a unit: its rows of A, the inputs that it loads in all layers, and the results of its spatial stages.
UnitBytes bytes_of_unit(const ModelPlan& model);

/// Values of all parts of chunks, [parts], from those that each process has of the parts of its own rank. All `holders`
/// call it. One process alone has all values.
template <class T>
std::vector<T> values_of_parts(const ShareHolders& holders, const PlacedChunks& chunks, const CutChunks& parts,
                               std::vector<T> values);

/// The description that `--dry-run` prints, and one sentence for the notes of a row. The note is "" if every rank walks
/// all its chunks together.
Json describe_fusion(const FullBatchPlan& plan);
std::string fusion_note(const FusionPlan* fusion);

}  // namespace strobe
