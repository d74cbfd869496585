// Operations that join two others to save memory traffic for the tensor between them. Each computes the same as the two
// in sequence; kernels decide whether to keep that tensor.
#pragma once

#include <algorithm>
#include <bit>

#include "backends/operations/operations.hpp"

namespace strobe {

/// Backward of GraphConvolution: dz = dy where y > 0 (relu) or dy (none); ds = dz w^T; dx[C, F] (+)= A^T ds;
/// dw[F, G] += aggregated^T dz, in an order that does not depend on the number of threads. `ds` [R, F] is scratch. It
/// belongs to the operation on every device, so that all devices run one program in the same memory. A kernel that
/// keeps ds in its cache does not write it; without `ds` only such kernels and the plain one work.
struct GraphConvolutionBackward {
  static constexpr std::string_view name = "graph_convolution_backward";
  SparseMatrix a;
  Tensor aggregated, w, y, dy;
  Tensor dx, dw, ds;
  Activation activation = Activation::none;
  bool accumulate_dx = false;
  Work work() const {
    using namespace operations_detail;
    return {2.0 * count(w.rows()) * (count(a.nonzeros) + 2.0 * count(a.rows) * count(w.columns())),
            static_cast<double>(a.bytes()) + bytes_of(aggregated) + bytes_of(w) + bytes_of(dy) +
                (activation == Activation::none ? 0.0 : bytes_of(y)) + (accumulate_dx ? bytes_of(dx) : 0.0),
            bytes_of(dx) + bytes_of(dw), gathered_rows(a, aggregated)};
  }
};

/// GraphConvolution with one weight per step (StepDense): s = A x, y_r = activation(s_r w_t) for the rows r of step t.
/// x [C, F], w [T * F, G], step_rows i64 [T + 1, 1]; aggregated [R, F] receives s, y [R, G].
struct StepGraphConvolution {
  static constexpr std::string_view name = "step_graph_convolution";
  SparseMatrix a;
  Tensor x, w, step_rows, aggregated, y;
  Activation activation = Activation::none;
  Work work() const {
    using namespace operations_detail;
    return {2.0 * count(x.columns()) * (count(a.nonzeros) + count(a.rows) * count(w.columns())),
            static_cast<double>(a.bytes()) + bytes_of(x) + bytes_of(w), bytes_of(y) + bytes_of(aggregated),
            gathered_rows(a, x)};
  }
};

/// Backward of StepGraphConvolution: dz as in GraphConvolutionBackward; ds_r = dz_r w_t^T; dx [C, F] (+)= A^T ds;
/// dw [T * F, G] (+)= s^T dz of each step's rows, in an order that does not depend on the number of threads. `ds`
/// [R, F] is scratch, as there.
struct StepGraphConvolutionBackward {
  static constexpr std::string_view name = "step_graph_convolution_backward";
  SparseMatrix a;
  Tensor aggregated, w, step_rows, y, dy;
  Tensor dx, dw, ds;
  Activation activation = Activation::none;
  bool accumulate_dx = false, accumulate_dw = false;
  Work work() const {
    using namespace operations_detail;
    return {2.0 * count(aggregated.columns()) * (count(a.nonzeros) + 2.0 * count(a.rows) * count(w.columns())),
            static_cast<double>(a.bytes()) + bytes_of(aggregated) + bytes_of(w) + bytes_of(dy) +
                (activation == Activation::none ? 0.0 : bytes_of(y)) + (accumulate_dx ? bytes_of(dx) : 0.0),
            bytes_of(dx) + bytes_of(dw), gathered_rows(a, aggregated)};
  }
};

/// Sparse product of a dense layer's output, which no tensor holds: y [R, G] = A h, h_c = activation(x_c w + bias) for
/// the columns c of A, computed again for every entry. x [C, F], w [F, G], bias [1, G] or undefined. If step_rows i64
/// [T + 1, 1] is defined, the layer has one weight per step, w [T * F, G]; A is then square and has entries within
/// steps only. Meant for few features: an entry costs F + 1 multiply-adds per column of y and F values of x; the
/// product with h costs one and G.
struct SpmmOfDense {
  static constexpr std::string_view name = "spmm_of_dense";
  static constexpr std::int64_t most_features = 4;  // F
  SparseMatrix a;
  Tensor x, w, bias, step_rows, y;
  Activation activation = Activation::none;
  Work work() const {
    using namespace operations_detail;
    return {2.0 * count(a.nonzeros) * count(y.columns()) * (count(x.columns()) + 1.0),
            static_cast<double>(a.bytes()) + bytes_of(x) + bytes_of(w) + (bias.defined() ? bytes_of(bias) : 0.0),
            bytes_of(y), gathered_rows(a, x)};
  }
};

/// Gradients of SpmmOfDense by the layer, from A itself. With h' = 1 where h > 0 (relu) or everywhere (none), dw[f]
/// (+)= sum over rows r of dy_r * (sum over the row's entries of a_rc h'_c x_cf), for each step's rows if step_rows is
/// defined. dbias, if defined, += the same without x. The order does not depend on the number of threads. x has no
/// gradient.
struct SpmmOfDenseBackward {
  static constexpr std::string_view name = "spmm_of_dense_backward";
  SparseMatrix a;
  Tensor x, w, bias, step_rows, dy;
  Tensor dw, dbias;
  Activation activation = Activation::none;
  bool accumulate_dw = false;
  Work work() const {
    using namespace operations_detail;
    return {2.0 * count(dy.columns()) * (count(x.columns()) + 0.5) * (2.0 * count(a.nonzeros) + count(a.rows)),
            static_cast<double>(a.bytes()) + bytes_of(x) + bytes_of(w) + (bias.defined() ? bytes_of(bias) : 0.0) +
                bytes_of(dy),
            bytes_of(dw) + (dbias.defined() ? bytes_of(dbias) : 0.0), gathered_rows(a, x)};
  }
};

/// StepGraphConvolution of a dense layer's output that is computed again for every entry (SpmmOfDense, with one weight
/// per step): s = A h, h = first(x w_first), y_r = activation(s_r w_t). x [C, F], w_first [T * F, G], w [T * G, H],
/// step_rows i64 [T + 1, 1], y [R, H]. `aggregated` [R, G] receives s with `keep`, and otherwise is scratch for it. It
/// belongs to the operation on every device; a kernel that keeps s in registers does not write it. `memo` (may be
/// undefined) passes data to the gradient's kernel of the same variant, which then does not read the matrix; kernels
/// without a use for it do not write it. It may be defined only if may_have_memo(), and not together with `keep`.
struct StepConvolutionOfDense {
  static constexpr std::string_view name = "step_convolution_of_dense";
  SparseMatrix a;
  Tensor x, w_first, w, step_rows, aggregated, y;
  Activation first = Activation::none, activation = Activation::none;
  bool keep = false;
  Tensor memo;
  /// Up to this many columns of s and of y, computing s again is faster than keeping it: a row of two steps stays in
  /// registers of half a cache line each.
  static constexpr std::int64_t most_repeated = 8;
  /// Rows of a memo: F for every row of a pair of steps; if steps differ in their rows, F for every two rows.
  static constexpr std::int64_t memo_rows(std::int64_t rows, std::int64_t steps, std::int64_t features) {
    const std::int64_t halves = rows % steps == 0 ? (steps + 1) / 2 * (rows / steps) : (rows + 1) / 2;
    return halves * features;
  }
  /// Columns of a memo for layers of at most `columns` columns: a power of two for each of the two, at least four, or
  /// whole registers.
  static constexpr std::int64_t memo_columns(std::int64_t columns) {
    constexpr std::int64_t least = 4, whole = 16;
    if (columns > whole) return 2 * ((columns + whole - 1) / whole * whole);
    return 2 * std::max(least, static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(columns))));
  }
  /// A memo of more than most_repeated columns replaces the kept s; of more than two features it would take three or
  /// four times its room.
  static constexpr bool may_have_memo(std::int64_t features, std::int64_t columns) {
    return columns <= most_repeated || features <= 2;
  }
  Work work() const {
    using namespace operations_detail;
    const double features = count(x.columns()), entry = memo.defined() ? 2.0 * features : features + 1.0;
    const double row = count(w.columns()) + (memo.defined() ? features : 0.0);
    const double product = count(a.nonzeros) * entry + count(a.rows) * row;
    return {2.0 * count(aggregated.columns()) * product,
            static_cast<double>(a.bytes()) + bytes_of(x) + bytes_of(w_first) + bytes_of(w),
            bytes_of(y) + (keep ? bytes_of(aggregated) : 0.0) + (memo.defined() ? bytes_of(memo) : 0.0),
            gathered_rows(a, x)};
  }
};

