// Gradient of a dense layer of at most eight columns in and out with one row a thread and nothing but registers between
// memory and the sums: a thread reads its row of x and dz, adds the outer product [x | 1]^T dz to sums of its own, and
// multiplies its row of dz by w^T for dx, which leaves through shared memory with neighbouring lanes on neighbouring
// values. Sums are of the element type for at most 64 rows; then a warp adds its lanes' by halves (each lane passes on
// one half of what it holds, so 72 sums take 71 exchanges), and the block's warps' meet in double.
// Cost: the compulsory bytes; some 250 instructions a row, in which no load waits for another; per warp 71 exchanges,
// and 8 (F + 1) G bytes of sums per block.
#pragma once

#include "backends/cuda/kernels/part_sums.hpp"

namespace strobe::cuda {

inline constexpr int outer_width = 8, outer_threads = 128, outer_blocks_per_multiprocessor = 4;
inline constexpr int outer_sums = (outer_width + 1) * outer_width, outer_rows_in_registers = 64;

inline constexpr int outer_sums_per_lane = 3;  // after five halvings

inline bool takes_outer_products(std::int64_t inner, std::int64_t width) {
  return inner >= 1 && inner <= outer_width && width >= 1 && width <= outer_width;
}

template <class T>
struct OuterGradient {
  const T *x, *w, *y, *dy;  // y is null without activation
  T* dx;                    // null: not asked for
  int inner, width;
  bool accumulate_dx;
};

template <class T, class Op>
OuterGradient<T> outer_gradient(const Op& op, std::int64_t inner) {
  return {op.x.template data<T>(),
          op.w.template data<T>(),
          op.activation == Activation::relu ? op.y.template data<T>() : nullptr,
          op.dy.template data<T>(),
          op.dx.template data<T>(),
          static_cast<int>(inner),
          static_cast<int>(op.w.columns()),
          op.accumulate_dx};
}

template <class T>
struct OuterMemory {
  T w[outer_width][outer_width];                               // zeros after the last row and column
  T dx[outer_threads / warp_lanes][warp_lanes * outer_width];  // in storage order
  double sums[outer_threads / warp_lanes][warp_lanes * outer_sums_per_lane];
};

/// A thread's sums (F + 1) x G, rows of eight, and the totals of those that it keeps of its warp's.
template <class T>
struct OuterSums {
  T sum[outer_sums] = {};
  double total[outer_sums_per_lane] = {};

  __device__ void add(const T (&x)[outer_width], const T (&dz)[outer_width]) {
#pragma unroll
    for (int g = 0; g < outer_width; ++g) {
#pragma unroll
      for (int f = 0; f < outer_width; ++f) sum[f * outer_width + g] += x[f] * dz[g];
      sum[outer_width * outer_width + g] += dz[g];
    }
  }

  /// Moves the warp's sums to the totals. Every lane calls it.
  __device__ void add_to_totals() {
    add_halves<outer_sums, warp_lanes / 2>();
#pragma unroll
    for (int k = 0; k < outer_sums_per_lane; ++k) total[k] += static_cast<double>(sum[k]);
#pragma unroll
    for (T& s : sum) s = T{0};
  }

  /// Which sum total k of this lane is; outer_sums or more for none.
  __device__ static int which(int k) { return place<outer_sums, warp_lanes / 2>(k); }

 private:
  /// The lane keeps a half of `held` sums, adds the sums that the lane at `distance` holds there, and passes on the
  /// other half.
  template <int held, int distance>
  __device__ void add_halves() {
    constexpr int kept = (held + 1) / 2;
    const bool is_upper = (lane() & distance) != 0;
#pragma unroll
    for (int k = 0; k < kept; ++k) {
      const T low = sum[k], high = kept + k < held ? sum[kept + k] : T{0};
      sum[k] = (is_upper ? high : low) + __shfl_xor_sync(0xffffffffu, is_upper ? low : high, distance);
    }
    if constexpr (distance > 1) add_halves<kept, distance / 2>();
  }

