// Differentiable copies between rows of cells and rows of bins. Every row is named once, so that no sums are needed.
#pragma once

#include <vector>

#include "models/tape/tape.hpp"

namespace strobe {

/// Rows of a tensor and where they lie in bins, as two lists of one length.
struct PackedRows {
  Tensor rows, places;  // i64 [count, 1]
  std::int64_t count = 0;
};

/// Bins of `bin_rows` rows: row rows[i] of x goes to places[i]; other rows are zero.
Var pack_rows(Tape& tape, const Var& x, const PackedRows& list, std::int64_t bin_rows);

/// The inverse, from the bins of several rounds: row places[i] of a part becomes row rows[i] of the result [rows, F].
/// Each row is named by one list. Parts without rows may be null.
Var collect_rows(Tape& tape, const std::vector<Var>& parts, const std::vector<PackedRows>& lists, std::int64_t rows,
                 std::int64_t width);

}  // namespace strobe
