// The judge of the dense layer under an M-transform and of its gradient: one value at a time, sums in double and in
// order of time. One thread. Cost 2 T n F G + w T n G FLOPs.
#include <vector>

#include "backends/cpu/kernels/range_sums.hpp"
#include "backends/cpu/kernels/support.hpp"
#include "backends/operations/operations_fused.hpp"

namespace strobe {
namespace {

/// activation(x w) at `row`, column `g`.
template <class T>
double hidden(const Tensor& x, const Tensor& w, Activation activation, std::int64_t row, std::int64_t g) {
  double sum = 0;
  for (std::int64_t f = 0; f < x.columns(); ++f) {
    sum +=
        static_cast<double>(x.data<T>()[row * x.columns() + f]) * static_cast<double>(w.data<T>()[f * w.columns() + g]);
  }
  return activation == Activation::relu && sum < 0 ? 0 : sum;
}

template <class T>
void forward(const DenseMTransform& op) {
  const std::int64_t n = op.steps == 0 ? 0 : op.x.rows() / op.steps, width = op.w.columns();
  for (std::int64_t i = 0; i < op.y.elements(); ++i) {
    const std::int64_t row = i / width, step = row / n;
    double sum = 0;
    for (std::int64_t s = std::max<std::int64_t>(0, step - op.window + 1); s <= step; ++s) {
      sum += hidden<T>(op.x, op.w, op.activation, row - (step - s) * n, i % width);
    }
    op.y.data<T>()[i] = static_cast<T>(sum / static_cast<double>(std::min(op.window, step + 1)));
  }
}

template <class T>
void backward(const DenseMTransformBackward& op) {
  const std::int64_t n = op.steps == 0 ? 0 : op.x.rows() / op.steps, width = op.w.columns();
  std::vector<double> sums(op.w.elements(), 0.0);
  for (std::int64_t i = 0; i < op.dy.elements(); ++i) {
    const std::int64_t row = i / width, step = row / n, g = i % width;
    if (op.activation == Activation::relu && !(hidden<T>(op.x, op.w, op.activation, row, g) > 0)) continue;
    double dh = 0;
    for (std::int64_t t = step; t < std::min(op.steps, step + op.window); ++t) {
      dh += static_cast<double>(op.dy.data<T>()[i + (t - step) * n * width]) /
            static_cast<double>(std::min(op.window, t + 1));
    }
    for (std::int64_t f = 0; f < op.x.columns(); ++f) {
      sums[f * width + g] += static_cast<double>(op.x.data<T>()[row * op.x.columns() + f]) * dh;
    }
  }
  cpu::add_range_sums<T>(op.dw, sums, 0, op.w.elements());
}

void run_forward(const DenseMTransform& op, KernelContext&) {
  cpu::with_element(op.y.type(), [&](auto zero) { forward<decltype(zero)>(op); });
}

void run_backward(const DenseMTransformBackward& op, KernelContext&) {
  cpu::with_element(op.dy.type(), [&](auto zero) { backward<decltype(zero)>(op); });
}

const RegisterKernel<DenseMTransform> plain{"cpu", {"plain", 0, nullptr, run_forward}};
const RegisterKernel<DenseMTransformBackward> plain_backward{"cpu", {"plain", 0, nullptr, run_backward}};

}  // namespace
}  // namespace strobe
