// How a block's graph and features come to a rank's device. Device memory is taken when a block's inputs are brought
// and given back when they are dropped, so that only the current block lies there (ESDG section 3.2).
#pragma once

#include "harness/full_batch/inputs/cell_rows.hpp"
#include "harness/full_batch/inputs/local_graph.hpp"
#include "harness/full_batch/plan/full_batch_plan.hpp"
#include "models/snapshots/layer_protocol.hpp"

namespace strobe {

/// What a rank computes one slice of a block from.
struct SliceInputs {
  LocalGraph graph;
  CellRows cells;
};

/// What a rank computes one block from.
struct BlockInputs {
  LocalGraph graph;
  StepMatrices supports;
  CellRows cells;                               // of the spatial stages
  std::vector<SliceInputs> slices;              // instead of all these where the block has slices
  std::vector<RowUnit> units;                   // in place of graph.a where chunks are walked one by one
  std::vector<std::uint64_t> unit_bytes;        // that moving in each of these takes
  std::vector<std::uint64_t> unit_memory = {};  // that each of these holds on the device, with forms and lists

  /// Structure, values and features: what streaming the block moves, in one piece or, of units, in one for each.
  std::vector<std::uint64_t> bytes() const;
};

/// What the inputs of a block are brought for. Only what lasts is worth forms that make products faster.
enum class Visit {
  lasting,         // many passes
  forward,         // one forward pass
  differentiated,  // a forward and a backward pass
};

/// How the layers of `plan` use the matrix of a block that is brought for `visit`; `own` says that every neighbour is
/// an own row.
MatrixUse use_by_layers(const FullBatchPlan& plan, Visit visit, bool own);

/// Moves rank `device.rank()`'s inputs of `block` to its device. With `parts`, what the host makes of the graph for the
/// block is kept there and moved again the next time. Cost O(rank's non-zeros and cells of the block).
BlockInputs bring_inputs(Device& device, const FullBatchPlan& plan, const BlockPlan& block, Visit visit,
                         HostParts* parts = nullptr);

}  // namespace strobe
