// Products of wide column blocks and their gradients, as products of tiles: see wide_layer.cu. The blocks that make the
// first columns of y also copy the columns that are passed through, while their rows are in the cache. The gradient of
// these is added in the same launch if dx takes it, and otherwise takes a launch of its own.
#include "backends/cuda/kernels/dense/wide_layer.hpp"
#include "backends/operations/operations_block.hpp"

namespace strobe::cuda {
namespace block_dense_tiled_kernels {

bool supports_forward(const BlockDense& op) {
  return is_wide_layer(op.y.rows(), op.w.rows() / op.blocks, op.w.columns(), op.blocks);
}
bool supports_backward(const BlockDenseBackward& op) {
  return is_wide_layer(op.dy.rows(), op.w.rows() / op.blocks, op.w.columns(), op.blocks);
}

/// dleft (+)= dz's first `skip` columns.
template <class T>
__global__ void pass_back(const T* y, const T* dy, T* dleft, std::int64_t n, std::int64_t skip, std::int64_t columns,
                          bool accumulate) {
  for (std::int64_t i = grid_thread(); i < n; i += grid_threads()) {
    const T dz = through_activation(y, dy, i / skip * columns + i % skip);
    dleft[i] = accumulate ? dleft[i] + dz : dz;
  }
}

/// The layer of `blocks` column blocks of x, after `skip` columns of y.
template <class T>
WideLayer<T> layer_of(const Tensor& w, const Tensor& x, T* dx, bool accumulate_dx, std::int64_t rows,
                      std::int64_t blocks, std::int64_t skip, Activation activation) {
  WideLayer<T> p = wide_layer_of<T>(w, rows, activation);
  p.inner = static_cast<int>(w.rows() / blocks), p.batches = blocks, p.skip = skip, p.y_apart = skip + blocks * p.width;
  p.x.add(x.data<T>(), dx, p.inner, static_cast<int>(w.rows()), accumulate_dx);
  p.vector = p.vector && p.inner % 4 == 0 && p.skip % 4 == 0 && takes_fours(p.x.part[0], w.rows()) &&
             takes_fours(dx, w.rows());
  return p;
}

void run_forward(const BlockDense& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    WideLayer<T> p = layer_of<T>(op.w, op.x, nullptr, false, op.y.rows(), op.blocks, op.skip(), op.activation);
    p.bias = op.bias.data<T>(), p.left = op.left.data<T>(), p.out = op.y.data<T>();
    p.vector = p.vector && takes_fours(p.left, p.skip) && takes_fours(p.out, p.y_apart);
    run_wide_forward(p, context);
  });
}

void run_backward(const BlockDenseBackward& op, KernelContext& context) {
  with_element(op.dy.type(), [&](auto zero) {
    using T = decltype(zero);
    constexpr int threads = 256;
    T* const dleft = op.dleft.data<T>();
    WideLayer<T> p =
        layer_of<T>(op.w, op.x, op.dx.data<T>(), op.accumulate_dx, op.dy.rows(), op.blocks, op.skip(), op.activation);
    p.live = p.relu ? op.y.data<T>() : nullptr, p.dy = op.dy.data<T>();
    p.add_left = dleft != nullptr && dleft == op.dx.data<T>() && op.accumulate_dleft && p.skip == op.w.rows();
    p.vector = p.vector && takes_fours(p.live, p.y_apart) && takes_fours(p.dy, p.y_apart);
    run_wide_backward(p, {op.dw, op.dbias, true}, context);
    if (dleft == nullptr || p.add_left) return;
    const std::int64_t n = p.rows * p.skip;
    launch(context, blocks_for(n, threads), threads, 0, pass_back<T>, p.live, p.dy, dleft, n, p.skip, p.y_apart,
           op.accumulate_dleft);
  });
}

const RegisterKernel<BlockDense> tiled{"cuda", {"tiled", 10, supports_forward, run_forward}};
const RegisterKernel<BlockDenseBackward> backward_tiled{"cuda", {"tiled", 10, supports_backward, run_backward}};

}  // namespace block_dense_tiled_kernels
}  // namespace strobe::cuda
