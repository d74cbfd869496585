// A chunk with the cells that it reads, as a small case of two ranks: rank 0 owns the chunk, rank 1 the rest. What rank
// 0 computes is what a rank computes of the chunk in training.
#pragma once

#include <memory>
#include <span>

#include "harness/full_batch/plan/full_batch_plan.hpp"
#include "harness/placement/chunks/learned/chunk_sizes.hpp"

namespace strobe {

/// The plan of the chunk of `nodes` (ascending) of the prepared graph of `whole`, a case of two ranks. Cells of rank 1
/// are those that the chunk's rows of A and of the supports read, all earlier cells of its sequences, and one cell that
/// reads a cell of the chunk, as in a run other chunks do. Rank 1's rows are otherwise without entries, since nobody
/// computes them. Steps are those from 0 to the chunk's last.
std::shared_ptr<const FullBatchPlan> plan_chunk_alone(const FullBatchCase& whole, const SizedCells& cells,
                                                      std::span<const NodeId> nodes);

}  // namespace strobe
