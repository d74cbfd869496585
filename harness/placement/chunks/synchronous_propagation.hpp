// Label propagation by several processes at once, each with a share of the nodes. Rule: Eq. 2 of DGC (SIGMOD'23), as in
// label_propagation.hpp. A node takes the label that weighs most among its neighbours, among labels with room. On a tie
// it keeps its own label, otherwise it takes the smallest.
// Method: a round has two sub-rounds. A seeded coin of each label says in which of them it may lose nodes; in the other
// it may gain some. All nodes of labels that may lose choose from the state at the beginning of the sub-round. A node
// whose choice may gain moves, if the label has room for it. Nodes of the largest gain come first, then those of the
// smallest number.
// So a node never moves to a label that a neighbour leaves at the same time. Neighbours that stay keep their labels,
// and neighbours that move along only add weight. Hence the weight within labels grows by at least the sum of all
// gains. The process that counts the cells of a label grants its room, so no label ever has more than `max_cells`. All
// choices depend on numbers of nodes, labels and the seed. So the result is the same at every number of processes. It
// ends after two sub-rounds in a row, of one coin, in which no node wants to move. Source of propagation in phases
// without conflicts: Cordasco and Gargano, Community detection via semi-synchronous label propagation algorithms, BASNA
// 2010. They colour nodes where this colours labels. Memory of a process: 7 bytes for each own and 5 for each remote
// node, 8 for each label that it counts, and those labels of all processes that are nearly full.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/placement/chunks/chunk_graph.hpp"
#include "harness/placement/chunks/remote_nodes.hpp"
#include "harness/placement/chunks/super_graph.hpp"

namespace strobe {

struct PropagationLimits {
  std::int64_t max_cells = 1;  // of a label
  std::int64_t rounds = 1;     // at most
  std::uint64_t seed = 0;
};

/// The labels that one process knows at the end.
struct SharedLabels {
  std::vector<std::uint32_t> label;  // [own and remote nodes]
  NodeShares counted;                // the process that counts the cells of each label
  std::vector<std::int64_t> cells;   // of the labels that this process counts
  std::int64_t rounds = 0;           // finished rounds
  std::int64_t moved_last = 0;       // nodes of all processes that changed their label in the last round
};

/// The graph of chunks that processes share. Rows are those of own chunks. Neighbours are own chunks from 0 on, and
/// remote ones after them. Every chunk begins with its number as its label.
struct ChunkGraphShare {
  ChunkGraph graph;
  NodeShares shares;
  RemoteNodes remote;
};

/// Labels of cells; moves the first ones out of `share`. All `holders` call it.
SharedLabels propagate_together(SuperGraphShare& share, const PropagationLimits& limits, const ShareHolders& holders);

/// Labels of chunks at a level of coarsening, from 1 on. All `holders` call it.
SharedLabels propagate_together(const ChunkGraphShare& share, std::uint32_t level, const PropagationLimits& limits,
                                const ShareHolders& holders);

}  // namespace strobe
