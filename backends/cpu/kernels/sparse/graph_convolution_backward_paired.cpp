// Gradient of a narrow graph convolution on a transpose stored two steps at a time (paired_rows.hpp). The rows that the
// product gathers, ds = dz w^T, are computed straight into the lines that it gathers from and never cross memory; dw is
// summed in the element type inside a block of 128 rows and in double over blocks and pairs of steps.
// Cost 2 F (2 union + 2 R G) FLOPs; each of the matrix, aggregated, y and dy is read once, dx written once.
#include <vector>

#include "backends/cpu/kernels/dense/dense_rows.hpp"
#include "backends/cpu/kernels/range_sums.hpp"
#include "backends/cpu/kernels/sparse/paired_rows.hpp"
#include "backends/operations/operations_fused.hpp"

namespace strobe {
namespace {

using namespace cpu;

/// ds [rows, F] of `rows` rows from row `row` on, and their part of dw to range.sums.
template <class T>
void block_gradient(BackwardRange<T>& range, std::int64_t row, std::int64_t rows, T* ds) {
  const std::int64_t inner = range.op.w.rows(), width = range.op.w.columns();
  const T* dz = block_dz(range, row, rows);
  prefetch_next(range.op.x, row, rows);
  add_block_sums(range, range.op.x.template data<T>() + row * inner, dz, rows);
  multiply(Factors<T>{dz, width, 1, range.turned, inner, width}, rows, inner, ProductStore<T>{ds, inner});
}

/// ds of both steps of pair `p` into its lines.
template <class T, int P>
void lay_gradient(BackwardRange<T>& range, const PairedMatrix& a, std::int64_t p, T* lines) {
  const std::int64_t inner = range.op.w.rows();
  const bool two = 2 * p + 1 < a.steps;
  std::vector<T> first(block_rows * inner + most_lanes<T>), second(first.size());
  for (std::int64_t begin = 0; begin < a.step_rows; begin += block_rows) {
    const std::int64_t rows = std::min(block_rows, a.step_rows - begin);
    block_gradient(range, 2 * p * a.step_rows + begin, rows, first.data());
    if (two) block_gradient(range, (2 * p + 1) * a.step_rows + begin, rows, second.data());
    lay_side_by_side<T, P>(first.data(), two ? second.data() : nullptr, rows, inner, lines + begin * 2 * P);
  }
}

template <class T, class Column>
void backward(const GraphConvolutionBackward& op, const KernelContext& context) {
  const PairedMatrix& a = *op.a.paired_transpose;
  const std::int64_t inner = op.w.rows(), stride = op.w.elements();
  Scratch<T> turned = transposed<T>(op.w);
  std::vector<double> sums(a.pairs() * stride, 0.0);
  DenseBackward dense;
  dense.x = op.aggregated, dense.w = op.w, dense.y = op.y, dense.dy = op.dy, dense.dw = op.dw;
  dense.activation = op.activation;
  const auto lay = [&](std::int64_t p, T* lines, auto lanes) {
    constexpr int P = decltype(lanes)::value;
    BackwardRange<T> range{dense, turned.data(), sums.data() + p * stride,
                           std::vector<T>(block_rows * op.w.columns() + most_lanes<T>, T{0})};
    lay_gradient<T, P>(range, a, p, lines);
  };
  for_laid_pairs<T, Column>(a, inner, context, lay, [&](std::int64_t p, const auto& view, auto lanes) {
    const StepPair<T> dx(a, op.dx.data<T>(), inner, p);
    gather_pair<T, Column, decltype(lanes)::value>(view, dx.first, dx.second, inner, op.accumulate_dx, 0, a.step_rows);
  });
  add_range_sums<T>(op.dw, sums, 0, stride);
}

void run(const GraphConvolutionBackward& op, KernelContext& context) {
  with_types(*op.a.paired_transpose,
             [&](auto zero, auto column) { backward<decltype(zero), decltype(column)>(op, context); });
}

/// Where the transpose is there in pairs and a row of both steps fits one register.
bool supports(const GraphConvolutionBackward& op) {
  return op.a.paired_transpose != nullptr && op.a.paired_transpose->values.type() == op.dx.type() &&
         op.dx.columns() > 0 && 2 * static_cast<std::int64_t>(op.dx.row_bytes()) <= register_bytes;
}

const RegisterKernel<GraphConvolutionBackward> paired{"cpu", {"paired", 20, supports, run}};

}  // namespace
}  // namespace strobe
