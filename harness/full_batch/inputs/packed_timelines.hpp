// The inputs of one rank's temporal stages where timelines are cut in many places or begin at different steps. Lists
// pack its cells into bins, and matrices multiply them. They are made once, from a plan's pieces and halos.
#pragma once

#include "backends/device.hpp"
#include "harness/full_batch/exchange/sequence_rounds.hpp"
#include "harness/full_batch/inputs/unit_rows.hpp"
#include "harness/full_batch/inputs/visible_cells.hpp"
#include "models/snapshots/layer_protocol.hpp"

namespace strobe {

/// The rounds of a recurrence on rank `device.rank()`, with its pieces of each round in bins. `remembers` says that a
/// block follows. The states of the last step's cells then go to it, `rows_per_vertex` rows each. Cost O(T N / P + N).
PackedStage pack_rounds(Device& device, const Placement& placement, const std::vector<RoundPieces>& rounds,
                        std::int64_t rows_per_vertex, bool remembers);

/// The same, unit by unit in each round: a bin for each piece, padded to the longest of its unit.
PackedStage pad_rounds(Device& device, const Placement& placement, const std::vector<RoundPieces>& rounds,
                       std::int64_t rows_per_vertex, bool remembers);

/// Where the steps of a placement lie in the timeline, and how many of them lie before the current block.
struct EarlierSteps {
  std::int64_t first_step = 0;  // of the placement
  std::int64_t earlier = 0;     // steps whose cells need no outputs
};

/// One round for an attention over whole sequences of rows with `columns` features. It reads the rank's cells and those
/// of its halo. With `ids` it has the cells' numbers for dropout. With `units` it goes unit by unit: a bin for each
/// sequence, padded to the longest of its unit. Cost O(own and halo cells).
PackedStage pack_pasts(Device& device, const Placement& placement, const HaloNeeds& needs, const EarlierSteps& steps,
                       bool ids, std::int64_t columns, const UnitCells& units = {});

/// A window of an M-transform over rows of `columns` features. It takes means, or weights of 1 / distance if it fades.
struct WindowShape {
  std::int64_t window = 1;
  bool fades = false;
  std::int64_t columns = 0;
  bool lasting = true;  // MatrixUse::lasting
};

/// One round for an M-transform, as a product with a matrix [own rows, own + halo rows]. Cost O(window * own cells).
/// With `units`, unit by unit.
PackedStage window_products(Device& device, const Placement& placement, const HaloNeeds& needs,
                            const EarlierSteps& steps, const WindowShape& shape, const UnitCells& units = {});

/// The timelines that one pass walks, from step 0 on.
struct PassTimelines {
  const VisibleCells& cells;  // all own
  std::int64_t vertices = 0;  // N of the graph
  std::int64_t steps = 0;
  bool ids = false;  // whether an attention has the cells' numbers for dropout
};

/// The stage of `layer`, which walks timelines, where a rank reads only cells that it holds and nothing precedes or
/// follows. It serves one pass. Cost O(cells), times the window of an M-transform.
PackedStage pack_alone(Device& device, const PassTimelines& lines, const LayerShape& layer);

}  // namespace strobe
