// A dense layer on rows that lists name, for which the rows side by side are never written: what a task's head does
// with the embeddings of its samples.
#pragma once

#include <algorithm>
#include <vector>

#include "backends/operations/operations.hpp"

namespace strobe {

/// Lists of one such layer, at most.
inline constexpr std::size_t most_row_lists = 4;

namespace operations_detail {
/// Bytes of the rows of `x` that `lists` lists of `count` rows name, at most all of them: compulsory once.
inline double listed_bytes(const Tensor& x, std::size_t lists, std::int64_t samples) {
  return std::min(bytes_of(x), static_cast<double>(lists) * count(samples) * static_cast<double>(x.row_bytes()));
}
}  // namespace operations_detail

/// y[S, G] = [x[rows[0][i]] | x[rows[1][i]] | ...] w[K F, G] + bias[1, G] for i in [0, S): x [R, F], K lists i64 [S, 1]
/// of rows of x, in any order and with repeats; bias may be undefined.
struct GatheredDense {
  static constexpr std::string_view name = "gathered_dense";
  Tensor x;
  std::vector<Tensor> rows;
  Tensor w, bias, y;
  Work work() const {
    using namespace operations_detail;
    const double samples = count(y.rows()), lists = count(static_cast<std::int64_t>(rows.size()));
    const double distinct = listed_bytes(x, rows.size(), y.rows());
    return {2.0 * samples * count(w.elements()),
            distinct + 8.0 * lists * samples + bytes_of(w),
            bytes_of(y),
            {lists * samples * static_cast<double>(x.row_bytes()), distinct, bytes_of(x),
             static_cast<double>(x.row_bytes())}};
  }
};

/// Backward of GatheredDense. dx[rows[k][i]] += dy_i w_k^T with w_k [F, G] the k-th part of w, unless dx [R, F] is
/// undefined; dw[K F, G] += [x[rows[0]] | ...]^T dy; dbias[1, G] += column sums of dy when defined. In orders that do
/// not depend on the number of threads.
struct GatheredDenseBackward {
  static constexpr std::string_view name = "gathered_dense_backward";
  Tensor x;
  std::vector<Tensor> rows;
  Tensor w, dy;
  Tensor dx, dw, dbias;
  Work work() const {
    using namespace operations_detail;
    const double samples = count(dy.rows()), lists = count(static_cast<std::int64_t>(rows.size()));
    const double row = static_cast<double>(x.row_bytes()), distinct = listed_bytes(x, rows.size(), dy.rows());
    const double tensors = dx.defined() ? 2.0 : 1.0;  // whose rows are named
    return {2.0 * samples * count(w.elements()) * tensors,
            distinct * tensors + 8.0 * lists * samples + bytes_of(w) + bytes_of(dy),
            (dx.defined() ? distinct : 0.0) + bytes_of(dw),
            {lists * samples * row * tensors, distinct * tensors, bytes_of(x) * tensors, row}};
  }
};

}  // namespace strobe
