// Chunk generation by label propagation (DGC, SIGMOD'23, section 4.1).
// Method: every cell begins with its own label (Eq. 1). In each round a cell takes the label with the largest weight
// among its neighbours (Eq. 2), as long as fewer than `max_cells` cells have that label. Cells with one label are a
// chunk.
// Readings (decisions G7, G8): cells are asked one after the other and see the labels that earlier cells took. So the
// weight within labels grows with every change, and nothing oscillates. If labels weigh the same, the cell keeps its
// own; otherwise it takes the smallest.
// The order is a seeded permutation of the sequences, each from its first step to its last. One thread walks it, so the
// result does not depend on the number of threads. A cell is asked again only when a neighbour's label changed, or when
// a full label might have been better. The outcome equals that of asking all cells.
// Memory: 9 bytes a cell and 4 a sequence, in addition to the super graph, whose first labels become the result. Under
// a bound of memory (reading_bound.hpp) large arrays of cells lie in temporary files. Cost of a round: O(edges of the
// cells asked), times log(length) where edges reach a whole sequence.
#pragma once

#include <cstdint>

#include "harness/placement/chunks/super_graph.hpp"

namespace strobe {

struct PropagatedLabels {
  Column<std::uint32_t> label;  // [nodes]
  std::int64_t rounds = 0;      // finished rounds
  std::int64_t moved_last = 0;  // cells that changed their label in the last round
};

/// Returns labels of the nodes of `graph`, and moves its first labels out of it. Runs at most `rounds` rounds and stops
/// once nothing moves. `max_cells` is at least 1.
PropagatedLabels propagate_labels(SuperGraph& graph, std::int64_t max_cells, std::int64_t rounds, std::uint64_t seed);

}  // namespace strobe
