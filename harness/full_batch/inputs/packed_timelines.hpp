// What one rank's temporal stages read where timelines are cut in many places or begin at different steps: lists that
// pack its cells into lanes, and matrices over them. Made once, from a plan's pieces and halos.
#pragma once

#include "backends/device.hpp"
#include "harness/full_batch/exchange/sequence_rounds.hpp"
#include "harness/full_batch/inputs/unit_rows.hpp"
#include "models/snapshots/layer_protocol.hpp"

namespace strobe {

/// The rounds of a recurrence on rank `device.rank()`: its pieces of each in lanes. `remembers` says that a block
/// follows, to which the states of the last step's cells go, each `rows_per_vertex` rows. Cost O(T N / P + N).
PackedStage pack_rounds(Device& device, const Placement& placement, const std::vector<RoundPieces>& rounds,
                        std::int64_t rows_per_vertex, bool remembers);

/// The same, unit by unit in each round: a lane for each piece, padded to the longest of its unit. No block follows.
PackedStage pad_rounds(Device& device, const Placement& placement, const std::vector<RoundPieces>& rounds,
                       std::int64_t rows_per_vertex);

/// Where the steps of a placement lie in the timeline, and how many of them lie before the block at hand.
struct EarlierSteps {
  std::int64_t first_step = 0;  // of the placement
  std::int64_t earlier = 0;     // steps whose cells want no outputs
};

/// One round for an attention over whole sequences of rows of `columns` features: the rank's cells and those that its
/// halo brings. With `ids`, the cells' numbers for dropout. Cost O(own and halo cells). With `units`, unit by unit, a
/// lane for each sequence, padded to the longest of its unit.
PackedStage pack_pasts(Device& device, const Placement& placement, const HaloNeeds& needs, const EarlierSteps& steps,
                       bool ids, std::int64_t columns, const UnitCells& units = {});

/// A window of an M-transform over rows of `columns` features: means, or the weights 1 / distance where it fades.
struct WindowShape {
  std::int64_t window = 1;
  bool fades = false;
  std::int64_t columns = 0;
};

/// One round for an M-transform, as a product with a matrix [own rows, own + halo rows]. Cost O(window * own cells).
/// With `units`, unit by unit.
PackedStage window_products(Device& device, const Placement& placement, const HaloNeeds& needs,
                            const EarlierSteps& steps, const WindowShape& shape, const UnitCells& units = {});

}  // namespace strobe
