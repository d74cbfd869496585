// y = activation(x w + bias) of at most 32 columns in and out, for the rows that one block takes. The block keeps w in
// shared memory; x comes in and y goes out through shared memory with neighbouring threads on neighbouring values, and
// between them each thread holds one row of y in registers, so that w is read as broadcasts of four values. The order
// of additions is that of the definition. Cost: the compulsory bytes (x read once, y written once) and w once per
// block; per row F (1 + P / 4) reads of shared memory and F P multiply-adds, P = G padded to 4, 8, 16 or 32.
#pragma once

#include "backends/cuda/kernels/dense/row_tile.hpp"

namespace strobe::cuda {

template <class T>
struct NarrowProduct {
  using Value = T;
  const T *x, *w, *bias;  // bias may be null
  T* y;
  int inner, width, x_stride, y_stride;
  int x_apart, y_apart;  // values from row to row of x and of y; a product may use only some of their columns
  bool relu;
};

inline bool is_narrow(std::int64_t inner, std::int64_t width) {
  return inner >= 1 && width >= 1 && inner <= narrow_width && width <= narrow_width;
}

/// The product of the first `inner` columns of x, into the first columns of y; w begins at its first row.
template <class T>
NarrowProduct<T> narrow_product_of(const Tensor& x, const Tensor& w, const Tensor& bias, const Tensor& y,
                                   std::int64_t inner, Activation activation) {
  const int width = static_cast<int>(w.columns());
  return {x.data<T>(),
          w.data<T>(),
          bias.data<T>(),
          y.data<T>(),
          static_cast<int>(inner),
          width,
          odd(inner),
          odd(width),
          static_cast<int>(x.columns()),
          static_cast<int>(y.columns()),
          activation == Activation::relu};
}

/// Bytes of shared memory that multiply_rows uses.
template <class T>
std::size_t narrow_product_bytes(const NarrowProduct<T>& p, int padding) {
  const int stride = p.x_stride > p.y_stride ? p.x_stride : p.y_stride;
  return static_cast<std::size_t>((p.inner + 1) * padding + narrow_rows<T> * stride) * sizeof(T);
}

template <int P, class T>
__device__ void row_product(const NarrowProduct<T>& p, const T* w, const T* bias, const T* x, T (&sum)[P]) {
#pragma unroll
  for (int g = 0; g < P; ++g) sum[g] = bias[g];
  for (int f = 0; f < p.inner; ++f) add_row<P>(x[f], w + f * P, sum);
}

/// Rows [first, first + blockDim.x), then those `step` rows on, and so on before `end`. Every thread of the block calls
/// it.
template <int P, class T>
__device__ void multiply_rows(const NarrowProduct<T>& p, std::int64_t first, std::int64_t end, std::int64_t step) {
  const int thread = static_cast<int>(threadIdx.x), most = static_cast<int>(blockDim.x);
  T* const w = dynamic_shared<T>();
  T* const bias = w + p.inner * P;
  T* const tile = bias + P;  // of x, then of y
  load_padded<P>(w, p.w, p.inner, p.width);
  if (thread < P) bias[thread] = p.bias != nullptr && thread < p.width ? p.bias[thread] : T{0};
  for (; first < end; first += step) {
    const int rows = end - first < most ? static_cast<int>(end - first) : most;
    __syncthreads();
    load_rows(tile, p.x_stride, p.x + first * p.x_apart, p.x_apart, rows, p.inner);
    __syncthreads();
    T sum[P];
    if (thread < rows) row_product<P>(p, w, bias, tile + thread * p.x_stride, sum);
    __syncthreads();
    if (thread < rows) {
#pragma unroll
      for (int g = 0; g < P; ++g) {
        if (g < p.width) tile[thread * p.y_stride + g] = activated(sum[g], p.relu);
      }
    }
    __syncthreads();
    store_rows(tile, p.y_stride, p.y + first * p.y_apart, p.y_apart, rows, p.width, false);
  }
}

}  // namespace strobe::cuda
