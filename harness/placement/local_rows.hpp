// Where cells lie in the rows of their owners. Positions are computed on first use, because only a few ranks and steps
// are ever looked up.
#pragma once

#include <optional>
#include <vector>

#include "core/step_rows.hpp"
#include "harness/placement/placement.hpp"

namespace strobe {

class LocalRows {
 public:
  /// `placement` must outlive this.
  explicit LocalRows(const Placement& placement);
  /// Rows of cells of `only`. Rows of other ranks' cells are not known: `row` returns 0. Memory: 8 bytes for each of
  /// its runs of vertices, and not for each vertex.
  LocalRows(const Placement& placement, Rank only);

  /// First row of each step on a rank, and the total number of rows at the end: [T + 1].
  const StepRows& of_steps(Rank rank);
  /// Row of cell (v, t) on its owner. The cell must have an owner.
  std::int64_t row(VertexId v, Step t);

 private:
  std::int64_t position_in_runs(VertexId v, Step t);

  const Placement& placement_;
  Rank only_ = -1;
  std::vector<std::optional<StepRows>> steps_;  // [P]
  /// [maps][N], for maps with several owners; with `only_`, the position of each of its runs.
  std::vector<std::vector<std::int64_t>> position_of_;
};

/// Rows of each rank over all steps: [P]. Cost O(owners of each step).
std::vector<std::int64_t> rows_of_ranks(const Placement& placement);

}  // namespace strobe
