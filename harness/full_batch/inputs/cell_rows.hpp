// Which cell each of a rank's rows is, for models whose operations depend on the step or draw random numbers per cell.
#pragma once

#include "backends/device.hpp"
#include "harness/full_batch/exchange/exchange_plan.hpp"
#include "models/snapshots/model.hpp"

namespace strobe {

/// The position of a block's steps in the timeline whose embeddings are computed.
struct BlockSteps {
  std::int64_t first_step = 0;
  std::int64_t all_steps = 0;
  std::int64_t trained_steps = 0;      // CellRows::trained_steps
  const Presence* presence = nullptr;  // null: all cells exist
};

/// The rows of `rank` under the block's `placement`, with the cells' numbers if `ids`. Without a rank, those of
/// `device.rank()`. Cost O(rows).
CellRows make_cell_rows(Device& device, const Placement& placement, const BlockSteps& block, bool ids, Rank rank);
CellRows make_cell_rows(Device& device, const Placement& placement, const BlockSteps& block, bool ids);

/// The rows of spatial stages whose halo brings `needs`, with the lists that a model of these traits reads.
CellRows make_spatial_rows(Device& device, const Placement& placement, const BlockSteps& block, const HaloNeeds& needs,
                           const ModelTraits& traits, Rank rank);
CellRows make_spatial_rows(Device& device, const Placement& placement, const BlockSteps& block, const HaloNeeds& needs,
                           const ModelTraits& traits);

}  // namespace strobe
