// Blocks of cells that stay together: each timeline cut at the same few steps. If blocks are placed whole, no timeline
// changes its owner more often than there are cuts, and no rank waits more often than that for a state.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "harness/placement/chunks/super_graph.hpp"
#include "models/snapshots/model.hpp"
#include "workloads/storage/growing_column.hpp"

namespace strobe {

struct WeightedGraph;  // workloads/partitioners/partitioner.hpp

/// Under a bound of memory (reading_bound.hpp) large arrays of this file lie in temporary files.
struct CellBlocks {
  Column<std::uint32_t> of_cell;
  std::uint32_t count = 0;
};

/// Every cell is a block.
CellBlocks single_cells(const SuperGraph& super);
/// A cell and those after it in its sequence that share no spatial edge, up to a load of `most`. Where in such a run a
/// timeline is cut makes no difference to a state that is handed over.
CellBlocks cells_with_followers(const SuperGraph& super, std::span<const double> load, double most);
/// Steps are cut into `windows` runs of about the same load. A block is the part of a sequence within a run.
CellBlocks windows_of_sequences(const SuperGraph& super, std::int64_t steps, std::span<const double> load,
                                std::int64_t windows);

/// Each rank gets a run of steps of about the same load: [cells].
GrowingColumn<Rank> runs_of_steps(const SuperGraph& super, std::int64_t steps, std::span<const double> load, int ranks);

/// Whether this program was built with METIS.
bool has_metis();
/// The edges between `blocks`, which weigh as in `super`: spatial entries, and of a timeline what one cut there moves.
/// A block weighs its load. Weights are made small enough for METIS to count.
WeightedGraph edges_between(const SuperGraph& super, const CellBlocks& blocks, std::span<const double> load);
/// Parts of this graph by METIS. Returns the rank of each cell; every rank has a block where there are enough.
/// Throws InvalidRequest without METIS, and for more entries than METIS counts. METIS takes memory of its own,
/// some 50 bytes for each entry.
GrowingColumn<Rank> cut_by_metis(const SuperGraph& super, const CellBlocks& blocks, std::span<const double> load,
                                 int ranks, std::uint64_t seed);

/// How many rounds a recurrence takes: the largest number of changes of owner in a sequence between two steps at which
/// the state restarts, plus one, in the layer where it is largest. One, where no layer is recurrent.
std::int64_t rounds_of(const SuperGraph& super, const std::vector<LayerShape>& layers, std::span<const Rank> rank);

}  // namespace strobe
