// Chunk generation by label propagation (DGC, SIGMOD'23, section 4.1): every cell begins with a label of its own (Eq.
// 1) and takes, round after round, the label with the largest weight among its neighbours (Eq. 2), as long as fewer
// than `max_cells` cells have it. Cells with one label are a chunk. Readings (decisions G7, G8): cells are asked one
// after the other and see what those before them took, so the weight within labels grows with every change and nothing
// oscillates; of labels that weigh the same the cell keeps its own, else it takes the smallest. The order is a seeded
// permutation of the sequences, each from its first step to its last. One thread walks it, so the result is the same
// however many there are. A cell is asked again only when a neighbour's label has changed, or a label that was full
// might have been better: the outcome is that of asking all. Memory: 9 bytes a cell and 4 a sequence beside the super
// graph, whose first labels become the result. Cost of a round: O(edges of the cells asked), times log(length) where
// edges reach a whole sequence.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/placement/chunks/super_graph.hpp"

namespace strobe {

struct PropagatedLabels {
  std::vector<std::uint32_t> label;  // [nodes]
  std::int64_t rounds = 0;           // that were gone through
  std::int64_t moved_last = 0;       // cells that changed their label in the last of them
};

/// Labels of the nodes of `graph`, whose first labels it takes; at most `rounds`, and no more once nothing moves.
/// `max_cells` is at least 1.
PropagatedLabels propagate_labels(SuperGraph& graph, std::int64_t max_cells, std::int64_t rounds, std::uint64_t seed);

}  // namespace strobe
