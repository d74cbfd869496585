// Operations that join two others where the tensor between them would cross memory twice. Each is what the two do one
// after the other; kernels decide whether the tensor between them is kept.
#pragma once

#include <algorithm>

#include "backends/operations.hpp"

namespace strobe {

/// Backward of GraphConvolution: dz = dy where y > 0 (relu) or dy (none); ds = dz w^T; dx[C, F] (+)= A^T ds;
/// dw[F, G] += aggregated^T dz, in an order that does not depend on the number of threads. `ds` [R, F] is scratch: it
/// belongs to the operation on every device, so that all of them run one program in the same memory; a kernel that
/// keeps ds in its cache leaves it as it is, and without it only such kernels and the plain one serve.
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
