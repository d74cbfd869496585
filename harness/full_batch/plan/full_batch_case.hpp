// What full-batch planning begins with: the data, the model, and the options that belong to this kind of training
// alone.
#pragma once

#include <string>

#include "harness/full_batch/exchange/exchange_plan.hpp"
#include "harness/full_batch/plan/data_plan.hpp"
#include "harness/full_batch/plan/model_plan.hpp"
#include "harness/request/schedule_tag.hpp"

namespace strobe {

/// The options of a case that mean something for full-batch training only (full_batch_options).
struct FullBatchOptions {
  std::int64_t blocks = 1;         // of the checkpointed timeline; 0 = as few as fit into memory
  bool resident = false;           // inputs move to the device once, not in each epoch
  std::string transfer;            // direct | full | difference | changed | least
  bool transfer_in_coo64 = false;  // snapshots' indices as the paper moves them, not as csr32
  std::int64_t overlap = 1;        // slices of a rank's steps of a block whose exchanges overlap compute
  bool rerun_last = true;          // compute the last block again, too, before its backward pass
  bool packs = true;               // timelines cut anywhere are walked in rounds; false: step by step (a judge)

  /// Whether snapshots move one by one through a store, and not as the rank's part of a block in one piece.
  bool moves_snapshots() const { return transfer != "direct"; }
  /// Whether the last of so many blocks keeps its records from the first forward pass.
  bool keeps_last_block(std::size_t of_blocks) const { return of_blocks == 1 || !rerun_last; }
};

/// Throws InvalidRequest("/nb", ...) for a number of blocks that is none.
FullBatchOptions full_batch_options(const Case& c);

struct FullBatchCase {
  Case request;
  PlanUse use = PlanUse::run;
  FullBatchOptions options;
  DataPlan data;
  ModelPlan model;

  int ranks() const { return static_cast<int>(request.ranks); }
  /// Index lists are only made where values will move: never for shape-only numerics or a report, for one rank under
  /// mpirun.
  ListScope list_scope() const;
};

}  // namespace strobe
