// Row-major matrices side by side in shared memory, as columns of one tile of rows or as tiles of their own. A tile's
// rows of a matrix are one stretch of memory, so neighbouring lanes copy neighbouring packs of values; each warp takes
// some of the matrices, and no thread waits for a copy before it begins the next: many small matrices take the latency
// of one. Rows of a tile lie an odd number of fours of values apart: threads on neighbouring rows read four values each
// from different banks.
#pragma once

#include "backends/cuda/kernels/dense/row_tile.hpp"
#include "backends/cuda/kernels/pack.hpp"

#if defined(__CUDACC__)
#include <cuda_pipeline_primitives.h>
#endif

namespace strobe::cuda {

/// Begins to copy the V values at `from` to shared memory; finish_copies() waits for all that the thread began.
template <int V, class T>
__device__ void begin_copy(T* to, const T* from) {
#if defined(__CUDACC__)
  __pipeline_memcpy_async(to, from, V * sizeof(T));  // a load and a store before compute capability 8.0
#else
  *reinterpret_cast<Pack<T, V>*>(to) = *reinterpret_cast<const Pack<T, V>*>(from);
#endif
}
/// Then waits for the block; afterwards all its copies have arrived.
__device__ inline void finish_copies() {
#if defined(__CUDACC__)
  __pipeline_commit();
  __pipeline_wait_prior(0);
#endif
  __syncthreads();
}

/// Divides numbers of elements of a tile: exact while number * divisor stays below 2^20.
struct TileDivisor {
  int divisor;
  unsigned reciprocal;  // in units of 2^-20, rounded up

  __device__ int quotient(int of) const { return static_cast<int>(static_cast<unsigned>(of) * reciprocal >> 20); }
};

inline TileDivisor tile_divisor(std::int64_t by) {
  return {static_cast<int>(by), (1u << 20) / static_cast<unsigned>(by) + 1};
}

/// Values from row to row of a tile of `columns` columns.
inline int tile_stride(std::int64_t columns) { return 4 * static_cast<int>((columns + 3) / 4 | 1); }

/// A matrix and its place in shared memory. T is const for one that is only read.
template <class T>
struct TilePart {
  T* values;
  TileDivisor packs;  // a row
  int begin, pad;     // the place of its first value; values from the end of a row there to the next row
  int rows;           // 0: those of the tile; else all that it has
  int accumulate;     // of a gradient, 1: the tile is added to it
};

template <class T, int most>
struct TileParts {
  TilePart<T> at[most];
  int count, shift;  // 2^shift warps share a part

  /// A matrix of `columns` columns whose rows lie `stride` values apart in shared memory, in packs of `pack` values.
  /// One without columns is passed over.
  void add(T* values, std::int64_t columns, int pack, std::int64_t begin, int stride, int rows = 0,
           bool accumulate = false) {
    if (columns == 0) return;
    at[count++] = {values,
                   tile_divisor(columns / pack),
                   static_cast<int>(begin),
                   stride - static_cast<int>(columns),
                   rows,
                   accumulate ? 1 : 0};
  }
  /// Call it after the last add: gives each part enough warps that all have one.
  void share(int warps) {
    while (count > 0 && count << shift < warps) ++shift;
  }
};

/// Calls body(part, values, at) for the thread's packs of V values of rows [first, first + rows) of the parts; `at` is
/// their place in shared memory.
template <int V, class T, int most, class Body>
__device__ void for_packs(const TileParts<T, most>& parts, int first, int rows, const Body& body) {
  const int step = warp_lanes << parts.shift, units = parts.count << parts.shift;
#pragma unroll 1
  for (int unit = warp(); unit < units; unit += static_cast<int>(blockDim.x) / warp_lanes) {
    const TilePart<T>& part = parts.at[unit >> parts.shift];
    const int count = (part.rows > 0 ? part.rows : rows) * part.packs.divisor;
    T* const values = part.values + (part.rows > 0 ? 0 : first * part.packs.divisor * V);
#pragma unroll 2
    for (int i = (unit & ((1 << parts.shift) - 1)) * warp_lanes + lane(); i < count; i += step) {
      body(part, values + i * V, part.begin + i * V + part.packs.quotient(i) * part.pad);
    }
  }
}

/// Four values to a 16-byte aligned address.
__device__ inline void store_four(float* to, const float (&from)[4]) {
  *reinterpret_cast<float4*>(to) = make_float4(from[0], from[1], from[2], from[3]);
}
__device__ inline void store_four(double* to, const double (&from)[4]) {
  reinterpret_cast<double2*>(to)[0] = make_double2(from[0], from[1]);
  reinterpret_cast<double2*>(to)[1] = make_double2(from[2], from[3]);
}

}  // namespace strobe::cuda
