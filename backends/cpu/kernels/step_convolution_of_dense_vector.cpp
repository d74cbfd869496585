// Graph convolution with one weight per step of a dense layer's output that is computed again for every entry, and its
// gradients, on compressed rows: blocks of 128 aggregated rows are multiplied with their step's weight while they are
// in the cache, and backward the gradients of a block's aggregated rows are used where they were made. Ranges of rows
// of one step are tasks, whose sums are added in order. Cost: those of spmm_of_dense_vector.cpp and of the dense layer,
// of which aggregated rows are written once forward and read once backward where they are kept, computed again
// otherwise.
#include <vector>

#include "backends/cpu/kernels/dense_rows.hpp"
#include "backends/cpu/kernels/layer_lanes.hpp"
#include "backends/cpu/kernels/of_dense_rows.hpp"

namespace strobe {
namespace {

using namespace cpu;

template <class T>
void forward_range(const StepConvolutionOfDense& op, const CompressedView<T>& a, const RowRange& rows) {
  const std::int64_t inner = op.aggregated.columns();
  const StepLayer<T> first(op.x, op.w_first, Tensor(), op.first, rows.step);
  const Dense second{{}, op.w.slice_rows(rows.step * inner, inner), {}, op.y, op.activation};
  for (std::int64_t begin = rows.begin; begin < rows.end; begin += block_rows) {
    const std::int64_t end = std::min(rows.end, begin + block_rows);
    T* const sums = op.aggregated.data<T>() + begin * inner;
    product_rows(a, first, begin, end, sums);
    op.activation == Activation::relu ? dense_block<T, true>(second, sums, begin, end)
                                      : dense_block<T, false>(second, sums, begin, end);
  }
}

void run_forward(const StepConvolutionOfDense& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const CompressedView<T> a = compressed<T>(op.a);
    const std::vector<RowRange> ranges = ranges_of(a, op.step_rows);
    run_tasks(context, static_cast<std::int64_t>(ranges.size()),
              [&](std::int64_t i) { forward_range<T>(op, a, ranges[static_cast<std::size_t>(i)]); });
  });
}

/// Adds the range's part of dw_first to first_sums [F + 1, G] and of dw to sums [G, H].
template <class T>
void backward_range_of(const StepConvolutionOfDenseBackward& op, const CompressedView<T>& a, const RowRange& rows,
                       double* first_sums, double* sums) {
  const std::int64_t inner = op.aggregated.columns();
  const StepLayer<T> first(op.x, op.w_first, Tensor(), op.first, rows.step);
  DenseBackward second;
  second.x = op.aggregated, second.y = op.y, second.dy = op.dy;
  second.w = second.dw = op.w.slice_rows(rows.step * inner, inner);  // dw: it is wanted; sums take it
  second.activation = op.activation;
  Scratch<T> turned = transposed<T>(second.w);
  BackwardRange<T> range{second, turned.data(), sums,
                         std::vector<T>(static_cast<std::size_t>(block_rows * op.w.columns() + most_lanes<T>), T{0})};
  T* const ds = line_buffer<T>(block_rows * inner + most_lanes<T>);
  for (std::int64_t begin = rows.begin; begin < rows.end; begin += block_rows) {
    const std::int64_t end = std::min(rows.end, begin + block_rows), count = end - begin;
    T* const aggregated = op.aggregated.data<T>() + begin * inner;
    if (!op.kept) product_rows(a, first, begin, end, aggregated);
    const T* dz = block_dz(range, begin, count);
    if (op.kept) prefetch_next(op.aggregated, begin, count);
    add_block_sums(range, aggregated, dz, count);
    multiply_back(range, dz, count, ds);
    gradient_rows(a, first, begin, end, ds, false, first_sums);
  }
}

void run_backward(const StepConvolutionOfDenseBackward& op, KernelContext& context) {
  with_element(op.dy.type(), [&](auto zero) {
    using T = decltype(zero);
    const CompressedView<T> a = compressed<T>(op.a);
    const std::vector<RowRange> ranges = ranges_of(a, op.step_rows);
    const std::int64_t inner = op.aggregated.columns(), width = op.w.columns();
    const std::int64_t first_stride = (op.x.columns() + 1) * inner, stride = (inner + 1) * width;
    std::vector<double> first_sums(ranges.size() * static_cast<std::size_t>(first_stride), 0.0);
    std::vector<double> sums(ranges.size() * static_cast<std::size_t>(stride), 0.0);  // no bias: the last rows stay 0
    run_tasks(context, static_cast<std::int64_t>(ranges.size()), [&](std::int64_t i) {
      backward_range_of<T>(op, a, ranges[static_cast<std::size_t>(i)], first_sums.data() + i * first_stride,
                           sums.data() + i * stride);
    });
    const auto step_of = [&](std::int64_t i) { return ranges[static_cast<std::size_t>(i)].step; };
    store_layer_gradients<T>(op.dw_first, op.accumulate_dw_first, Tensor(), first_sums, op.x.columns(), step_of);
    store_layer_gradients<T>(op.dw, op.accumulate_dw, Tensor(), sums, inner, step_of);
  });
}

template <class Op>
bool supports(const Op& op) {
  return op.x.columns() >= 1 && op.x.columns() <= SpmmOfDense::most_features;
}

const RegisterKernel<StepConvolutionOfDense> forward{Numerics::cpu,
                                                     {"vector", 10, supports<StepConvolutionOfDense>, run_forward}};
const RegisterKernel<StepConvolutionOfDenseBackward> backward{
    Numerics::cpu, {"vector", 10, supports<StepConvolutionOfDenseBackward>, run_backward}};

}  // namespace
}  // namespace strobe
