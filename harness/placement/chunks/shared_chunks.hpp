// Chunks and the ranks of their cells, made once for all processes of a node.
#pragma once

#include <functional>

#include "harness/placement/chunks/placed_chunks.hpp"
#include "harness/placement/strategy.hpp"

namespace strobe {

struct PlacedCells {
  std::shared_ptr<const PlacedChunks> chunks;
  Placement placement;
};

/// The chunks that `make` returns, and the placement of their cells. Where a case has processes of its own
/// (StrategyInput::node), one process of each node makes them, and its chunks and owners of cells become a file that
/// all map. The placement of a rank's process lists the runs of its own rank only. With a node, chunks are made within
/// its bound of memory. Throws what `make` and NodeStore::get throw.
PlacedCells place_once(const StrategyInput& input, const std::function<PlacedChunks()>& make);

}  // namespace strobe
