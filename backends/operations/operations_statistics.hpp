// Operations of batch normalisation and dropout over the cells of snapshots. Rows of one step are contiguous: step t
// has rows [step_rows[t], step_rows[t + 1]), i64 [T + 1, 1]. Statistics cover one step over all vertices, which other
// ranks may hold. Sums over ranks happen between these operations, and `vertices` is the number of cells that a sum
// spans. If some cells do not exist, `counts` holds their number for each step instead; a step without cells has no
// rows.
#pragma once

#include "backends/operations/operations.hpp"

namespace strobe {

namespace random_purpose {
inline constexpr std::uint32_t dropout = 32;
}  // namespace random_purpose

/// sums[T, F]: per step the column sums of x [R, F], or, with `totals` [T, F] (the sums over all vertices), of
/// (x - totals_t / vertices)^2.
struct StepSums {
  static constexpr std::string_view name = "step_sums";
  Tensor x, totals, step_rows, sums;
  std::int64_t vertices = 1;
  Tensor counts;  // i64 [T, 1]: cells that each step's sums span, in place of `vertices`; or undefined
  Work work() const {
    using namespace operations_detail;
    return {(totals.defined() ? 3.0 : 1.0) * count(x.elements()),
            bytes_of(x) + bytes_of(step_rows) + (totals.defined() ? bytes_of(totals) : 0.0), bytes_of(sums)};
  }
};

/// Batch normalisation (Ioffe and Szegedy, ICML'15) of each step over its vertices:
/// y = gain (x - mean) / sqrt(variance + epsilon) + shift with mean = totals / vertices, variance = squares / vertices
/// (biased); x, y [R, F], totals, squares [T, F], gain, shift [1, F].
struct Standardise {
  static constexpr std::string_view name = "standardise";
  Tensor x, totals, squares, gain, shift, step_rows, y;
  std::int64_t vertices = 1;
  Tensor counts;  // i64 [T, 1]: cells that each step's sums span, in place of `vertices`; or undefined
  double epsilon = 1e-5;
  Work work() const {
    using namespace operations_detail;
    return {4.0 * count(x.elements()), bytes_of(x) + bytes_of(totals) + bytes_of(squares), bytes_of(y)};
  }
};

/// Backward of Standardise for all inputs except x: dtotals and dsquares [T, F] are stored; they are this rank's part
/// of the gradient of the sums. dgain and dshift [1, F] accumulate in order of steps.
struct StandardiseBackward {
  static constexpr std::string_view name = "standardise_backward";
  Tensor x, totals, squares, gain, step_rows, dy;
  Tensor dtotals, dsquares, dgain, dshift;
  std::int64_t vertices = 1;
  Tensor counts;  // i64 [T, 1]: cells that each step's sums span, in place of `vertices`; or undefined
  double epsilon = 1e-5;
  Work work() const {
    using namespace operations_detail;
    return {6.0 * count(x.elements()), bytes_of(x) + bytes_of(dy) + bytes_of(totals) + bytes_of(squares),
            bytes_of(dtotals) + bytes_of(dsquares)};
  }
};

/// Backward in x of Standardise and of both StepSums after it, once dtotals and dsquares are the sums over all ranks:
/// dx = dy gain / sqrt(variance + epsilon) + 2 (x - mean) dsquares_t + dtotals_t, stored or added to. dy may be
/// undefined: zero. The mean within the squares has no gradient, because
/// deviations from it add up to zero over all vertices.
struct StandardiseInputBackward {
  static constexpr std::string_view name = "standardise_input_backward";
  Tensor x, totals, squares, gain, step_rows, dy, dtotals, dsquares;
  Tensor dx;
  std::int64_t vertices = 1;
  Tensor counts;  // i64 [T, 1]: cells that each step's sums span, in place of `vertices`; or undefined
  double epsilon = 1e-5;
  bool accumulate = false;
  Work work() const {
    using namespace operations_detail;
    return {
        6.0 * count(x.elements()),
        bytes_of(x) + (dy.defined() ? bytes_of(dy) : 0.0) + 4.0 * bytes_of(totals) + (accumulate ? bytes_of(dx) : 0.0),
        bytes_of(dx)};
  }
};

/// Dropout (Srivastava et al., JMLR 2014): y = x / (1 - rate) where the cell's feature is kept, else 0; x, y [R, F],
/// ids i64 [R, 1]. The choice depends on (seed, key, id, feature) only. Its own backward, with dy for x and dx for
/// y.
struct Dropout {
  static constexpr std::string_view name = "dropout";
  Tensor x, ids, y;
  double rate = 0.5;
  std::uint64_t seed = 1;
  std::uint32_t key = 0;
  bool accumulate = false;
  Work work() const {
    using namespace operations_detail;
    return {20.0 * count(x.elements()), bytes_of(x) + bytes_of(ids) + (accumulate ? bytes_of(y) : 0.0), bytes_of(y)};
  }
};

}  // namespace strobe
