// Plain dense layer with one weight per step, and its gradient. Forward: one thread an element of y, which finds the
// row's step by binary search. Backward: the same for dx; then one thread for every weight of every part of a step's
// rows, which sums in double, and a launch that adds a step's parts in order. The number of parts depends on shapes
// only. Cost 2 R F G FLOPs per product and log2 T reads of step offsets per element; one launch forward, three
// backward.
#include "backends/cuda/kernels/dense/step_parts.hpp"
#include "backends/operations/operations_evolve.hpp"

namespace strobe::cuda {
namespace step_dense_plain_kernels {

constexpr int threads = 256;

template <class T>
struct Product {
  const T *x, *w;
  T* y;
  std::int64_t rows, inner, width;
  bool relu;
};

template <class T>
__global__ void step_dense(Product<T> p, StepParts steps) {
  for (std::int64_t i = grid_thread(); i < p.rows * p.width; i += grid_threads()) {
    const std::int64_t row = i / p.width, g = i % p.width;
    const T* const w = p.w + steps.step_of(row) * p.inner * p.width;
    T sum{0};
    for (std::int64_t f = 0; f < p.inner; ++f) sum += p.x[row * p.inner + f] * w[f * p.width + g];
    p.y[i] = activated(sum, p.relu);
  }
}

template <class T>
struct Gradient {
  const T *x, *w, *y, *dy;  // y is null without activation
  T* dx;
  std::int64_t rows, inner, width;
  bool accumulate_dx;
  __device__ std::int64_t weights() const { return inner * width; }
};

template <class T>
__global__ void input_gradient(Gradient<T> p, StepParts steps) {
  for (std::int64_t i = grid_thread(); i < p.rows * p.inner; i += grid_threads()) {
    const std::int64_t row = i / p.inner, f = i % p.inner;
    const T* const w = p.w + steps.step_of(row) * p.weights() + f * p.width;
    T sum{0};
    for (std::int64_t g = 0; g < p.width; ++g) sum += through_activation(p.y, p.dy, row * p.width + g) * w[g];
    p.dx[i] = p.accumulate_dx ? p.dx[i] + sum : sum;
  }
}

/// sums [steps, parts, F * G].
template <class T>
__global__ void weight_sums(Gradient<T> p, StepParts steps, double* sums) {
  for (std::int64_t i = grid_thread(); i < steps.steps * steps.parts * p.weights(); i += grid_threads()) {
    const std::int64_t part = i / p.weights(), f = i % p.weights() / p.width, g = i % p.width;
    const std::int64_t end = steps.end(part / steps.parts, part % steps.parts);
    double sum = 0;
    for (std::int64_t r = steps.begin(part / steps.parts, part % steps.parts); r < end; ++r) {
      const double dz = through_activation(p.y, p.dy, r * p.width + g);
      sum += static_cast<double>(p.x[r * p.inner + f]) * dz;
    }
    sums[i] = sum;
  }
}

void run_forward(const StepDense& op, KernelContext& context) {
  const StepParts steps{op.step_rows.data<std::int64_t>(), op.step_rows.rows() - 1, 1};
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const Product<T> p{op.x.data<T>(),
                       op.w.data<T>(),
                       op.y.data<T>(),
                       op.y.rows(),
                       op.x.columns(),
                       op.w.columns(),
                       op.activation == Activation::relu};
    launch(context, blocks_for(op.y.elements(), threads), threads, 0, step_dense<T>, p, steps);
  });
}

void run_backward(const StepDenseBackward& op, KernelContext& context) {
  const std::int64_t weights = op.x.columns() * op.w.columns();
  const StepParts steps = step_parts(op.step_rows, op.dy.rows(), 64, weights);
  if (steps.steps == 0 || weights == 0) return;
  with_element(op.dy.type(), [&](auto zero) {
    using T = decltype(zero);
    const T* y = op.activation == Activation::relu ? op.y.data<T>() : nullptr;
    const Gradient<T> p{op.x.data<T>(),  op.w.data<T>(),  y,
                        op.dy.data<T>(), op.dx.data<T>(), op.dy.rows(),
                        op.x.columns(),  op.w.columns(),  op.accumulate_dx};
    if (op.dx.defined()) {
      launch(context, blocks_for(op.dx.elements(), threads), threads, 0, input_gradient<T>, p, steps);
    }
    double* const sums = part_sums_memory(context, steps.steps * steps.parts, weights);
    launch(context, blocks_for(steps.steps * steps.parts * weights, threads), threads, 0, weight_sums<T>, p, steps,
           sums);
    launch(context, blocks_for(steps.steps * weights, threads), threads, 0, add_step_parts<T>, op.dw.data<T>(), steps,
           weights, weights, static_cast<const double*>(sums), op.accumulate_dw);
  });
}

const RegisterKernel<StepDense> plain{"cuda", {"plain", 0, nullptr, run_forward}};
const RegisterKernel<StepDenseBackward> backward_plain{"cuda", {"plain", 0, nullptr, run_backward}};

}  // namespace step_dense_plain_kernels
}  // namespace strobe::cuda
