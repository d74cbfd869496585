// Wide dense layer with one weight per step and its gradient, as products of tiles: see wide_layer.cu. Every step gets
// as many ranges of rows as one of the mean number of rows needs; longer ranges are walked tile by tile.
#include "backends/cuda/kernels/dense/wide_layer.hpp"
#include "backends/operations/operations_evolve.hpp"

namespace strobe::cuda {
namespace step_dense_tiled_kernels {

bool supports_forward(const StepDense& op) {
  return is_wide_layer(op.y.rows(), op.x.columns(), op.w.columns(), op.step_rows.rows());
}
bool supports_backward(const StepDenseBackward& op) {
  return is_wide_layer(op.dy.rows(), op.x.columns(), op.w.columns(), op.step_rows.rows());
}

template <class T, class Op>
WideLayer<T> layer_of(const Op& op, T* dx, bool accumulate_dx) {
  WideLayer<T> p = wide_layer_of<T>(op.w, op.x.rows(), op.activation);
  p.inner = static_cast<int>(op.x.columns()), p.batches = op.step_rows.rows() - 1;
  p.step_rows = op.step_rows.template data<std::int64_t>();
  p.x.add(op.x.template data<T>(), dx, p.inner, p.inner, accumulate_dx);
  p.vector = p.vector && takes_fours(p.x.part[0], p.inner) && takes_fours(dx, p.inner);
  return p;
}

void run_forward(const StepDense& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    WideLayer<T> p = layer_of<T>(op, nullptr, false);
    p.out = op.y.data<T>();
    p.vector = p.vector && takes_fours(p.out, p.width);
    run_wide_forward(p, context);
  });
}

void run_backward(const StepDenseBackward& op, KernelContext& context) {
  with_element(op.dy.type(), [&](auto zero) {
    using T = decltype(zero);
    WideLayer<T> p = layer_of<T>(op, op.dx.data<T>(), op.accumulate_dx);
    p.live = p.relu ? op.y.data<T>() : nullptr, p.dy = op.dy.data<T>();
    p.vector = p.vector && takes_fours(p.live, p.width) && takes_fours(p.dy, p.width);
    run_wide_backward(p, {op.dw, Tensor(), op.accumulate_dw}, context);
  });
}

const RegisterKernel<StepDense> tiled{"cuda", {"tiled", 10, supports_forward, run_forward}};
const RegisterKernel<StepDenseBackward> backward_tiled{"cuda", {"tiled", 10, supports_backward, run_backward}};

}  // namespace step_dense_tiled_kernels
}  // namespace strobe::cuda
