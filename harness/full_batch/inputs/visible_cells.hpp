// The cells that a rank's temporal stage reads: its own and those of a temporal halo, chained along timelines.
#pragma once

#include <vector>

#include "harness/full_batch/exchange/exchange_plan.hpp"

namespace strobe {

/// Cells in order of steps. Own cells come first within a step, so they have the order of their rows.
struct VisibleCells {
  std::int64_t own_rows = 0, halo_rows = 0;
  std::vector<std::int64_t> row;  // among the own rows, which the halo rows follow
  std::vector<VertexId> vertex;
  std::vector<Step> step;
  std::vector<std::int64_t> before;  // the visible cell of its vertex at the previous step, or -1

  bool own(std::size_t cell) const { return row[cell] < own_rows; }
};

/// The sequences of visible cells: each cell's sequence and its place in it, and the sequences' lengths.
struct VisibleSequences {
  std::vector<std::size_t> of_cell;
  std::vector<std::int32_t> position;
  std::vector<std::int32_t> lengths;  // of each sequence
};
VisibleSequences sequences_of(const VisibleCells& cells);

/// Cost O(own and halo cells + N).
VisibleCells visible_cells(const Placement& placement, const HaloNeeds& needs, Rank rank);

}  // namespace strobe
