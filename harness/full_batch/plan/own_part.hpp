// The part of a full-batch plan that one rank keeps, where each rank is a process.
#pragma once

#include "harness/full_batch/plan/full_batch_plan.hpp"

namespace strobe {

class NodeStore;  // workloads/storage/node_store.hpp

/// Drops the lists of other ranks: their cells, what they read from others, and their samples. Counts stay. Lists that
/// concern all ranks go into files of `node`, where there is one: the rank of each cell, and whose each evaluated
/// sample is. Afterwards the plan trains `rank` only, and cannot be laid out again. Units of chunks stay whole.
void keep_own_part(FullBatchPlan& plan, Rank rank, const NodeStore* node);

}  // namespace strobe
