// The plan of full-batch training: every cell once in an epoch, one update. Placements say who owns which cell in each
// stage. Blocks of steps with their exchanges follow from them (ESDG sections 3.1, 4).
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "harness/full_batch/plan/block_plan.hpp"
#include "harness/full_batch/plan/full_batch_case.hpp"
#include "harness/full_batch/plan/fusion_plan.hpp"
#include "harness/full_batch/plan/stale_plan.hpp"

namespace strobe {

struct FullBatchPlan : FullBatchCase {
  StrategyPlan strategy;
  std::vector<BlockPlan> blocks;  // of the schedule, in order
  EvaluationPlan evaluation;
  std::vector<std::string> notes;  // assumptions, one sentence each
  StalePlan stale;
  std::shared_ptr<const FusionPlan> fusion;  // null for strategies without chunks
  /// Bytes that all ranks together send in one epoch, by traffic, in order of `traffic_names`. If rows may be stale, in
  /// the first epoch.
  PerTraffic<std::uint64_t> planned_bytes{};
  std::uint64_t exchange_bytes = 0;  // approximate memory of the plans of all exchanges

  /// Whether the last block keeps its records from the first forward pass, so that it is not computed again.
  bool keeps_last_block() const { return options.keeps_last_block(blocks.size()); }
};

/// Whether training passes of any layer do not wait where timelines are cut (CutStates).
bool trains_at_once(const std::vector<BlockPlan>& blocks);

/// Loads the case's data, unless they are in `cache`, and builds its model. Throws InvalidRequest or InvalidInput.
/// Throws Unavailable if a plan to run meets a world of another size.
FullBatchCase begin_full_batch(const Case& request, PlanUse use, const DataCache& cache = {});

/// Asks the strategy and derives the exchanges, in `blocks` blocks of steps. Throws InvalidRequest if the graph cannot
/// be divided in this way. Memory of exchanges may grow with ranks squared. If it exceeds that of the machine or the
/// process's limit, throws InvalidRequest("/ranks", ...) before taking any.
std::shared_ptr<FullBatchPlan> lay_out(const FullBatchCase& c, std::int64_t blocks);
/// The same for a plan that a strategy has made.
std::shared_ptr<FullBatchPlan> lay_out(const FullBatchCase& c, StrategyPlan strategy);

/// The size of the largest block falls as the number of blocks grows. Returns the smallest number of blocks for each
/// size of block, ascending from 1 to `steps`.
std::vector<std::int64_t> useful_block_counts(std::int64_t steps);

/// The bytes that these blocks will send in one epoch. The last block is walked twice unless `keeps_last`.
PerTraffic<std::uint64_t> count_planned_bytes(const FullBatchCase& c, const std::vector<BlockPlan>& blocks,
                                              bool keeps_last);

/// Bytes from rank to rank of one forward pass of an exchange of rows of `row_bytes`: [P][P].
std::vector<std::vector<std::uint64_t>> byte_matrix(const ExchangePlan& plan, std::uint64_t row_bytes);

/// The description that `--dry-run` prints (SchedulePlan::describe), and the digest that must be equal on all ranks
/// (SchedulePlan::digest).
Json describe(const FullBatchPlan& plan);
std::string digest_of(const FullBatchPlan& plan);

}  // namespace strobe
