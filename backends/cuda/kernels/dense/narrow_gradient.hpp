// Gradient of a dense layer of at most 32 columns in and out, dx and the weights' sums in one pass over the rows that
// one block takes, tile by tile through shared memory: dz, and x with a column of ones, whose "weight" is the bias.
// Weights: each thread owns four neighbouring ones and every k-th row of the tile, sums them in the element type and
// adds the tile's sums to totals in double; at the end the block adds what its threads hold of one weight in order of
// threads. Then each thread takes one row of dx from its row of dz in registers. Cost: the compulsory bytes (x, dy and
// with an activation y read once, dx written once) and 8 (F + 1) G bytes of sums per block.
#pragma once

#include "backends/cuda/kernels/dense/narrow_product.hpp"

namespace strobe::cuda {

template <class T>
struct NarrowGradient {
  using Value = T;
  const T *x, *w, *y, *dy;  // y is null without activation
  T* dx;                    // null: not asked for
  int inner, width, x_stride;
  int x_apart, y_apart;  // values from row to row of x and dx, and of y and dy
  bool accumulate_dx;
};

/// Values between rows of dz in shared memory: aligned for four, and rows eight threads apart on all banks.
__host__ __device__ constexpr int dz_stride(int padding) { return padding == 4 ? 4 : padding + 4; }

/// How weights are spread over threads: `units` of four columns of one row of [x | 1]^T dz, each held by `groups`
/// threads.
template <int P>
struct Spread {
  int units, groups;
  __device__ Spread(int inner, int threads) : units((inner + 1) * (P / 4)), groups(threads / units) {
    if (groups < 1) groups = 1;
  }
};

/// Most units that one thread holds of a gradient with up to `narrow_width` columns of x.
template <class T, int P>
inline constexpr int units_per_thread =
    ((static_cast<int>(narrow_width) + 1) * (P / 4) + narrow_rows<T> - 1) / narrow_rows<T>;

/// Adds a tile's part of the thread's weights.
template <int P, class T, int U>
__device__ void add_weights(const NarrowGradient<T>& p, const T* x, const T* dz, int rows, double (&totals)[U][4]) {
  const Spread<P> spread(p.inner, static_cast<int>(blockDim.x));
#pragma unroll
  for (int u = 0; u < U; ++u) {
    const int index = static_cast<int>(threadIdx.x + u * blockDim.x);
    const int unit = index % spread.units, group = index / spread.units;
    const int f = unit / (P / 4), column = unit % (P / 4) * 4;
    if (group >= spread.groups) continue;
    T sum[4] = {T{0}, T{0}, T{0}, T{0}};
#pragma unroll 4
    for (int r = group; r < rows; r += spread.groups) {
      add_row<4>(x[r * p.x_stride + f], dz + r * dz_stride(P) + column, sum);
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) totals[u][k] += static_cast<double>(sum[k]);
  }
}

/// Writes the block's sums [(F + 1) G] from its threads' totals; `shared` holds four doubles per unit and group.
template <int P, class T, int U>
__device__ void put_weights(const NarrowGradient<T>& p, const double (&totals)[U][4], double* shared, double* sums) {
  const Spread<P> spread(p.inner, static_cast<int>(blockDim.x));
  __syncthreads();
#pragma unroll
  for (int u = 0; u < U; ++u) {
    const int index = static_cast<int>(threadIdx.x + u * blockDim.x);
    if (index >= spread.units * spread.groups) continue;
#pragma unroll
    for (int k = 0; k < 4; ++k) shared[index * 4 + k] = totals[u][k];
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < (p.inner + 1) * p.width; i += static_cast<int>(blockDim.x)) {
    const int f = i / p.width, g = i % p.width, unit = f * (P / 4) + g / 4;
    double sum = 0;
    for (int group = 0; group < spread.groups; ++group) sum += shared[(group * spread.units + unit) * 4 + g % 4];
    sums[i] = sum;
  }
}

/// x = dz w^T for the thread's row.
template <int P, class T>
__device__ void row_gradient(const NarrowGradient<T>& p, const T* w, const T* dz, T* x) {
  T row[P];
#pragma unroll
  for (int g = 0; g < P; ++g) row[g] = T{0};
  add_row<P>(T{1}, dz, row);
  for (int f = 0; f < p.inner; ++f) {
    T sum{0};
#pragma unroll
    for (int g = 0; g < P; g += 4) {
      T four[4];
      load_four(w + f * P + g, four);
#pragma unroll
      for (int k = 0; k < 4; ++k) sum += row[g + k] * four[k];
    }
    x[f] = sum;
  }
}

/// The gradient of the first `inner` columns of x and the first columns of dy; w begins at its first row.
template <class T, class Op>
NarrowGradient<T> narrow_gradient_of(const Op& op, std::int64_t inner) {
  return {op.x.template data<T>(),
          op.w.template data<T>(),
          op.activation == Activation::relu ? op.y.template data<T>() : nullptr,
          op.dy.template data<T>(),
          op.dx.template data<T>(),
          static_cast<int>(inner),
          static_cast<int>(op.w.columns()),
          odd(inner + 1),
          static_cast<int>(op.x.columns()),
          static_cast<int>(op.dy.columns()),
          op.accumulate_dx};
}

/// Bytes of shared memory that differentiate_rows uses: its tiles, and at the end the threads' totals.
template <int P, class T>
std::size_t narrow_gradient_bytes(const NarrowGradient<T>& p) {
  constexpr int rows = narrow_rows<T>;
  const std::size_t tiles = static_cast<std::size_t>(rows * (dz_stride(P) + p.x_stride) + p.inner * P) * sizeof(T);
  const std::size_t totals = static_cast<std::size_t>(rows * units_per_thread<T, P> * 4) * sizeof(double);
  return tiles > totals ? tiles : totals;
}

/// Writes dx of rows [first, end) and the block's sums [(F + 1) G]. Every thread of the block calls it.
template <int P, class T>
__device__ void differentiate_rows(const NarrowGradient<T>& p, std::int64_t first, std::int64_t end, double* sums) {
  constexpr int U = units_per_thread<T, P>;
  const int thread = static_cast<int>(threadIdx.x), most = static_cast<int>(blockDim.x);
  T* const dz = dynamic_shared<T>();
  T* const w = dz + most * dz_stride(P);
  T* const x = w + p.inner * P;
  if (p.dx != nullptr) load_padded<P>(w, p.w, p.inner, p.width);
  for (int i = thread; i < most * dz_stride(P); i += most) dz[i] = T{0};  // the padding stays so
  x[thread * p.x_stride + p.inner] = T{1};
  double totals[U][4] = {};
  for (; first < end; first += most) {
    const int rows = end - first < most ? static_cast<int>(end - first) : most;
    __syncthreads();
    load_rows(x, p.x_stride, p.x + first * p.x_apart, p.x_apart, rows, p.inner);
    load_live_rows(dz, dz_stride(P), p.y == nullptr ? p.y : p.y + first * p.y_apart, p.dy + first * p.y_apart,
                   p.y_apart, rows, p.width);
    __syncthreads();
    add_weights<P>(p, x, dz, rows, totals);
    if (p.dx == nullptr) continue;
    __syncthreads();
    if (thread < rows) row_gradient<P>(p, w, dz + thread * dz_stride(P), x + thread * p.x_stride);
    __syncthreads();
    store_rows(x, p.x_stride, p.dx + first * p.x_apart, p.x_apart, rows, p.inner, p.accumulate_dx);
  }
  put_weights<P>(p, totals, reinterpret_cast<double*>(dz), sums);
}

}  // namespace strobe::cuda
