// Assigns single cells to ranks, where chunks would send more: by METIS on the super graph, or by refining the best of
// several assignments for the rows that are really sent and for the rounds that ranks wait.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/placement/chunks/assign/cell_nets.hpp"
#include "harness/placement/chunks/chunk_assignment.hpp"

namespace strobe {

/// Whether `method` assigns cells rather than chunks.
inline bool assigns_cells(const std::string& method) { return method == "metis" || method == "refined"; }

/// The input of assign_cells. References must outlive the call.
struct CellsToAssign {
  const PreparedGraph& graph;
  const SuperGraph& super;
  RowReaders readers;
  Column<double> load;  // [cells] predicted work
  int ranks = 1;
  std::uint64_t seed = 1;
  double columns_of_round = 0;  // columns that a round of waiting counts as, in an epoch
};

/// The rank of each cell. `method` is one of:
/// - metis: METIS's k-way cut of the super graph. A vertex is a cell. If there are more than 2^17 cells,
///   it is a cell with those after it that share no spatial edge.
/// - refined: what sends least, of METIS's cut of cells and of runs of steps, both refined (refine_ranks); and of the
///   best assignment of chunks, refined where it still sends less. No rank gets more than 1.03 of the mean load, or
///   than the heaviest rank of that assignment of chunks. With a price of rounds, also of cuts of timelines in 1, 2, 4,
///   ... windows, and the least sum of what is sent and the price of all rounds but the first wins.
/// So at a price of zero `refined` never sends more than `score`, `lpt` or `score_then_fill` of the same chunks.
/// `chunks` and their `workload` are those that the other methods would assign.
/// Under a bound of memory (reading_bound.hpp) large arrays lie in temporary files, except those of METIS itself.
GrowingColumn<Rank> assign_cells(const CellsToAssign& cells, const ChunkGraph& chunks,
                                 const std::vector<double>& workload, const std::string& method);

/// Splits chunks whose cells lie on several ranks, and returns the assignment of the new chunks, which replace
/// `chunks`.
ChunkAssignment split_by_rank(const SuperGraph& super, std::span<const Rank> rank, std::span<const double> load,
                              int ranks, ChunkGraph& chunks);

}  // namespace strobe