/// Gradients of StepConvolutionOfDense by both layers: dz = dy where y > 0 (relu) or dy (none); dw (+)= s^T dz of each
/// step's rows, ds_r = dz_r w_t^T, dw_first (+)= the sum of SpmmOfDenseBackward with ds for dy. `ds` [R, G] is scratch,
/// and so is `aggregated` unless s was kept there. `memo` comes from the operation, by a kernel of the same variant.
struct StepConvolutionOfDenseBackward {
  static constexpr std::string_view name = "step_convolution_of_dense_backward";
  SparseMatrix a;
  Tensor x, w_first, w, step_rows, y, dy;
  Tensor dw_first, dw, aggregated, ds;
  Activation first = Activation::none, activation = Activation::none;
  bool kept = false, accumulate_dw_first = false, accumulate_dw = false;
  Tensor memo;
  Work work() const {
    using namespace operations_detail;
    const double rows = 2.0 * count(a.rows), layer = rows * count(w.columns()), of_x = count(x.columns()) + 0.5;
    const double dense = bytes_of(w_first) + bytes_of(w) + bytes_of(dy) +
                         (activation == Activation::none ? 0.0 : bytes_of(y)) + (kept ? bytes_of(aggregated) : 0.0);
    const double written = bytes_of(dw_first) + bytes_of(dw);
    if (memo.defined())
      return {2.0 * count(aggregated.columns()) * (of_x * rows + layer), dense + bytes_of(memo), written};
    return {2.0 * count(aggregated.columns()) * (of_x * (2.0 * count(a.nonzeros) + rows) + layer),
            static_cast<double>(a.bytes()) + bytes_of(x) + dense, written, gathered_rows(a, x)};
  }
};

