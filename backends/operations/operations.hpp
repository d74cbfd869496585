// The operations of a device. Each is a plain struct of tensors and sizes that states its name and its work (FLOPs and
// compulsory bytes) here and nowhere else: the roofline report and the cost model both read it. A kernel for it is
// registered per numerics and variant from the kernel's own file (backends/kernel.hpp).
// Shapes in brackets; all tensors of one operation share one floating type unless said otherwise.
// `accumulate` means the result is added to the output, not stored over it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "backends/matrix/length_sorted_matrix.hpp"
#include "backends/matrix/paired_matrix.hpp"
#include "backends/span.hpp"
#include "backends/tensor.hpp"

namespace strobe {

/// A sparse matrix [rows, columns] on a device; entries of a row are in vertex order. Without values it has only its
/// counts. It is a sequence of `step_rows.rows() - 1` diagonal-like blocks (the snapshots). Rows of block s are
/// [step_rows[s], step_rows[s+1]). Its columns lie in [step_columns[s], step_columns[s+1]) of the own rows or, when
/// `halo_begin` < columns, in [halo_begin + step_halo[s], halo_begin + step_halo[s+1]) of the halo rows.
struct SparseMatrix {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t nonzeros = 0;
  std::int64_t steps = 0;
  std::int64_t halo_begin = 0;  // first halo column; == columns when there is no halo
  Tensor row_offsets;           // i64 [rows + 1, 1]
  Tensor column_indices;        // i32 [nonzeros, 1]
  Tensor values;                // f32 or f64 [nonzeros, 1]
  Tensor step_rows;             // i64 [steps + 1, 1]
  Tensor step_halo;             // i64 [steps + 1, 1], counted from halo_begin
  // The transpose, used by the backward product; undefined when it was not built.
  Tensor transposed_offsets;  // i64 [columns + 1, 1]
  Tensor transposed_indices;  // i32 [nonzeros, 1]
  Tensor transposed_values;   // [nonzeros, 1]
  // The same matrix and its transpose two steps at a time, for narrow products; null when they were not built.
  std::shared_ptr<const PairedMatrix> paired, paired_transpose;
  // The same matrix and its transpose with rows by length, for products that pairs do not serve.
  std::shared_ptr<const LengthSortedMatrix> by_length, transpose_by_length;

