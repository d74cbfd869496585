// Plain dense layer and its gradient. Forward: rows independent. Backward: dx rows are independent; dw and dbias are
// sums over all rows, taken in double over at most 64 equal row ranges (a number that depends on the rows only) and
// added range after range, so the result does not depend on the number of threads.
// Cost 2 R F G FLOPs per product.
#include <vector>

#include "backends/cpu/kernels/range_sums.hpp"
#include "backends/cpu/kernels/support.hpp"

namespace strobe {
namespace {

using cpu::for_ranges;
using cpu::with_element;

constexpr std::int64_t rows_per_task = 1024;
constexpr std::int64_t most_partial_sums = 64;

template <class T>
void dense_rows(const Dense& op, std::int64_t begin, std::int64_t end) {
  const std::int64_t inner = op.x.columns(), width = op.y.columns();
  const T* w = op.w.data<T>();
  const T* bias = op.bias.defined() ? op.bias.data<T>() : nullptr;
  for (std::int64_t r = begin; r < end; ++r) {
    const T* x = op.x.data<T>() + r * inner;
    T* y = op.y.data<T>() + r * width;
    for (std::int64_t g = 0; g < width; ++g) y[g] = bias != nullptr ? bias[g] : T{0};
    for (std::int64_t f = 0; f < inner; ++f) {
      for (std::int64_t g = 0; g < width; ++g) y[g] += x[f] * w[f * width + g];
    }
    if (op.activation == Activation::relu) {
      for (std::int64_t g = 0; g < width; ++g) y[g] = y[g] < T{0} ? T{0} : y[g];  // keeps NaN
    }
  }
}

void run_dense(const Dense& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    for_ranges(context, op.y.rows(), rows_per_task,
               [&](std::int64_t begin, std::int64_t end) { dense_rows<decltype(zero)>(op, begin, end); });
  });
}

/// Writes dx for rows [begin, end) and adds their part of dw [F * G] and dbias [G] to `sums` [(F + 1) * G].
template <class T>
void backward_rows(const DenseBackward& op, std::int64_t begin, std::int64_t end, double* sums) {
  const std::int64_t inner = op.w.rows(), width = op.w.columns();
  const T* w = op.w.data<T>();
  std::vector<T> dz(width);
  for (std::int64_t r = begin; r < end; ++r) {
    const T* dy = op.dy.data<T>() + r * width;
    const T* y = op.activation == Activation::relu ? op.y.data<T>() + r * width : nullptr;
    for (std::int64_t g = 0; g < width; ++g) {
      dz[g] = y == nullptr || y[g] > T{0} ? dy[g] : T{0};
      sums[inner * width + g] += static_cast<double>(dz[g]);
    }
    for (std::int64_t f = 0; f < inner; ++f) {
      T product{0};
      for (std::int64_t g = 0; g < width; ++g) product += dz[g] * w[f * width + g];
      if (op.dx.defined()) {
        T& target = op.dx.data<T>()[r * inner + f];
        target = op.accumulate_dx ? target + product : product;
      }
      if (op.dw.defined()) {
        const double x = op.x.data<T>()[r * inner + f];
        for (std::int64_t g = 0; g < width; ++g) {
          sums[f * width + g] += x * static_cast<double>(dz[g]);
        }
      }
    }
  }
}

void run_dense_backward(const DenseBackward& op, KernelContext& context) {
  const std::int64_t rows = op.dy.rows();
  const std::int64_t grain = std::max(std::int64_t{256}, cpu::divide_up(rows, most_partial_sums));
  with_element(op.dy.type(), [&](auto zero) {
    using T = decltype(zero);
    cpu::add_weight_gradients<T>(
        context, rows, grain, op.dw, op.w.elements(), op.dbias, op.w.columns(),
        [&](std::int64_t begin, std::int64_t end, double* sums) { backward_rows<T>(op, begin, end, sums); });
  });
}

const RegisterKernel<Dense> dense_plain{"cpu", {"plain", 0, nullptr, run_dense}};
const RegisterKernel<DenseBackward> dense_backward_plain{"cpu", {"plain", 0, nullptr, run_dense_backward}};

}  // namespace
}  // namespace strobe
