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

  /// First row of each step on a rank, and the total number of rows at the end: [T + 1].
  const StepRows& of_steps(Rank rank);
  /// Row of cell (v, t) on its owner. The cell must have an owner.
  std::int64_t row(VertexId v, Step t);

 private:
  const Placement& placement_;
  std::vector<std::optional<StepRows>> steps_;          // [P]
  std::vector<std::vector<std::int64_t>> position_of_;  // [maps][N], for maps with several owners
};

/// Rows of each rank over all steps: [P]. Cost O(owners of each step).
std::vector<std::int64_t> rows_of_ranks(const Placement& placement);

}  // namespace strobe
