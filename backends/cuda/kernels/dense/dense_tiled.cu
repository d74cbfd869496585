// Dense layer and its gradient for wide layers, as products of tiles: see wide_layer.cu.
#include "backends/cuda/kernels/dense/wide_layer.hpp"

namespace strobe::cuda {
namespace dense_tiled_kernels {

bool supports_forward(const Dense& op) { return is_wide_layer(op.y.rows(), op.x.columns(), op.w.columns(), 1); }
bool supports_backward(const DenseBackward& op) { return is_wide_layer(op.dy.rows(), op.w.rows(), op.w.columns(), 1); }

void run_dense(const Dense& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    WideLayer<T> p = wide_layer_of<T>(op.w, op.y.rows(), op.activation);
    p.x.add(op.x.data<T>(), nullptr, p.inner, p.inner, false);
    p.bias = op.bias.data<T>(), p.out = op.y.data<T>();
    p.vector = p.vector && takes_fours(op.x.data<T>(), p.inner) && takes_fours(p.out, p.width);
    run_wide_forward(p, context);
  });
}

void run_dense_backward(const DenseBackward& op, KernelContext& context) {
  with_element(op.dy.type(), [&](auto zero) {
    using T = decltype(zero);
    WideLayer<T> p = wide_layer_of<T>(op.w, op.dy.rows(), op.activation);
    p.x.add(op.x.data<T>(), op.dx.data<T>(), p.inner, p.inner, op.accumulate_dx);
    p.live = p.relu ? op.y.data<T>() : nullptr, p.dy = op.dy.data<T>();
    p.vector = p.vector && takes_fours(p.x.part[0], p.inner) && takes_fours(p.x.gradient[0], p.inner) &&
               takes_fours(p.live, p.width) && takes_fours(p.dy, p.width);
    run_wide_backward(p, {op.dw, op.dbias, true}, context);
  });
}

const RegisterKernel<Dense> tiled{"cuda", {"tiled", 10, supports_forward, run_dense}};
const RegisterKernel<DenseBackward> backward_tiled{"cuda", {"tiled", 10, supports_backward, run_dense_backward}};

}  // namespace dense_tiled_kernels
}  // namespace strobe::cuda
