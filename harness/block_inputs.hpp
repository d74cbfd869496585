// How a block's graph and features come to a rank's device. Device memory is taken when a block's inputs are brought
// and given back when they are dropped, so that only the current block lies there (ESDG section 3.2).
#pragma once

#include "harness/cell_rows.hpp"
#include "harness/local_graph.hpp"
#include "harness/planned_case.hpp"

namespace strobe {

/// What a rank computes one chunk of a block from.
struct ChunkInputs {
  LocalGraph graph;
  CellRows cells;
};

/// What a rank computes one block from.
struct BlockInputs {
  LocalGraph graph;
  StepMatrices supports;
  CellRows cells;                   // of the spatial stages
  std::vector<ChunkInputs> chunks;  // instead of all these where the block has chunks

  /// Structure, values and features: what streaming the block moves.
  std::uint64_t bytes() const;
};

/// Moves rank `device.rank()`'s inputs of `block` to its device. With `lasting` they will be computed with many times,
/// and get the forms that make products faster. Cost O(rank's non-zeros and cells of the block).
BlockInputs bring_inputs(Device& device, const PlannedCase& plan, const BlockPlan& block, bool lasting);

}  // namespace strobe
