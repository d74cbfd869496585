// Products of column blocks of at most 32 columns in and out, and their gradients: each column block is a narrow
// product (narrow_product.hpp, narrow_gradient.hpp) of some columns of x into some of y, and the blocks of one range of
// rows run side by side, so that the cache lines they share are read once. Columns that are passed through take a
// launch of their own, one thread an element, and its gradient comes last because it may be added to dx. Ranges depend
// on shapes only. Cost: the compulsory bytes, dy's passed columns alone, and 8 K (F + 1) G bytes of partial sums per
// range of rows; two launches forward, up to 2 + K backward.
#include "backends/cuda/kernels/dense/narrow_gradient.hpp"
#include "backends/operations/operations_block.hpp"

namespace strobe::cuda {
namespace block_dense_narrow_kernels {

constexpr std::int64_t most_tiles = 4096;
constexpr int copy_threads = 256;

template <int P, class T>
__global__ void block_dense_narrow(NarrowProduct<T> p, std::int64_t rows, std::int64_t blocks) {
  const std::int64_t block = blockIdx.x % blocks, tile = blockIdx.x / blocks;
  p.x += block * p.inner;
  p.w += block * p.inner * p.width;
  if (p.bias != nullptr) p.bias += block * p.width;
  p.y += block * p.width;
  multiply_rows<P>(p, tile * blockDim.x, rows, grid_threads() / blocks);
}

/// p.y and p.dy begin after the columns passed through.
template <int P, class T>
__global__ void block_dense_backward_narrow(NarrowGradient<T> p, RowParts parts, std::int64_t blocks, double* sums) {
  const std::int64_t block = blockIdx.x % blocks, part = blockIdx.x / blocks;
  p.x += block * p.inner;
  p.w += block * p.inner * p.width;
  if (p.y != nullptr) p.y += block * p.width;
  p.dy += block * p.width;
  if (p.dx != nullptr) p.dx += block * p.inner;
  differentiate_rows<P>(p, parts.begin(part), parts.end(part),
                        sums + static_cast<std::int64_t>(blockIdx.x) * (p.inner + 1) * p.width);
}

/// The first `skip` of `columns` columns of y.
template <class T>
__global__ void pass(const T* left, T* y, std::int64_t n, std::int64_t skip, std::int64_t columns, bool relu) {
  for (std::int64_t i = grid_thread(); i < n; i += grid_threads()) {
    y[i / skip * columns + i % skip] = activated(left[i], relu);
  }
}

template <class T>
__global__ void pass_back(const T* y, const T* dy, T* dleft, std::int64_t n, std::int64_t skip, std::int64_t columns,
                          bool accumulate) {
  for (std::int64_t i = grid_thread(); i < n; i += grid_threads()) {
    const T dz = through_activation(y, dy, i / skip * columns + i % skip);
    dleft[i] = accumulate ? dleft[i] + dz : dz;
  }
}

bool supports_forward(const BlockDense& op) { return is_narrow(op.w.rows() / op.blocks, op.w.columns()); }
bool supports_backward(const BlockDenseBackward& op) {
  return op.dw.defined() && is_narrow(op.w.rows() / op.blocks, op.w.columns());
}

template <class T, int P>
void forward(const BlockDense& op, const KernelContext& context) {
  constexpr int threads = narrow_rows<T>;
  const std::int64_t rows = op.y.rows(), skip = op.skip();
  NarrowProduct<T> p = narrow_product_of<T>(op.x, op.w, op.bias, op.y, op.w.rows() / op.blocks, op.activation);
  p.y += skip;
  std::int64_t tiles = divide_up(rows, threads);
  if (tiles > most_tiles) tiles = most_tiles;
  launch(context, tiles * op.blocks, threads, narrow_product_bytes(p, P), block_dense_narrow<P, T>, p, rows, op.blocks);
  launch(context, blocks_for(rows * skip, copy_threads), copy_threads, 0, pass<T>, op.left.data<T>(), op.y.data<T>(),
         rows * skip, skip, op.y.columns(), p.relu);
}

/// Adds the ranges' sums [range, block, (F + 1) G] to each block's rows of dw and values of dbias.
template <class T>
void add_sums(const BlockDenseBackward& op, const RowParts& parts, const double* sums, const KernelContext& context) {
  const std::int64_t inner = op.w.rows() / op.blocks, width = op.w.columns(), one = (inner + 1) * width;
  for (std::int64_t k = 0; k < op.blocks; ++k) {
    const Tensor dbias = op.dbias.defined() ? op.dbias.view(k * width, 1, width) : Tensor();
    add_part_sums<T>(context, op.dw.slice_rows(k * inner, inner), inner * width, dbias, sums + k * one, parts.count,
                     op.blocks * one);
  }
}

template <class T, int P>
void backward(const BlockDenseBackward& op, const KernelContext& context) {
  constexpr int threads = narrow_rows<T>;
  const std::int64_t rows = op.dy.rows(), skip = op.skip(), inner = op.w.rows() / op.blocks;
  const std::int64_t stride = op.blocks * (inner + 1) * op.w.columns();
  const RowParts parts = row_parts(rows, stride, threads);
  if (parts.count == 0) return;
  double* const sums = part_sums_memory(context, parts.count, stride);
  NarrowGradient<T> p = narrow_gradient_of<T>(op, inner);
  const T *const y = p.y, *const dy = p.dy;
  if (y != nullptr) p.y += skip;
  p.dy += skip;
  launch(context, parts.count * op.blocks, threads, narrow_gradient_bytes<P>(p), block_dense_backward_narrow<P, T>, p,
         parts, op.blocks, sums);
  add_sums<T>(op, parts, sums, context);
  if (!op.dleft.defined()) return;
  launch(context, blocks_for(rows * skip, copy_threads), copy_threads, 0, pass_back<T>, y, dy, op.dleft.data<T>(),
         rows * skip, skip, op.dy.columns(), op.accumulate_dleft);
}

void run_forward(const BlockDense& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    with_padding(op.w.columns(), [&](auto padding) { forward<decltype(zero), decltype(padding)::value>(op, context); });
  });
}

void run_backward(const BlockDenseBackward& op, KernelContext& context) {
  with_element(op.dy.type(), [&](auto zero) {
    with_padding(op.w.columns(),
                 [&](auto padding) { backward<decltype(zero), decltype(padding)::value>(op, context); });
  });
}

const RegisterKernel<BlockDense> narrow{"cuda", {"narrow", 20, supports_forward, run_forward}};
const RegisterKernel<BlockDenseBackward> backward_narrow{"cuda", {"narrow", 20, supports_backward, run_backward}};

}  // namespace block_dense_narrow_kernels
}  // namespace strobe::cuda