  template <int held, int distance>
  __device__ static int place(int k) {
    constexpr int kept = (held + 1) / 2;
    if constexpr (distance > 1) k = place<kept, distance / 2>(k);
    if (k < kept && (lane() & distance) != 0) k += kept;
    return k < held ? k : outer_sums;
  }
};

template <class T>
__device__ void load_outer_row(const T* from, int width, bool there, T (&row)[outer_width]) {
#pragma unroll
  for (int g = 0; g < outer_width; ++g) row[g] = there && g < width ? from[g] : T{0};
}

/// dx of the warp's rows from `first` on, the lane's being dz w^T.
template <class T>
__device__ void write_outer_inputs(const OuterGradient<T>& p, OuterMemory<T>& memory, const T (&dz)[outer_width],
                                   std::int64_t first, int rows) {
  T* const stage = memory.dx[warp()];
#pragma unroll
  for (int f = 0; f < outer_width; ++f) {
    T sum{0};
#pragma unroll
    for (int g = 0; g < outer_width; ++g) sum += dz[g] * memory.w[f][g];
    if (f < p.inner) stage[lane() * p.inner + f] = sum;
  }
  __syncwarp();
  for (int i = lane(); i < rows * p.inner; i += warp_lanes) {
    T& to = p.dx[first * p.inner + i];
    to = p.accumulate_dx ? to + stage[i] : stage[i];
  }
  __syncwarp();
}

/// Writes the block's sums [(F + 1) G] of the threads' totals.
template <class T>
__device__ void write_outer_sums(const OuterSums<T>& own, int inner, int width, OuterMemory<T>& memory, double* sums) {
  constexpr int warps = outer_threads / warp_lanes;
#pragma unroll
  for (int k = 0; k < outer_sums_per_lane; ++k) {
    const int i = OuterSums<T>::which(k);
    if (i < outer_sums) memory.sums[warp()][i] = own.total[k];
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < (inner + 1) * width; i += outer_threads) {
    const int f = i / width, g = i % width, from = (f < inner ? f : outer_width) * outer_width + g;
    double sum = 0;
    for (int w = 0; w < warps; ++w) sum += memory.sums[w][from];
    sums[i] = sum;
  }
}

/// Writes dx of rows [begin, end) and the block's sums. Every thread of the block, of outer_threads, calls it.
template <class T>
__device__ void add_outer_products(const OuterGradient<T>& p, std::int64_t begin, std::int64_t end, double* sums) {
  STROBE_SHARED(OuterMemory<T>, memory);
  for (int i = static_cast<int>(threadIdx.x); i < outer_width * outer_width; i += outer_threads) {
    const int f = i / outer_width, g = i % outer_width;
    memory.w[f][g] = f < p.inner && g < p.width ? p.w[f * p.width + g] : T{0};
  }
  __syncthreads();
  OuterSums<T> own;
  int in_registers = 0;
  for (std::int64_t first = begin + warp() * warp_lanes; first < end; first += outer_threads) {
    const std::int64_t row = first + lane();
    const bool there = row < end;
    T x[outer_width], dz[outer_width], live[outer_width];
    load_outer_row(p.x + row * p.inner, p.inner, there, x);
    load_outer_row(p.dy + row * p.width, p.width, there, dz);
    if (p.y != nullptr) {
      load_outer_row(p.y + row * p.width, p.width, there, live);
#pragma unroll
      for (int g = 0; g < outer_width; ++g) dz[g] = live[g] > T{0} ? dz[g] : T{0};
    }
    own.add(x, dz);
    const std::int64_t left = end - first;
    if (p.dx != nullptr) {
      write_outer_inputs(p, memory, dz, first, left < warp_lanes ? static_cast<int>(left) : warp_lanes);
    }
    if (++in_registers % outer_rows_in_registers == 0 || left <= outer_threads) own.add_to_totals();
  }
  write_outer_sums(own, p.inner, p.width, memory, sums);
}

}  // namespace strobe::cuda
