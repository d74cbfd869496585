// Plain dense layer with one weight per step, and its gradient, by the definitions: one row at a time with the weight
// of its step. dw_t is a sum over the step's rows in row order, in double; steps are the tasks, so nothing depends on
// the number of threads. Cost 2 R F G FLOPs per product.
#include <vector>

#include "backends/cpu/kernels/support.hpp"
#include "backends/operations/operations_evolve.hpp"

namespace strobe {
namespace {

using cpu::run_tasks;
using cpu::with_element;

template <class T>
void forward_step(const StepDense& op, std::int64_t step) {
  const std::int64_t inner = op.x.columns(), width = op.w.columns();
  const std::int64_t* rows = op.step_rows.data<std::int64_t>();
  const T* w = op.w.data<T>() + step * inner * width;
  for (std::int64_t r = rows[step]; r < rows[step + 1]; ++r) {
    const T* x = op.x.data<T>() + r * inner;
    T* y = op.y.data<T>() + r * width;
    for (std::int64_t g = 0; g < width; ++g) {
      T sum{0};
      for (std::int64_t f = 0; f < inner; ++f) sum += x[f] * w[f * width + g];
      y[g] = op.activation == Activation::relu && sum < T{0} ? T{0} : sum;  // keeps NaN
    }
  }
}

void run_forward(const StepDense& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    run_tasks(context, op.step_rows.rows() - 1, [&](std::int64_t t) { forward_step<decltype(zero)>(op, t); });
  });
}

/// Writes dx of the step's rows and adds their part of dw to `sums` [F * G].
template <class T>
void backward_rows(const StepDenseBackward& op, std::int64_t step, std::vector<double>& sums) {
  const std::int64_t inner = op.x.columns(), width = op.w.columns();
  const std::int64_t* rows = op.step_rows.data<std::int64_t>();
  const T* w = op.w.data<T>() + step * inner * width;
  for (std::int64_t r = rows[step]; r < rows[step + 1]; ++r) {
    for (std::int64_t f = 0; f < inner; ++f) {
      T product{0};
      for (std::int64_t g = 0; g < width; ++g) {
        const bool live = op.activation == Activation::none || op.y.data<T>()[r * width + g] > T{0};
        const T dz = live ? op.dy.data<T>()[r * width + g] : T{0};
        product += dz * w[f * width + g];
        sums[f * width + g] += static_cast<double>(op.x.data<T>()[r * inner + f]) * static_cast<double>(dz);
      }
      if (!op.dx.defined()) continue;
      T& target = op.dx.data<T>()[r * inner + f];
      target = op.accumulate_dx ? target + product : product;
    }
  }
}

template <class T>
void backward_step(const StepDenseBackward& op, std::int64_t step) {
  const std::int64_t weights = op.x.columns() * op.w.columns();
  std::vector<double> sums(weights, 0.0);
  backward_rows<T>(op, step, sums);
  T* dw = op.dw.data<T>() + step * weights;
  for (std::int64_t i = 0; i < weights; ++i) {
    const double before = op.accumulate_dw ? static_cast<double>(dw[i]) : 0.0;
    dw[i] = static_cast<T>(before + sums[i]);
  }
}

void run_backward(const StepDenseBackward& op, KernelContext& context) {
  with_element(op.dy.type(), [&](auto zero) {
    run_tasks(context, op.step_rows.rows() - 1, [&](std::int64_t t) { backward_step<decltype(zero)>(op, t); });
  });
}

const RegisterKernel<StepDense> forward{"cpu", {"plain", 0, nullptr, run_forward}};
const RegisterKernel<StepDenseBackward> backward{"cpu", {"plain", 0, nullptr, run_backward}};

}  // namespace
}  // namespace strobe
