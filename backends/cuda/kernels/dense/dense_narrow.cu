// Dense layer of at most 32 columns in and out, and its gradient: blocks take tiles of rows in turns forward
// (narrow_product.hpp), and a range of rows each backward (narrow_gradient.hpp), where a second launch adds the ranges'
// sums of dw and dbias in order. Ranges depend on shapes only. Cost: the compulsory bytes, w once per block and 8 (F +
// 1) G bytes of partial sums per range; one launch forward, two backward.
#include "backends/cuda/kernels/dense/narrow_gradient.hpp"

namespace strobe::cuda {
namespace dense_narrow_kernels {

constexpr std::int64_t most_blocks = 4096;

template <int P, class T>
__global__ void dense_narrow(NarrowProduct<T> p, std::int64_t rows) {
  multiply_rows<P>(p, static_cast<std::int64_t>(blockIdx.x) * blockDim.x, rows, grid_threads());
}

template <int P, class T>
__global__ void dense_backward_narrow(NarrowGradient<T> p, RowParts parts, double* sums) {
  differentiate_rows<P>(p, parts.begin(blockIdx.x), parts.end(blockIdx.x),
                        sums + static_cast<std::int64_t>(blockIdx.x) * (p.inner + 1) * p.width);
}

bool supports_forward(const Dense& op) { return is_narrow(op.x.columns(), op.w.columns()); }
bool supports_backward(const DenseBackward& op) { return op.dw.defined() && is_narrow(op.w.rows(), op.w.columns()); }

template <class T, int P>
void forward(const Dense& op, const KernelContext& context) {
  constexpr int threads = narrow_rows<T>;
  const NarrowProduct<T> p = narrow_product_of<T>(op.x, op.w, op.bias, op.y, op.x.columns(), op.activation);
  const std::int64_t tiles = divide_up(op.y.rows(), threads);
  launch(context, tiles < most_blocks ? tiles : most_blocks, threads, narrow_product_bytes(p, P), dense_narrow<P, T>, p,
         op.y.rows());
}

template <class T, int P>
void backward(const DenseBackward& op, const KernelContext& context) {
  constexpr int threads = narrow_rows<T>;
  const std::int64_t stride = op.w.elements() + op.w.columns();
  const RowParts parts = row_parts(op.dy.rows(), stride, threads);
  if (parts.count == 0) return;
  double* const sums = part_sums_memory(context, parts.count, stride);
  const NarrowGradient<T> p = narrow_gradient_of<T>(op, op.w.rows());
  launch(context, parts.count, threads, narrow_gradient_bytes<P>(p), dense_backward_narrow<P, T>, p, parts, sums);
  add_part_sums<T>(context, op.dw, op.w.elements(), op.dbias, sums, parts.count, stride);
}

void run_forward(const Dense& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    with_padding(op.w.columns(), [&](auto padding) { forward<decltype(zero), decltype(padding)::value>(op, context); });
  });
}

void run_backward(const DenseBackward& op, KernelContext& context) {
  with_element(op.dy.type(), [&](auto zero) {
    with_padding(op.w.columns(),
                 [&](auto padding) { backward<decltype(zero), decltype(padding)::value>(op, context); });
  });
}

const RegisterKernel<Dense> narrow{"cuda", {"narrow", 20, supports_forward, run_forward}};
const RegisterKernel<DenseBackward> backward_narrow{"cuda", {"narrow", 20, supports_backward, run_backward}};

}  // namespace dense_narrow_kernels
}  // namespace strobe::cuda
