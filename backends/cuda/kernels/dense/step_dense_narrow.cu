// Dense layer with one weight per step, of at most 32 columns in and out, and its gradient. A block takes a part of a
// step's rows, so it holds one weight in shared memory: forward narrow_product.hpp, backward narrow_gradient.hpp, where
// a second launch adds the sums of a step's parts in order. The number of parts depends on shapes only. Cost: the
// compulsory bytes, a step's w once per part and 8 (F + 1) G bytes of partial sums per part; one launch forward, two
// backward.
#include "backends/cuda/kernels/dense/narrow_gradient.hpp"
#include "backends/cuda/kernels/dense/step_parts.hpp"
#include "backends/operations/operations_evolve.hpp"

namespace strobe::cuda {
namespace step_dense_narrow_kernels {

template <int P, class T>
__global__ void step_dense_narrow(NarrowProduct<T> p, StepParts steps) {
  const std::int64_t step = blockIdx.x / steps.parts, part = blockIdx.x % steps.parts;
  p.w += step * p.inner * p.width;
  multiply_rows<P>(p, steps.begin(step, part), steps.end(step, part), blockDim.x);
}

template <int P, class T>
__global__ void step_dense_backward_narrow(NarrowGradient<T> p, StepParts steps, double* sums) {
  const std::int64_t step = blockIdx.x / steps.parts, part = blockIdx.x % steps.parts;
  p.w += step * p.inner * p.width;
  differentiate_rows<P>(p, steps.begin(step, part), steps.end(step, part),
                        sums + static_cast<std::int64_t>(blockIdx.x) * (p.inner + 1) * p.width);
}

bool supports_forward(const StepDense& op) { return is_narrow(op.x.columns(), op.w.columns()); }
bool supports_backward(const StepDenseBackward& op) { return is_narrow(op.x.columns(), op.w.columns()); }

template <class T, int P>
void forward(const StepDense& op, const KernelContext& context) {
  constexpr int threads = narrow_rows<T>;
  const StepParts steps = step_parts(op.step_rows, op.y.rows(), 2 * threads, 0);
  const NarrowProduct<T> p = narrow_product_of<T>(op.x, op.w, Tensor(), op.y, op.x.columns(), op.activation);
  launch(context, steps.steps * steps.parts, threads, narrow_product_bytes(p, P), step_dense_narrow<P, T>, p, steps);
}

template <class T, int P>
void backward(const StepDenseBackward& op, const KernelContext& context) {
  constexpr int threads = narrow_rows<T>;
  const NarrowGradient<T> p = narrow_gradient_of<T>(op, op.x.columns());
  const std::int64_t weights = op.x.columns() * op.w.columns(), stride = weights + op.w.columns();
  const StepParts steps = step_parts(op.step_rows, op.dy.rows(), 4 * threads, stride);
  if (steps.steps == 0) return;
  double* const sums = part_sums_memory(context, steps.steps * steps.parts, stride);
  launch(context, steps.steps * steps.parts, threads, narrow_gradient_bytes<P>(p), step_dense_backward_narrow<P, T>, p,
         steps, sums);
  launch(context, blocks_for(steps.steps * weights, threads), threads, 0, add_step_parts<T>, op.dw.data<T>(), steps,
         weights, stride, sums, op.accumulate_dw);
}

void run_forward(const StepDense& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    with_padding(op.w.columns(), [&](auto padding) { forward<decltype(zero), decltype(padding)::value>(op, context); });
  });
}

void run_backward(const StepDenseBackward& op, KernelContext& context) {
  with_element(op.dy.type(), [&](auto zero) {
    with_padding(op.w.columns(),
                 [&](auto padding) { backward<decltype(zero), decltype(padding)::value>(op, context); });
  });
}

const RegisterKernel<StepDense> narrow{"cuda", {"narrow", 20, supports_forward, run_forward}};
const RegisterKernel<StepDenseBackward> backward_narrow{"cuda", {"narrow", 20, supports_backward, run_backward}};

}  // namespace step_dense_narrow_kernels
}  // namespace strobe::cuda
