// One tile of a product C [M, N] = A [M, K] B [K, N] per block: 64 x 64 values, 4 x 4 of them in each of 256 threads'
// registers, the inner dimension in slices of 16 that pass through shared memory. A and B are given by strides, so that
// transposes need no copies; values whose activation is dead count as zero. Every element adds its terms in order; with
// `Sums` they go over to a total in double every 128 terms, for sums over many rows.
// Cost: A read once per 64 columns of C, B once per 64 rows; 8 reads of shared memory for 16 multiply-adds, as two
// vector loads.
#pragma once

#include "backends/cuda/kernels/dense/row_tile.hpp"

namespace strobe::cuda {

inline constexpr int product_tile = 64, product_slice = 16, product_threads = 256, product_stride = product_tile + 4;

/// Element (outer, inner): values[outer * outer_stride + inner * inner_stride], 0 where `live` is there and not
/// positive.
template <class T>
struct Factor {
  const T *values, *live;
  std::int64_t outer, outer_stride, inner_stride;

  __device__ T at(std::int64_t o, std::int64_t k) const {
    const std::int64_t place = o * outer_stride + k * inner_stride;
    return live == nullptr || live[place] > T{0} ? values[place] : T{0};
  }
};

/// slice[k][o] = factor (first + o, inner + k), zero beyond its ends; neighbouring threads read neighbouring values.
template <class T>
__device__ void load_slice(const Factor<T>& factor, std::int64_t first, std::int64_t inner, std::int64_t end,
                           T (&slice)[product_slice][product_stride]) {
  const int thread = static_cast<int>(threadIdx.x);
  const bool along = factor.inner_stride == 1;
  // A thread's values lie 16 outer or 4 inner indices apart.
  int k = along ? thread % product_slice : thread / product_tile;
  int o = along ? thread / product_slice : thread % product_tile;
  const int k_step = along ? 0 : product_threads / product_tile, o_step = along ? product_threads / product_slice : 0;
#pragma unroll 2
  for (int part = 0; part < product_tile * product_slice / product_threads; ++part, k += k_step, o += o_step) {
    const bool inside = first + o < factor.outer && inner + k < end;
    slice[k][o] = inside ? factor.at(first + o, inner + k) : T{0};
  }
}

template <class T>
struct alignas(16) ProductTile {  // load_four reads 16 bytes at a time
  T left[product_slice][product_stride], right[product_slice][product_stride];
};

/// sum += the thread's 4 x 4 values of one slice.
template <class T>
__device__ void multiply_slice(const ProductTile<T>& tile, T (&sum)[4][4]) {
  const int row = static_cast<int>(threadIdx.x) / 16 * 4, column = static_cast<int>(threadIdx.x) % 16 * 4;
#pragma unroll
  for (int k = 0; k < product_slice; ++k) {
    T left[4], right[4];
    load_four(&tile.left[k][row], left);
    load_four(&tile.right[k][column], right);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) sum[i][j] += left[i] * right[j];
    }
  }
}

/// total[i][j] = C(row + thread / 16 * 4 + i, column + thread % 16 * 4 + j) over inner indices [begin, end). B is given
/// by columns: its outer index is C's column. Every thread of the block must call it.
template <class Sum, class T>
__device__ void multiply_tile(const Factor<T>& a, const Factor<T>& b, std::int64_t row, std::int64_t column,
                              std::int64_t begin, std::int64_t end, ProductTile<T>& tile, Sum (&total)[4][4]) {
  constexpr std::int64_t flush = 128;
  T sum[4][4] = {};
  for (std::int64_t k = begin; k < end; k += product_slice) {
    __syncthreads();
    load_slice(a, row, k, end, tile.left);
    load_slice(b, column, k, end, tile.right);
    __syncthreads();
    multiply_slice(tile, sum);
    const std::int64_t done = k + product_slice - begin;
    if (done % flush != 0 && k + product_slice < end) continue;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        total[i][j] += static_cast<Sum>(sum[i][j]);
        sum[i][j] = T{0};
      }
    }
  }
}

}  // namespace strobe::cuda
