// Operations that join two others where the tensor between them would cross memory twice. Each is what the two do one
// after the other; models choose them where a kernel for them exists (`fuses`).
#pragma once

#include <algorithm>

#include "backends/operations.hpp"

namespace strobe {

/// Backward of GraphConvolution: dz = dy where y > 0 (relu) or dy (none); dx[C, F] (+)= A^T (dz w^T);
/// dw[F, G] += aggregated^T dz, in an order that does not depend on the number of threads.
struct GraphConvolutionBackward {
  static constexpr std::string_view name = "graph_convolution_backward";
  SparseMatrix a;
  Tensor aggregated, w, y, dy;
  Tensor dx, dw;
  Activation activation = Activation::none;
  bool accumulate_dx = false;
  Work work() const {
    using namespace operations_detail;
    return {2.0 * count(w.rows()) * (count(a.nonzeros) + 2.0 * count(a.rows) * count(w.columns())),
            static_cast<double>(a.bytes()) + bytes_of(aggregated) + bytes_of(w) + bytes_of(dy) +
                (activation == Activation::none ? 0.0 : bytes_of(y)) + (accumulate_dx ? bytes_of(dx) : 0.0),
            bytes_of(dx) + bytes_of(dw), gathered_rows(a, aggregated)};
  }
  /// Whether this is faster than DenseBackward and SpmmTransposed: where the transpose is there in pairs and a row of
  /// both steps fits one line of 64 bytes.
  static bool fuses(const SparseMatrix& a, const Tensor& x) {
    constexpr std::int64_t line_bytes = 64;
    return a.paired_transpose != nullptr && a.paired_transpose->values.type() == x.type() && x.columns() > 0 &&
           2 * static_cast<std::int64_t>(x.row_bytes()) <= line_bytes;
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
