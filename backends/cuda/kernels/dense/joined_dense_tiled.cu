// Dense layer of up to 16 parts side by side and its gradient, as products of tiles that read from the parts and write
// to those whose gradient is wanted: see wide_layer.cu. For layers that are too wide for
// joined_dense_staged.cu.
#include "backends/cuda/kernels/dense/wide_layer.hpp"
#include "backends/operations/operations_join.hpp"

namespace strobe::cuda {
namespace joined_dense_tiled_kernels {

bool fits(const std::vector<Tensor>& parts, const Tensor& w, std::int64_t rows) {
  return !parts.empty() && static_cast<int>(parts.size()) <= most_wide_parts &&
         is_wide_layer(rows, w.rows(), w.columns(), 1);
}
bool supports_forward(const JoinedDense& op) { return fits(op.parts, op.w, op.y.rows()); }
bool supports_backward(const JoinedDenseBackward& op) { return fits(op.parts, op.w, op.dy.rows()); }

/// The layer of parts; of a forward pass `gradients` and `accumulate` are empty.
template <class T>
WideLayer<T> layer_of(const std::vector<Tensor>& parts, const std::vector<Tensor>& gradients,
                      const std::vector<bool>& accumulate, const Tensor& w, std::int64_t rows) {
  WideLayer<T> p = wide_layer_of<T>(w, rows, Activation::none);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const T* const x = parts[i].data<T>();
    T* const dx = !gradients.empty() && gradients[i].defined() ? gradients[i].data<T>() : nullptr;
    const int width = static_cast<int>(parts[i].columns());
    p.x.add(x, dx, width, width, !accumulate.empty() && accumulate[i]);
    p.vector = p.vector && takes_fours(x, width) && takes_fours(dx, width);
  }
  return p;
}

void run_forward(const JoinedDense& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    WideLayer<T> p = layer_of<T>(op.parts, {}, {}, op.w, op.y.rows());
    p.bias = op.bias.data<T>(), p.out = op.y.data<T>();
    p.vector = p.vector && takes_fours(p.out, p.width);
    run_wide_forward(p, context);
  });
}

void run_backward(const JoinedDenseBackward& op, KernelContext& context) {
  with_element(op.dy.type(), [&](auto zero) {
    using T = decltype(zero);
    WideLayer<T> p = layer_of<T>(op.parts, op.dparts, op.accumulate, op.w, op.dy.rows());
    p.dy = op.dy.data<T>();
    p.vector = p.vector && takes_fours(p.dy, p.width);
    run_wide_backward(p, {op.dw, op.dbias, true}, context);
  });
}

const RegisterKernel<JoinedDense> tiled{"cuda", {"tiled", 10, supports_forward, run_forward}};
const RegisterKernel<JoinedDenseBackward> backward_tiled{"cuda", {"tiled", 10, supports_backward, run_backward}};

}  // namespace joined_dense_tiled_kernels
}  // namespace strobe::cuda
