// Graph convolution with one weight per step on a matrix stored two steps at a time (paired_rows.hpp), and its
// gradient. Forward, blocks of 128 aggregated rows are multiplied with their step's weight while they are in the cache;
// backward, ds = dz w_t^T is computed straight into the lines that the product with the transpose gathers from. dw of a
// step is summed in the element type inside a block and in double over the step, by the one task that has the step.
// Cost: forward 2 F (2 union + R G) FLOPs, matrix and x read, aggregated and y written once; backward 2 F (2 union +
// 2 R G), each of the matrix, aggregated, y and dy read once, dx written once.
#include <optional>
#include <vector>

#include "backends/cpu/kernels/dense/dense_rows.hpp"
#include "backends/cpu/kernels/range_sums.hpp"
#include "backends/cpu/kernels/sparse/paired_rows.hpp"
#include "backends/operations/operations_fused.hpp"

namespace strobe {
namespace {

using namespace cpu;

/// Where the matrix is there in pairs, the steps are its steps, and a row of both steps fits one register.
bool fits(const std::shared_ptr<const PairedMatrix>& a, const Tensor& rows, const Tensor& step_rows) {
  return a != nullptr && a->values.type() == rows.type() && rows.columns() > 0 &&
         2 * static_cast<std::int64_t>(rows.row_bytes()) <= register_bytes && step_rows.rows() == a->steps + 1;
}

/// Blocks of rows [begin, end) of a step.
template <class Body>
void for_blocks(std::int64_t step_rows, const Body& body) {
  for (std::int64_t begin = 0; begin < step_rows; begin += block_rows)
    body(begin, std::min(step_rows, begin + block_rows));
}

/// The steps of pair `p`: one or two.
std::int64_t steps_of(const PairedMatrix& a, std::int64_t p) { return 2 * p + 1 < a.steps ? 2 : 1; }

template <class T>
void multiply_step(const StepGraphConvolution& op, const T* sums, std::int64_t step, std::int64_t begin,
                   std::int64_t end) {
  const std::int64_t inner = op.x.columns(), top = step * op.a.paired->step_rows;
  const Dense dense{{}, op.w.slice_rows(step * inner, inner), {}, op.y, op.activation};
  dense_block(dense, sums, top + begin, top + end);
}

void run_forward(const StepGraphConvolution& op, KernelContext& context) {
  const PairedMatrix& a = *op.a.paired;
  const std::int64_t inner = op.x.columns();
  with_types(a, [&](auto zero, auto column) {
    using T = decltype(zero);
    using Column = decltype(column);
    gather_blocks<T, Column>(a, op.x.data<T>(), inner, op.aggregated.data<T>(), context,
                             [&](std::int64_t step, const T* sums, std::int64_t begin, std::int64_t end) {
                               multiply_step<T>(op, sums, step, begin, end);
                             });
  });
}

/// The dense layer of one step, and what its gradient needs.
template <class T>
struct StepBack {
  DenseBackward dense;
  Scratch<T> turned;
  BackwardRange<T> range;
  std::vector<T> ds;  // of a block

  StepBack(const StepGraphConvolutionBackward& op, std::int64_t step, double* sums)
      : dense(layer(op, step)),
        turned(transposed<T>(dense.w)),
        range{dense, turned.data(), sums, std::vector<T>(block_rows * op.w.columns() + most_lanes<T>, T{0})},
        ds(static_cast<std::size_t>(block_rows * op.aggregated.columns() + most_lanes<T>)) {}
  StepBack(const StepBack&) = delete;

  static DenseBackward layer(const StepGraphConvolutionBackward& op, std::int64_t step) {
    const std::int64_t inner = op.aggregated.columns();
    DenseBackward result;
    result.x = op.aggregated, result.y = op.y, result.dy = op.dy;
    result.w = result.dw = op.w.slice_rows(step * inner, inner);  // dw says that it is wanted; sums take it
    result.activation = op.activation;
    return result;
  }

  /// ds of `rows` rows from row `row` on, and their part of dw to the sums.
  const T* block(std::int64_t row, std::int64_t rows) {
    const T* dz = block_dz(range, row, rows);
    prefetch_next(dense.x, row, rows);
    add_block_sums(range, dense.x.template data<T>() + row * dense.x.columns(), dz, rows);
    multiply_back(range, dz, rows, ds.data());
    return ds.data();
  }
};

/// ds of both steps of pair `p` into its lines, and their dw to `sums` [steps, F G].
template <class T, int P>
void lay_gradient(const StepGraphConvolutionBackward& op, std::int64_t p, T* lines, double* sums) {
  const PairedMatrix& a = *op.a.paired_transpose;
  const std::int64_t inner = op.aggregated.columns(), stride = inner * op.w.columns();
  StepBack<T> first(op, 2 * p, sums + 2 * p * stride);
  std::optional<StepBack<T>> second;
  if (steps_of(a, p) == 2) second.emplace(op, 2 * p + 1, sums + (2 * p + 1) * stride);
  for_blocks(a.step_rows, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t rows = end - begin, top = 2 * p * a.step_rows + begin;
    const T* left = first.block(top, rows);
    const T* right = second ? second->block(top + a.step_rows, rows) : nullptr;
    lay_side_by_side<T, P>(left, right, rows, inner, lines + begin * 2 * P);
  });
}

void run_backward(const StepGraphConvolutionBackward& op, KernelContext& context) {
  const PairedMatrix& a = *op.a.paired_transpose;
  const std::int64_t inner = op.aggregated.columns();
  std::vector<double> sums(op.w.elements(), 0.0);
  with_types(a, [&](auto zero, auto column) {
    using T = decltype(zero);
    using Column = decltype(column);
    const auto lay = [&](std::int64_t p, T* lines, auto lanes) {
      lay_gradient<T, decltype(lanes)::value>(op, p, lines, sums.data());
    };
    for_laid_pairs<T, Column>(a, inner, context, lay, [&](std::int64_t p, const auto& view, auto lanes) {
      const StepPair<T> dx(a, op.dx.data<T>(), inner, p);
      gather_pair<T, Column, decltype(lanes)::value>(view, dx.first, dx.second, inner, op.accumulate_dx, 0,
                                                     a.step_rows);
    });
    store_sums<T>(op.dw, op.accumulate_dw, sums);
  });
}

const RegisterKernel<StepGraphConvolution> paired{
    "cpu",
    {"paired", 20, [](const StepGraphConvolution& op) { return fits(op.a.paired, op.x, op.step_rows); }, run_forward}};
const RegisterKernel<StepGraphConvolutionBackward> backward_paired{
    "cpu",
    {"paired", 20,
     [](const StepGraphConvolutionBackward& op) { return fits(op.a.paired_transpose, op.dx, op.step_rows); },
     run_backward}};

}  // namespace
}  // namespace strobe
