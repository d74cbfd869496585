// A chunk with the cells that it reads, as a small case of two ranks: rank 0 owns the chunk, rank 1 the rest. Rank 0
// computes the same as a rank computes for the chunk in training.
#pragma once

#include <memory>
#include <span>

#include "harness/full_batch/plan/full_batch_plan.hpp"
#include "harness/placement/chunks/learned/chunk_sizes.hpp"

namespace strobe {

/// The plan of the chunk of `nodes` (ascending) in the prepared graph of `whole`, a case of two ranks. Steps run from 0
/// to the chunk's last. Rank 1 owns the cells that the chunk's rows of A and of the supports read, and all earlier
/// cells of its sequences. It also owns one cell that reads a cell of the chunk, in place of other chunks. Its other
/// rows have no entries, because nothing computes them.
std::shared_ptr<const FullBatchPlan> plan_chunk_alone(const FullBatchCase& whole, const SizedCells& cells,
                                                      std::span<const NodeId> nodes);

}  // namespace strobe
