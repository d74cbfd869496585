// Weight gradients dw += x^T dz for up to 32 columns on both sides: a block keeps tiles of rows of x and dz in shared
// memory, and each of its threads adds a 4 x 4 piece of dw over every `slots`-th row of a tile, in registers: in T for
// at most `tile_rows` rows, then in double. Threads' sums meet in shared memory in order of slots; blocks' sums (fixed
// ranges of rows) are added by add_weight_sums.
// Bytes: x and dz once. Shared reads: 8 values per 16 multiply-adds.
#pragma once

#include "backends/cuda/kernels/dense/row_tile.hpp"
#include "backends/cuda/kernels/dense/weight_sums.hpp"

namespace strobe::cuda {

inline constexpr int tile_threads = 256, tile_rows = 64, piece = 4, widest_tile = 32;

/// The length in pieces of a row in shared memory; values after the last column are zero.
__device__ inline int padded(std::int64_t columns) { return static_cast<int>((columns + piece - 1) / piece) * piece; }
inline std::size_t tile_shared_bytes(std::int64_t inner, std::int64_t width, std::size_t element) {
  const auto up = [](std::int64_t columns) { return (columns + piece - 1) / piece * piece; };
  const auto tile = static_cast<std::size_t>(tile_rows * (up(inner) + up(width))) * element;
  return std::max(tile, sizeof(double) * piece * piece * tile_threads);
}

/// A block's shared memory and its threads' places.
template <class T>
struct WeightTile {
  T *x, *dz;  // [tile_rows, inner], [tile_rows, width], padded
  int inner, width, pieces, slots, own_piece, own_slot;

  __device__ WeightTile(const WeightTerms<T>& terms, T* shared)
      : x(shared), inner(padded(terms.inner)), width(padded(terms.width)) {
    dz = x + tile_rows * inner;
    pieces = inner / piece * (width / piece);
    slots = tile_threads / pieces;
    own_piece = static_cast<int>(threadIdx.x) % pieces;
    own_slot = static_cast<int>(threadIdx.x) / pieces;
  }
  __device__ int first_f() const { return own_piece / (width / piece) * piece; }
  __device__ int first_g() const { return own_piece % (width / piece) * piece; }
};

template <class T>
__device__ void add_piece(const WeightTile<T>& tile, int rows, T (&sum)[piece * piece]) {
  if (tile.own_slot >= tile.slots) return;
  for (int row = tile.own_slot; row < rows; row += tile.slots) {
    T x[piece], dz[piece];
    for (int j = 0; j < piece; ++j) {
      x[j] = tile.x[row * tile.inner + tile.first_f() + j];
      dz[j] = tile.dz[row * tile.width + tile.first_g() + j];
    }
    for (int j = 0; j < piece * piece; ++j) sum[j] += x[j / piece] * dz[j % piece];
  }
}

/// Adds the threads' pieces up in order of slots and writes the block's [inner, width] sums; uses all shared memory.
template <class T>
__device__ void write_block_sums(const WeightTile<T>& tile, const WeightTerms<T>& terms,
                                 const double (&own)[piece * piece], double* shared, double* sums) {
  for (int j = 0; j < piece * piece; ++j) shared[j * tile_threads + static_cast<int>(threadIdx.x)] = own[j];
  __syncthreads();
  const int inner = static_cast<int>(terms.inner), width = static_cast<int>(terms.width);
  for (int i = static_cast<int>(threadIdx.x); i < inner * width; i += tile_threads) {
    const int f = i / width, g = i % width;
    const int owner = f / piece * (tile.width / piece) + g / piece, j = f % piece * piece + g % piece;
    double sum = 0;
    for (int slot = 0; slot < tile.slots; ++slot) sum += shared[j * tile_threads + slot * tile.pieces + owner];
    sums[i] = sum;
  }
}

/// One block a range: sums[range, inner * width].
template <class T>
__global__ void __launch_bounds__(tile_threads) sum_tiles(WeightTerms<T> terms, RowParts ranges, double* sums) {
  T* const shared = dynamic_shared<T>();
  const WeightTile<T> tile(terms, shared);
  const int inner = static_cast<int>(terms.inner), width = static_cast<int>(terms.width);
  const std::int64_t begin = ranges.begin(blockIdx.x), end = ranges.end(blockIdx.x);
  const int values = tile_rows * (tile.inner + tile.width);
  for (int i = static_cast<int>(threadIdx.x); i < values; i += tile_threads) shared[i] = T{0};  // the padding stays so
  T sum[piece * piece] = {};
  double total[piece * piece] = {};
  int tiles = 0;  // since the last addition to `total`
  for (std::int64_t top = begin; top < end; top += tile_rows) {
    const int rows = static_cast<int>(min(std::int64_t{tile_rows}, end - top));
    __syncthreads();
    load_rows(tile.x, tile.inner, terms.x + top * inner, inner, rows, inner);
    load_rows(tile.dz, tile.width, terms.dz + top * width, width, rows, width);
    __syncthreads();
    add_piece(tile, rows, sum);
    if (++tiles == tile.slots || top + tile_rows >= end) {
      for (int j = 0; j < piece * piece; ++j) total[j] += static_cast<double>(sum[j]);
      for (int j = 0; j < piece * piece; ++j) sum[j] = T{0};
      tiles = 0;
    }
  }
  __syncthreads();
  write_block_sums(tile, terms, total, dynamic_shared<double>(), sums + blockIdx.x * terms.inner * terms.width);
}

inline bool takes_tiles(std::int64_t inner, std::int64_t width) {
  return inner >= 1 && inner <= widest_tile && width >= 1 && width <= widest_tile;
}

/// target += x^T dz, of terms without a y. `sums` holds count * inner * width doubles. Launches: 2.
template <class T>
void tiled_weight_gradient(const KernelContext& context, const WeightTerms<T>& terms, const RowParts& ranges,
                           double* sums, T* target) {
  launch(context, ranges.count, tile_threads, tile_shared_bytes(terms.inner, terms.width, sizeof(T)), sum_tiles<T>,
         terms, ranges, sums);
  add_weight_sums(context, sums, ranges.count, terms.inner * terms.width, target);
}

}  // namespace strobe::cuda
