// Dense layer and its gradient for wide layers, as products of tiles (product_tile.hpp). Forward y = x w; backward
// dx = dz w^T; dw = x^T dz over ranges of rows, whose sums (kept in double) a second launch adds in order, as it does
// with dbias, the column sums of dz. Ranges depend on shapes only. Cost: one launch forward; x is read once per 64
// columns of y, w once per 64 rows. Backward up to four launches; dz is read for dx, dw and dbias, and 8 (F + 1) G
// bytes of partial sums per range of rows are written and read.
#include "backends/cuda/kernels/product_tile.hpp"

namespace strobe::cuda {
namespace dense_tiled_kernels {

constexpr std::int64_t rows_per_part = 512;

/// Where a product goes: y(i, j) (+)= activation(C(i, j) + bias(j)).
template <class T>
struct Target {
  T* y;
  const T* bias;
  std::int64_t rows, columns, inner;
  bool relu, accumulate;
};

template <class T>
__global__ void __launch_bounds__(product_threads, 2) product(Factor<T> a, Factor<T> b, Target<T> to) {
  STROBE_SHARED(ProductTile<T>, tile);
  const std::int64_t across = (to.columns + product_tile - 1) / product_tile;
  const std::int64_t row = blockIdx.x / across * product_tile, column = blockIdx.x % across * product_tile;
  T total[4][4] = {};
  multiply_tile(a, b, row, column, 0, to.inner, tile, total);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const std::int64_t r = row + threadIdx.x / 16 * 4 + i, g = column + threadIdx.x % 16 * 4 + j;
      if (r >= to.rows || g >= to.columns) continue;
      T& y = to.y[r * to.columns + g];
      const T value = activated(to.bias != nullptr ? to.bias[g] + total[i][j] : total[i][j], to.relu);
      y = to.accumulate ? y + value : value;
    }
  }
}

/// sums[part][f * G + g]: dw of a range of rows; blocks are tiles of a range.
template <class T>
__global__ void __launch_bounds__(product_threads, 2)
    weight_sums(Factor<T> x, Factor<T> dz, RowParts parts, std::int64_t stride, double* sums) {
  STROBE_SHARED(ProductTile<T>, tile);
  const std::int64_t across = (dz.outer + product_tile - 1) / product_tile,
                     tiles = (x.outer + product_tile - 1) / product_tile * across;
  const std::int64_t part = blockIdx.x / tiles, row = blockIdx.x % tiles / across * product_tile,
                     column = blockIdx.x % tiles % across * product_tile;
  double total[4][4] = {};
  multiply_tile(x, dz, row, column, parts.begin(part), parts.end(part), tile, total);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const std::int64_t f = row + threadIdx.x / 16 * 4 + i, g = column + threadIdx.x % 16 * 4 + j;
      if (f < x.outer && g < dz.outer) sums[part * stride + f * dz.outer + g] = total[i][j];
    }
  }
}

/// sums[part][first + g]: column sums of dz over a range of rows, one thread each.
template <class T>
__global__ void bias_sums(Factor<T> dz, RowParts parts, std::int64_t stride, std::int64_t first, double* sums) {
  for (std::int64_t i = grid_thread(); i < parts.count * dz.outer; i += grid_threads()) {
    const std::int64_t part = i / dz.outer, g = i % dz.outer;
    double sum = 0;
    for (std::int64_t r = parts.begin(part); r < parts.end(part); ++r) sum += static_cast<double>(dz.at(g, r));
    sums[part * stride + first + g] = sum;
  }
}

std::int64_t tiles_of(std::int64_t rows, std::int64_t columns) {
  return divide_up(rows, product_tile) * divide_up(columns, product_tile);
}

/// Below, tiles of 64 columns would be mostly empty. A grid has at most 2^31 - 1 blocks.
bool is_wide(std::int64_t rows, std::int64_t inner, std::int64_t width) {
  constexpr std::int64_t least_weights = 64, most_tiles = (std::int64_t{1} << 31) - 1;
  return inner * width >= least_weights && tiles_of(rows, inner > width ? inner : width) <= most_tiles;
}

bool supports_forward(const Dense& op) { return is_wide(op.y.rows(), op.x.columns(), op.w.columns()); }
bool supports_backward(const DenseBackward& op) { return is_wide(op.dy.rows(), op.w.rows(), op.w.columns()); }

void run_dense(const Dense& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t rows = op.y.rows(), inner = op.x.columns(), width = op.w.columns();
    const Factor<T> x{op.x.data<T>(), nullptr, rows, inner, 1}, w{op.w.data<T>(), nullptr, width, 1, width};
    const Target<T> y{op.y.data<T>(), op.bias.data<T>(), rows, width, inner, op.activation == Activation::relu, false};
    launch(context, tiles_of(rows, width), product_threads, 0, product<T>, x, w, y);
  });
}

template <class T>
void run_weights(const DenseBackward& op, const T* live, const KernelContext& context) {
  const std::int64_t inner = op.w.rows(), width = op.w.columns(), stride = (inner + 1) * width;
  const RowParts parts = row_parts(op.dy.rows(), stride, rows_per_part);
  if (parts.count == 0 || !(op.dw.defined() || op.dbias.defined())) return;
  double* const sums = part_sums_memory(context, parts.count, stride);
  const Factor<T> x{op.x.data<T>(), nullptr, inner, 1, inner}, dz{op.dy.data<T>(), live, width, 1, width};
  if (op.dw.defined()) {
    launch(context, parts.count * tiles_of(inner, width), product_threads, 0, weight_sums<T>, x, dz, parts, stride,
           sums);
  }
  if (op.dbias.defined()) {
    launch(context, blocks_for(parts.count * width, product_threads), product_threads, 0, bias_sums<T>, dz, parts,
           stride, inner * width, sums);
  }
  add_part_sums<T>(context, op.dw, inner * width, op.dbias, sums, parts.count, stride);
}

void run_dense_backward(const DenseBackward& op, KernelContext& context) {
  with_element(op.dy.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t rows = op.dy.rows(), inner = op.w.rows(), width = op.w.columns();
    const T* const live = op.activation == Activation::relu ? op.y.data<T>() : nullptr;
    if (op.dx.defined()) {
      const Factor<T> dz{op.dy.data<T>(), live, rows, width, 1}, w{op.w.data<T>(), nullptr, inner, width, 1};
      const Target<T> dx{op.dx.data<T>(), nullptr, rows, inner, width, false, op.accumulate_dx};
      launch(context, tiles_of(rows, inner), product_threads, 0, product<T>, dz, w, dx);
    }
    run_weights(op, live, context);
  });
}

const RegisterKernel<Dense> tiled{Numerics::cuda, {"tiled", 10, supports_forward, run_dense}};
const RegisterKernel<DenseBackward> backward_tiled{Numerics::cuda,
                                                   {"tiled", 10, supports_backward, run_dense_backward}};

}  // namespace dense_tiled_kernels
}  // namespace strobe::cuda
