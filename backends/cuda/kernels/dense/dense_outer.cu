// Gradient of a dense layer of at most eight columns in and out, with one weight or one per step, by one row a thread
// (outer_products.hpp). A block takes a part of the rows, or of a step's; their number depends on shapes only. Cost:
// the compulsory bytes (x, dy and with an activation y read once, dx written once) and 8 (F + 1) G bytes of partial
// sums per block. Launches: 2.
#include "backends/cuda/kernels/dense/outer_products.hpp"
#include "backends/cuda/kernels/dense/step_parts.hpp"
#include "backends/operations/operations_evolve.hpp"

namespace strobe::cuda {
namespace dense_outer_kernels {

template <class T>
__global__ void __launch_bounds__(outer_threads, outer_blocks_per_multiprocessor)
    dense_backward(OuterGradient<T> p, RowParts parts, double* sums) {
  add_outer_products(p, parts.begin(blockIdx.x), parts.end(blockIdx.x),
                     sums + static_cast<std::int64_t>(blockIdx.x) * (p.inner + 1) * p.width);
}

template <class T>
__global__ void __launch_bounds__(outer_threads, outer_blocks_per_multiprocessor)
    step_dense_backward(OuterGradient<T> p, StepParts steps, double* sums) {
  const std::int64_t step = blockIdx.x / steps.parts, part = blockIdx.x % steps.parts;
  p.w += step * p.inner * p.width;
  add_outer_products(p, steps.begin(step, part), steps.end(step, part),
                     sums + static_cast<std::int64_t>(blockIdx.x) * (p.inner + 1) * p.width);
}

bool supports(const DenseBackward& op) {
  return op.dw.defined() && op.dy.type() == ElementType::f32 && takes_outer_products(op.w.rows(), op.w.columns());
}
bool supports_steps(const StepDenseBackward& op) {
  return op.dy.type() == ElementType::f32 && takes_outer_products(op.x.columns(), op.w.columns());
}

void run(const DenseBackward& op, KernelContext& context) {
  const std::int64_t stride = op.w.elements() + op.w.columns();
  const RowParts parts = row_parts(op.dy.rows(), stride, outer_threads);
  if (parts.count == 0) return;
  double* const sums = part_sums_memory(context, parts.count, stride);
  launch(context, parts.count, outer_threads, 0, dense_backward<float>, outer_gradient<float>(op, op.w.rows()), parts,
         sums);
  add_part_sums<float>(context, op.dw, op.w.elements(), op.dbias, sums, parts.count, stride);
}

void run_steps(const StepDenseBackward& op, KernelContext& context) {
  constexpr std::int64_t rows_per_part = 8 * outer_threads;
  constexpr int threads = 256;
  const std::int64_t weights = op.x.columns() * op.w.columns(), stride = weights + op.w.columns();
  const StepParts steps = step_parts(op.step_rows, op.dy.rows(), rows_per_part, stride);
  if (steps.steps == 0) return;
  double* const sums = part_sums_memory(context, steps.steps * steps.parts, stride);
  launch(context, steps.steps * steps.parts, outer_threads, 0, step_dense_backward<float>,
         outer_gradient<float>(op, op.x.columns()), steps, sums);
  launch(context, blocks_for(steps.steps * weights, threads), threads, 0, add_step_parts<float>, op.dw.data<float>(),
         steps, weights, stride, sums, op.accumulate_dw);
}

const RegisterKernel<DenseBackward> outer{"cuda", {"outer", 25, supports, run}};
const RegisterKernel<StepDenseBackward> outer_steps{"cuda", {"outer", 25, supports_steps, run_steps}};

}  // namespace dense_outer_kernels
}  // namespace strobe::cuda