/// Dense layer and M-transform over its output h = activation(x[T n, F] w[F, G]): y_t [n, G] = sum over s in
/// [t-w+1, t], s >= 0, of h_s / min(w, t + 1). h is not stored.
struct DenseMTransform {
  static constexpr std::string_view name = "dense_m_transform";
  Tensor x, w, y;
  std::int64_t steps = 0;
  std::int64_t window = 1;
  Activation activation = Activation::none;
  Work work() const {
    using namespace operations_detail;
    return {2.0 * count(x.elements()) * count(w.columns()) + 3.0 * count(y.elements()), bytes_of(x) + bytes_of(w),
            bytes_of(y)};
  }
  /// Longest window for which this is faster than the two operations: its rows stay in the first-level cache.
  static constexpr std::int64_t longest_window = 8;
};

/// Gradient of DenseMTransform by w: dh = M^T dy, dz = dh where h > 0 (relu; h is computed again) or dh (none),
/// dw[F, G] += x^T dz, in an order that does not depend on the number of threads.
struct DenseMTransformBackward {
  static constexpr std::string_view name = "dense_m_transform_backward";
  Tensor x, w, dy;
  Tensor dw;
  std::int64_t steps = 0;
  std::int64_t window = 1;
  Activation activation = Activation::none;
  Work work() const {
    using namespace operations_detail;
    const double product = 2.0 * count(x.elements()) * count(w.columns());
    return {product * (activation == Activation::none ? 1.0 : 2.0) + 3.0 * count(dy.elements()),
            bytes_of(x) + bytes_of(w) + bytes_of(dy), bytes_of(dw)};
  }
};

}  // namespace strobe