  std::uint64_t bytes() const { return row_offsets.bytes() + column_indices.bytes() + values.bytes(); }
};

namespace operations_detail {
inline double bytes_of(const Tensor& t) { return static_cast<double>(t.bytes()); }
inline double count(std::int64_t n) { return static_cast<double>(n); }

/// Rows of `x` read (or written) once per entry of `a`. Entries of a snapshot stay within the snapshot's rows.
inline Gather gathered_rows(const SparseMatrix& a, const Tensor& x) {
  const double row = x.row_bytes();
  return {count(a.nonzeros) * row, bytes_of(x), bytes_of(x) / count(a.steps > 0 ? a.steps : 1), row};
}
}  // namespace operations_detail

/// y[R, F] = A[R, C] x[C, F].
struct Spmm {
  static constexpr std::string_view name = "spmm";
  SparseMatrix a;
  Tensor x, y;
  bool accumulate = false;
  Work work() const {
    using namespace operations_detail;
    return {2.0 * count(a.nonzeros) * count(x.columns()),
            static_cast<double>(a.bytes()) + bytes_of(x) + (accumulate ? bytes_of(y) : 0.0), bytes_of(y),
            gathered_rows(a, x)};
  }
};

/// x[C, F] = A[R, C]^T y[R, F].
struct SpmmTransposed {
  static constexpr std::string_view name = "spmm_transposed";
  SparseMatrix a;
  Tensor y, x;
  bool accumulate = false;
  Work work() const {
    using namespace operations_detail;
    return {2.0 * count(a.nonzeros) * count(y.columns()),
            static_cast<double>(a.bytes()) + bytes_of(y) + (accumulate ? bytes_of(x) : 0.0), bytes_of(x),
            gathered_rows(a, y)};
  }
};

enum class Activation : std::uint8_t { none, relu };

/// y[R, G] = activation(x[R, F] w[F, G] + bias[1, G]); bias may be undefined.
struct Dense {
  static constexpr std::string_view name = "dense";
  Tensor x, w, bias, y;
  Activation activation = Activation::none;
  Work work() const {
    using namespace operations_detail;
    return {2.0 * count(x.rows()) * count(x.columns()) * count(w.columns()), bytes_of(x) + bytes_of(w), bytes_of(y)};
  }
};

/// Backward of Dense. dz = dy where y > 0 (relu) or dy (none); dx[R, F] = dz w^T when dx is defined;
/// dw[F, G] += x^T dz; dbias[1, G] += column sums of dz when defined. dw and dbias always accumulate, in an order that
/// does not depend on the number of threads.
struct DenseBackward {
  static constexpr std::string_view name = "dense_backward";
  Tensor x, w, y, dy;
  Tensor dx, dw, dbias;
  Activation activation = Activation::none;
  bool accumulate_dx = false;
  Work work() const {
    using namespace operations_detail;
    const double products = 2.0 * count(x.rows()) * count(x.columns()) * count(w.columns());
    return {products * (dx.defined() ? 2.0 : 1.0),
            bytes_of(x) + bytes_of(w) + bytes_of(dy) + (activation == Activation::none ? 0.0 : bytes_of(y)),
            (dx.defined() ? bytes_of(dx) : 0.0) + bytes_of(dw)};
  }
};

/// One graph convolution without intermediate tensors: y[R, G] = activation((A[R, C] x[C, F]) w[F, G]).
/// `aggregated` [R, F] receives A x when defined (the backward pass needs it).
struct GraphConvolution {
  static constexpr std::string_view name = "graph_convolution";
  SparseMatrix a;
  Tensor x, w, aggregated, y;
  Activation activation = Activation::none;
  Work work() const {
    using namespace operations_detail;
    return {2.0 * count(x.columns()) * (count(a.nonzeros) + count(a.rows) * count(w.columns())),
            static_cast<double>(a.bytes()) + bytes_of(x) + bytes_of(w),
            bytes_of(y) + (aggregated.defined() ? bytes_of(aggregated) : 0.0), gathered_rows(a, x)};
  }
};

/// M-transform over time (ESDG section 5.3): y_t = sum over s in [t-w+1, t], s >= 0, of x_s / min(w, t + 1), for every
/// vertex; x, y [steps * n, F], time-major. `backward` applies the transpose instead (x is dy, y is dx).
struct MTransform {
  static constexpr std::string_view name = "m_transform";
  Tensor x, y;
  std::int64_t steps = 0;
  std::int64_t window = 1;
  bool backward = false;
  bool accumulate = false;
  Work work() const {
    using namespace operations_detail;
    return {3.0 * count(x.elements()), bytes_of(x) + (accumulate ? bytes_of(y) : 0.0), bytes_of(y)};
  }
};

/// Copies rows: for each i, to[to_row[i]] (+)= from[from_row[i]], columns [from_column, from_column + width) of `from`
/// to columns [to_column, ...) of `to`. An undefined index list means 0, 1, 2, .... Rows of `to` that occur more than
/// once with `accumulate` are added in list order.
struct CopyRows {
  static constexpr std::string_view name = "copy_rows";
  Tensor from, to;
  Tensor from_rows, to_rows;  // i64 [count, 1] or undefined
  std::int64_t count = 0;
  std::int64_t from_column = 0, to_column = 0, width = 0;
  bool accumulate = false;
  Work work() const {
    using namespace operations_detail;
    const double moved = operations_detail::count(count) * operations_detail::count(width) *
                         static_cast<double>(element_bytes(from.type()));
    return {accumulate ? operations_detail::count(count * width) : 0.0,
            moved * (accumulate ? 2.0 : 1.0) + (from_rows.defined() ? bytes_of(from_rows) : 0.0) +
                (to_rows.defined() ? bytes_of(to_rows) : 0.0),
            moved, listed(moved)};
  }
  /// The side whose rows a list names. A list may name any row of its tensor at any time. With two lists, the targets'
  /// side.
  Gather listed(double moved) const {
    using namespace operations_detail;
    if (count == 0 || !(from_rows.defined() || to_rows.defined())) return {};
    const double all = operations_detail::count((to_rows.defined() ? to : from).rows()),
                 row = moved / operations_detail::count(count);
    return {moved, std::min(moved, all * row), all * row, row};
  }
};

/// Copies runs of consecutive rows: run i moves rows [runs[i][0], + runs[i][2]) of `from` to rows from runs[i][1] of
/// `to`. Used to pack, unpack and keep rows of an exchange. With `accumulate` the rows are added in run order, and rows
/// of `to` may then occur in several runs; without it they occur once.
struct CopyRuns {
  static constexpr std::string_view name = "copy_runs";
  Tensor from, to;
  Tensor runs;            // i64 [count, 3]: first row in from, first row in to, rows
  std::int64_t rows = 0;  // sum of the runs' rows
  bool accumulate = false;
  Work work() const {
    using namespace operations_detail;
    const double moved = count(rows) * static_cast<double>(from.row_bytes());
    return {accumulate ? count(rows * from.columns()) : 0.0, moved * (accumulate ? 2.0 : 1.0) + bytes_of(runs), moved};
  }
};

/// y = value everywhere.
struct Fill {
  static constexpr std::string_view name = "fill";
  Tensor y;
  double value = 0;
  Work work() const { return {0.0, 0.0, operations_detail::bytes_of(y)}; }
};

/// y += scale * x, same shape.
struct AddScaled {
  static constexpr std::string_view name = "add_scaled";
  Tensor x, y;
  double scale = 1;
  Work work() const {
    using namespace operations_detail;
    return {2.0 * count(x.elements()), bytes_of(x) + bytes_of(y), bytes_of(y)};
  }
};

/// Softmax cross-entropy over rows: loss[1, 1] (f64) += sum_i -log softmax(logits_i)[label_i] * scale;
/// gradient[S, C] = (softmax - onehot) * scale when defined. labels i32 [S, 1].
struct SoftmaxCrossEntropy {
  static constexpr std::string_view name = "softmax_cross_entropy";
  Tensor logits, labels, gradient, loss;
  double scale = 1;
  Work work() const {
    using namespace operations_detail;
    return {6.0 * count(logits.elements()), bytes_of(logits) + bytes_of(labels),
            (gradient.defined() ? bytes_of(gradient) : 0.0) + bytes_of(loss)};
  }
};

/// parameters -= rate * gradient (plain SGD, with momentum when `velocity` is defined).
struct SgdStep {
  static constexpr std::string_view name = "sgd_step";
  Tensor parameters, gradient, velocity;
  double rate = 0.01, momentum = 0;
  Work work() const {
    using namespace operations_detail;
    return {2.0 * count(parameters.elements()), 2.0 * bytes_of(parameters), bytes_of(parameters)};
  }
};

/// One step of Adam (Kingma and Ba, ICLR'15, Algorithm 1); `step` counts from 1.
struct AdamStep {
  static constexpr std::string_view name = "adam_step";
  Tensor parameters, gradient, first_moment, second_moment;
  double rate = 0.01, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  std::int64_t step = 1;
  Work work() const {
    using namespace operations_detail;
    return {12.0 * count(parameters.elements()), 4.0 * bytes_of(parameters), 3.0 * bytes_of(parameters)};
  }
};

}  // namespace strobe
