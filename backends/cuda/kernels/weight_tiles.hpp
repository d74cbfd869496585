// Weight gradients dw += x^T dz for up to 32 columns on both sides: a block keeps tiles of rows of x and dz in shared
// memory, and each of its threads adds a 4 x 4 piece of dw over every `slots`-th row of a tile, in registers: in T for
// at most `tile_rows` rows, then in double. Threads' sums meet in shared memory in order of slots; blocks' sums (fixed
// ranges of rows) are added by add_weight_sums. On the way ds = dz w^T can be written for every row.
// Bytes: x, dz (and y where it masks) once, ds once. Shared reads: 8 values per 16 multiply-adds.
#pragma once

#include "backends/cuda/kernels/weight_sums.hpp"

namespace strobe::cuda {

inline constexpr int tile_threads = 256, tile_rows = 64, piece = 4, widest_tile = 32;

/// Rows of shared memory are as many pieces long; what lies behind the last column is zero.
__device__ inline int padded(std::int64_t columns) { return static_cast<int>((columns + piece - 1) / piece) * piece; }
inline std::size_t tile_shared_bytes(std::int64_t inner, std::int64_t width, std::size_t element) {
  const auto up = [](std::int64_t columns) { return (columns + piece - 1) / piece * piece; };
  const auto tile = static_cast<std::size_t>(tile_rows * (up(inner) + up(width)) + up(inner) * up(width)) * element;
  return std::max(tile, sizeof(double) * piece * piece * tile_threads);
}

/// A block's shared memory and its threads' places.
template <class T>
struct WeightTile {
  T *x, *dz, *w;  // [tile_rows, inner], [tile_rows, width], [inner, width], padded
  int inner, width, pieces, slots, own_piece, own_slot;

  __device__ WeightTile(const WeightTerms<T>& terms, T* shared)
      : x(shared), inner(padded(terms.inner)), width(padded(terms.width)) {
    dz = x + tile_rows * inner;
    w = dz + tile_rows * width;
    pieces = inner / piece * (width / piece);
    slots = tile_threads / pieces;
    own_piece = static_cast<int>(threadIdx.x) % pieces;
    own_slot = static_cast<int>(threadIdx.x) / pieces;
  }
  __device__ int first_f() const { return own_piece / (width / piece) * piece; }
  __device__ int first_g() const { return own_piece % (width / piece) * piece; }
};

/// rows x columns values of `from`, rows `padding` apart in `to` and zeros around them up to `to_rows`; where `mask` is
/// there and not positive, zero.
template <class T>
__device__ void load_tile(const T* from, const T* mask, int rows, int columns, T* to, int to_rows, int padding) {
  for (int i = static_cast<int>(threadIdx.x); i < to_rows * padding; i += tile_threads) {
    const int row = i / padding, column = i % padding, at = row * columns + column;
    const bool there = row < rows && column < columns && (mask == nullptr || mask[at] > T{0});
    to[i] = there ? from[at] : T{0};
  }
}

/// ds of `rows` rows of the tile.
template <class T>
__device__ void write_input_gradient(const WeightTile<T>& tile, int inner, int width, int rows, T* ds) {
  for (int i = static_cast<int>(threadIdx.x); i < rows * inner; i += tile_threads) {
    const T *dz = tile.dz + i / inner * tile.width, *w = tile.w + i % inner * tile.width;
    T sum{0};
    for (int g = 0; g < width; ++g) sum += dz[g] * w[g];
    ds[i] = sum;
  }
}

template <class T>
__device__ void add_piece(const WeightTile<T>& tile, T (&sum)[piece * piece]) {
  if (tile.own_slot >= tile.slots) return;
  for (int row = tile.own_slot; row < tile_rows; row += tile.slots) {
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

/// One block a range: sums[range, inner * width], and ds[rows, inner] = dz w^T unless ds is null.
template <class T>
__global__ void __launch_bounds__(tile_threads)
    sum_tiles(WeightTerms<T> terms, const T* w, T* ds, RowParts ranges, double* sums) {
  const WeightTile<T> tile(terms, dynamic_shared<T>());
  const int inner = static_cast<int>(terms.inner), width = static_cast<int>(terms.width);
  const std::int64_t begin = ranges.begin(blockIdx.x), end = ranges.end(blockIdx.x);
  if (ds != nullptr) load_tile<T>(w, nullptr, inner, width, tile.w, tile.inner, tile.width);
  T sum[piece * piece] = {};
  double total[piece * piece] = {};
  int tiles = 0;  // since the last addition to `total`
  for (std::int64_t top = begin; top < end; top += tile_rows) {
    const int rows = static_cast<int>(min(std::int64_t{tile_rows}, end - top));
    const T* const mask = terms.y == nullptr ? nullptr : terms.y + top * width;
    load_tile<T>(terms.x + top * inner, nullptr, rows, inner, tile.x, tile_rows, tile.inner);
    load_tile<T>(terms.dz + top * width, mask, rows, width, tile.dz, tile_rows, tile.width);
    __syncthreads();
    if (ds != nullptr) write_input_gradient(tile, inner, width, rows, ds + top * inner);
    add_piece(tile, sum);
    if (++tiles == tile.slots || top + tile_rows >= end) {
      for (int j = 0; j < piece * piece; ++j) total[j] += static_cast<double>(sum[j]);
      for (int j = 0; j < piece * piece; ++j) sum[j] = T{0};
      tiles = 0;
    }
    __syncthreads();
  }
  write_block_sums(tile, terms, total, dynamic_shared<double>(), sums + blockIdx.x * terms.inner * terms.width);
}

inline bool takes_tiles(std::int64_t inner, std::int64_t width) {
  return inner >= 1 && inner <= widest_tile && width >= 1 && width <= widest_tile;
}

/// target += x^T dz, and ds = dz w^T unless ds is null. `sums` holds count * inner * width doubles. Launches: 2.
template <class T>
void tiled_weight_gradient(const KernelContext& context, const WeightTerms<T>& terms, const T* w, T* ds,
                           const RowParts& ranges, double* sums, T* target) {
  launch(context, ranges.count, tile_threads, tile_shared_bytes(terms.inner, terms.width, sizeof(T)), sum_tiles<T>,
         terms, w, ds, ranges, sums);
  add_weight_sums(context, sums, ranges.count, terms.inner * terms.width, target);
}

}  // namespace strobe::cuda
