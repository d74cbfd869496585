// Vector dense layer and its gradient (see dense_rows.hpp), made for narrow layers over very many rows, right for any
// width. dw is summed in the element type inside a block of rows and in double over blocks and row ranges; ranges
// depend on the number of rows only, so the result does not depend on the number of threads. Layers of many weights
// sum dw by its rows instead (dense_deep.hpp). Cost 2 R F G FLOPs per product; memory bound below widths of about 32.
#include <vector>

#include "backends/cpu/kernels/dense/dense_rows.hpp"
#include "backends/cpu/kernels/range_sums.hpp"

namespace strobe {
namespace {

using namespace cpu;

constexpr std::int64_t flops_per_task = 1 << 20;  // some ten microseconds; rows of narrow layers are moved in bulk
constexpr std::int64_t most_ranges = 64;

void run_dense(const Dense& op, KernelContext& context) {
  const std::int64_t row_flops = 2 * op.w.elements();
  const std::int64_t grain =
      std::clamp(flops_per_task / std::max<std::int64_t>(1, row_flops), deep_rows, 85 * deep_rows);
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    for_ranges(context, op.y.rows(), grain,
               [&](std::int64_t begin, std::int64_t end) { dense_rows<T>(op, begin, end); });
  });
}

template <class T>
void backward_by_rows(const DenseBackward& op, const KernelContext& context, bool with_sums) {
  const std::int64_t rows = op.dy.rows(), weights = op.w.elements(), width = op.w.columns();
  const std::int64_t grain = std::max(with_sums ? std::int64_t{512} : block_rows, divide_up(rows, most_ranges));
  const std::int64_t stride = with_sums ? weights + width : 0;
  std::vector<double> sums(divide_up(rows, grain) * stride, 0.0);
  Scratch<T> turned = transposed<T>(op.w);
  for_ranges(context, rows, grain, [&](std::int64_t begin, std::int64_t end) {
    BackwardRange<T> range{op, turned.data(), with_sums ? sums.data() + begin / grain * stride : nullptr,
                           std::vector<T>(block_rows * width + most_lanes<T>, T{0})};
    backward_range(range, begin, end);
  });
  if (!with_sums) return;
  cpu::add_range_sums<T>(op.dw, sums, 0, stride);
  cpu::add_range_sums<T>(op.dbias, sums, weights, stride);
}

void run_dense_backward(const DenseBackward& op, KernelContext& context) {
  with_element(op.dy.type(), [&](auto zero) {
    using T = decltype(zero);
    if (op.w.elements() <= many_weights) return backward_by_rows<T>(op, context, true);
    add_deep_weights<T>(op, column_parts<T>({op.x}), context);
    if (op.dx.defined()) backward_by_rows<T>(op, context, false);
  });
}

const RegisterKernel<Dense> dense_vector{"cpu", {"vector", 10, nullptr, run_dense}};
const RegisterKernel<DenseBackward> dense_backward_vector{"cpu", {"vector", 10, nullptr, run_dense_backward}};

}  // namespace
}  // namespace strobe
