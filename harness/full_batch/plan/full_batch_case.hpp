// The start of full-batch planning: the data, the model, and the options of this kind of training.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "harness/full_batch/exchange/exchange_plan.hpp"
#include "harness/full_batch/plan/data_plan.hpp"
#include "harness/full_batch/plan/model_plan.hpp"
#include "harness/request/schedule_tag.hpp"
#include "workloads/partitioners/graph_share.hpp"

namespace strobe {

class NodeStore;  // workloads/storage/node_store.hpp

/// The options of a case that only full-batch training has (full_batch_options).
struct FullBatchOptions {
  std::int64_t blocks = 1;         // of the checkpointed timeline; 0 = the smallest number that fits into memory
  bool resident = false;           // inputs move to the device once, not in each epoch
  std::string transfer;            // direct | full | difference | changed | least
  bool transfer_in_coo64 = false;  // move snapshots' indices as the paper does, not as csr32
  std::int64_t overlap = 1;        // slices of a rank's steps of a block whose exchanges overlap compute
  bool rerun_last = true;          // also compute the last block again before its backward pass
  bool from_file = false;          // inputs are read from a mapped file ahead of their use, and the host keeps no copy
  int servers = 0;                 // ranks that carry rows of halos and states, and sum gradients; 0: peers do
  bool packs = true;  // walk timelines that are cut anywhere in rounds; false: step by step, for comparison in tests

  /// Whether snapshots move one by one through a store, instead of the rank's part of a block in one piece.
  bool moves_snapshots() const { return transfer != "direct"; }
  /// Whether the last of `of_blocks` blocks keeps its records from the first forward pass.
  bool keeps_last_block(std::size_t of_blocks) const { return of_blocks == 1 || !rerun_last; }
};

/// Throws InvalidRequest("/nb", ...) for an invalid number of blocks.
FullBatchOptions full_batch_options(const Case& c);

struct FullBatchCase {
  Case request;
  PlanUse use = PlanUse::run;
  FullBatchOptions options;
  DataPlan data;
  ModelPlan model;
  std::shared_ptr<const NodeStore> node = nullptr;  // of arrays that processes share; null: this one shares nothing
  const ShareHolders* together = nullptr;           // while they make exchanges through servers (ListScope)

  int ranks() const { return static_cast<int>(request.ranks); }
  /// Index lists are made only where values will move: for one rank under mpirun, and never for shape-only numerics or
  /// a report.
  ListScope list_scope() const;
  /// The rank of this process, where each rank is a process that trains; else nothing.
  std::optional<Rank> only_rank() const;
  /// The processes that plan this case together: those of a launch over `mpi`, whose libraries of partitioners speak
  /// MPI. A report is planned by one process.
  ShareHolders share_holders() const;
};

}  // namespace strobe
