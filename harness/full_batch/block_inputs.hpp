// Moves a block's graph and features to a rank's device. Bringing a block's inputs takes device memory, and dropping
// them releases it. So only the current block lies there (ESDG section 3.2).
#pragma once

#include "harness/full_batch/inputs/cell_rows.hpp"
#include "harness/full_batch/inputs/local_graph.hpp"
#include "harness/full_batch/plan/full_batch_plan.hpp"
#include "models/snapshots/layer_protocol.hpp"

namespace strobe {

/// The inputs from which a rank computes one slice of a block.
struct SliceInputs {
  LocalGraph graph;
  CellRows cells;
};

/// The inputs from which a rank computes one block.
struct BlockInputs {
  LocalGraph graph;
  StepMatrices supports;
  CellRows cells;                               // of the spatial stages
  std::vector<SliceInputs> slices;              // replace all of these if the block has slices
  std::vector<RowUnit> units;                   // replace graph.a if chunks are walked one by one
  std::vector<std::uint64_t> unit_bytes;        // bytes moved to load each unit
  std::vector<std::uint64_t> unit_memory = {};  // device bytes that each unit holds, with forms and lists

  /// Bytes of structure, values and features that streaming the block moves: one number in all, or one per unit.
  std::vector<std::uint64_t> bytes() const;
};

/// The purpose of a block's inputs. Only lasting inputs are worth the forms that make products faster.
enum class Visit {
  lasting,         // many passes
  forward,         // one forward pass
  differentiated,  // a forward and a backward pass
};

/// How the layers of `plan` use the matrix of a block that is brought for `visit`. `own` says that every neighbour is
/// an own row.
MatrixUse use_by_layers(const FullBatchPlan& plan, Visit visit, bool own);

/// Moves the inputs of `block` for rank `device.rank()` to its device. With `parts`, the host's work on the graph of
/// the block is kept there and moved again the next time. Cost O(rank's non-zeros and cells of the block).
BlockInputs bring_inputs(Device& device, const FullBatchPlan& plan, const BlockPlan& block, Visit visit,
                         HostParts* parts = nullptr);

}  // namespace strobe
