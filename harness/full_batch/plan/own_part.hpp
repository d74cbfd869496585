// The part of a full-batch plan that one rank keeps, where each rank is a process.
#pragma once

#include "harness/full_batch/plan/full_batch_plan.hpp"

namespace strobe {

class NodeStore;  // workloads/storage/node_store.hpp

/// Drops the lists of other ranks: their cells and units of chunks, what they read from others, and their samples.
/// Counts stay. Lists that concern all ranks go into files of `node`, where there is one: the rank and the chunk of
/// each cell, and loads of vertices. Afterwards the plan trains `rank` only.
void keep_own_part(FullBatchPlan& plan, Rank rank, const NodeStore* node);

/// Loads whose arrays are in files of `node`, where there is one.
std::shared_ptr<const VertexLoads> shared(const VertexLoads& loads, const NodeStore* node);

}  // namespace strobe
