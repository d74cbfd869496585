// The hypergraph of what a placement of cells sends: one net for each row that other ranks may read.
// A net's pins are the row's own cell and the cells that read it. A row goes once to each other rank that reads it, so
// a net costs its weight times (number of ranks of its pins - 1): connectivity minus one (Catalyurek and Aykanat, IEEE
// TPDS 10(7), 1999; ESDG, SC'21, section 4.1).
// The nets of one cell are those of its neighbours' products, one for each matrix; of the training samples that read
// its embedding; of its recurrent state; and of the later cells that a window or an attention reads it for.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "harness/placement/chunks/super_graph.hpp"
#include "harness/placement/cut_states.hpp"
#include "models/snapshots/model.hpp"
#include "workloads/storage/growing_column.hpp"

namespace strobe {

struct Samples;  // models/tasks/task.hpp

/// The model's layers, and the readers of rows in addition to the graph's edges.
struct RowReaders {
  const std::vector<LayerShape>& layers;
  /// Matrices of layers that go step by step (Preparation::supports); null: such layers read the rows of the graph.
  const std::vector<std::shared_ptr<const PreparedGraph>>* supports = nullptr;
  const Samples* samples = nullptr;  // of training; null: none
  CutStates states = CutStates::exact;
};

/// Nodes with weighted nets. A node is a pin of a net once, however many of its cells are: ranks count, not cells.
/// Memory: 16 bytes a node, 4 a pin and 8 a net. Under a bound of memory (reading_bound.hpp) the large arrays of this
/// file, and of all that is made from them, lie in temporary files.
struct CellNets {
  Column<std::int64_t> offsets;  // [nodes + 1] into `nets`
  Column<std::uint32_t> nets;    // ascending within a node
  Column<std::int64_t> weight;   // [nets] columns that one epoch sends to each further rank
  Column<double> load;           // [nodes] predicted work

  std::size_t nodes() const { return load.size(); }
};

/// The nets of all existing cells, as one node each, in the order of nodes of `super`. `load` is [cells]. One pass of
/// an epoch over one block is counted, forward and backward; features have no gradient. Cost and memory: the pins,
/// which are the entries of the matrices, the samples, the cells times the window, and under attention the pairs of
/// cells of a sequence. Throws InvalidRequest for more than 2^30 pins.
CellNets cell_nets(const PreparedGraph& graph, const SuperGraph& super, const RowReaders& readers, Column<double> load);

/// Columns that all ranks send in one epoch when node i is on rank[i]. Cost: one look at each pin for 64 ranks.
std::int64_t sent_columns(const CellNets& nets, std::span<const Rank> rank);

/// Nodes merged into groups [0, count), whose loads add up. Nets within one group cost nothing anywhere and are left
/// out. Nets of the same two groups become one, which makes coarse levels fast.
CellNets merged_nodes(const CellNets& nets, std::span<const std::uint32_t> group, std::uint32_t count);

struct NodeGroups {
  GrowingColumn<std::uint32_t> of_node;  // [nodes]
  std::uint32_t count = 0;
};
/// Groups of two nodes on the same rank that share the most weight for each pin, none heavier than `most`; a node
/// without a partner is a group of its own. Nodes choose in a seeded order.
NodeGroups pair_nodes(const CellNets& nets, std::span<const Rank> rank, double most, std::uint64_t seed);

/// The nodes of each net: the transpose of `nets`.
struct NetPins {
  GrowingColumn<std::int64_t> offsets;  // [nets + 1]
  GrowingColumn<std::uint32_t> nodes;
};
NetPins pins_of(const CellNets& nets);

}  // namespace strobe
