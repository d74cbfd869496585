// Shared by the recurrences of narrow states (up to 8 units). A warp takes 5 vertices through all steps, or 4 where
// there are more than 6 units, and a lane has one unit of one vertex: its state and, in fp32, the weights of its gates
// stay in registers. Inputs and states of the warp's vertices pass from lane to lane through rows of shared memory
// of its own, so that no warp waits for another. Sizes of loops are fixed at compile time, at or above those of the
// operation: what is beyond these is zero, in weights and in values, and adds nothing.
#pragma once

#include "backends/cuda/kernels/recurrence/recurrent_arrays.hpp"

namespace strobe::cuda {

inline constexpr std::size_t most_shared_bytes = 48 * 1024;

/// Up to F inputs (of a gate) and H units, V vertices a warp.
template <int F, int H, int V = warp_lanes / H>
struct LaneSizes {
  static constexpr int inputs = F, hidden = H, vertices = V;
  static constexpr int state = 8;         // values of a staged h
  static constexpr int rows = F + H + 1;  // of weights: x, h and the bias
  static constexpr bool skips = F > 12;   // loops over inputs end at the operation's width, in steps of 4

  /// Values that a lane copies of the vertices' rows of `columns`.
  static constexpr int copies(int columns) { return (vertices * columns + warp_lanes - 1) / warp_lanes; }
};

/// 1 / (1 + e^(-scale x)). In fp32 by the processor's own 2^x and 1/x, within 2e-7.
template <int scale>
__device__ float quick_squash(float value) {
#if defined(__CUDA_ARCH__)
  float power, result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(value * (-1.44269504f * scale)));
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(1.0f + power));
  return result;
#else
  return squash(scale * value);
#endif
}
template <int scale>
__device__ double quick_squash(double value) {
  return squash(scale * value);
}

/// tanh, in fp32 within 4e-7, and near zero to its last digits.
__device__ inline float quick_squash_both(float value) {
  return near_zero_or(value, 2.0f * quick_squash<2>(value) - 1.0f);
}
__device__ inline double quick_squash_both(double value) { return squash_both(value); }

/// A lane's unit: unit `unit` of vertex `vertex` of its warp, whose vertices begin at `first`.
template <class Sizes>
struct LaneUnit {
  int vertex, unit;
  bool spare;  // a lane that no vertex needs: it follows another
  bool valid = false;
  std::int64_t first = 0;
  int count = 0;  // vertices that exist, at most 0 after the last

  __device__ LaneUnit() : vertex(lane() / Sizes::hidden), unit(lane() % Sizes::hidden) {
    spare = vertex >= Sizes::vertices;
    if (spare) vertex = 0;
  }
  __device__ void begin(std::int64_t first_vertex, std::int64_t n, int hidden) {
    first = first_vertex;
    const std::int64_t left = n - first;
    count = left < Sizes::vertices ? static_cast<int>(left) : Sizes::vertices;
    valid = !spare && unit < hidden && vertex < count;
  }
};

/// The weights of a lane's unit, a row of four gates for every input: in registers, or else in shared memory, where a
/// block has [rows, hidden] of them.
template <class T, class Sizes, bool registers>
struct UnitWeights {
  Gates<T> rows[Sizes::rows];

  template <class Weight>
  __device__ UnitWeights(Gates<T>*, int unit, const Weight& weight) {
#pragma unroll
    for (int k = 0; k < Sizes::rows; ++k) {
      for (int g = 0; g < 4; ++g) rows[k].of[g] = weight(k, unit, g);
    }
  }
  __device__ const Gates<T>& operator[](int k) const { return rows[k]; }
  static constexpr int shared_gates = 0;
};
template <class T, class Sizes>
struct UnitWeights<T, Sizes, false> {
  const Gates<T>* column;

  /// Every thread of the block comes here.
  template <class Weight>
  __device__ UnitWeights(Gates<T>* shared, int unit, const Weight& weight) : column(shared + unit) {
    for (int i = static_cast<int>(threadIdx.x); i < shared_gates; i += static_cast<int>(blockDim.x)) {
      for (int g = 0; g < 4; ++g) shared[i].of[g] = weight(i / Sizes::hidden, i % Sizes::hidden, g);
    }
    __syncthreads();
  }
  __device__ const Gates<T>& operator[](int k) const { return column[k * Sizes::hidden]; }
  static constexpr int shared_gates = Sizes::rows * Sizes::hidden;
};

/// A lane's sums of the gradients of its unit's weights: in registers, or else in the warp's shared memory, [rows, 32].
template <class T, class Sizes, bool registers>
struct UnitSums {
  Gates<T> rows[Sizes::rows];

  __device__ explicit UnitSums(Gates<T>*) {}
  __device__ Gates<T>& operator[](int k) { return rows[k]; }
  static constexpr int shared_gates = 0;
};
template <class T, class Sizes>
struct UnitSums<T, Sizes, false> {
  Gates<T>* column;

  __device__ explicit UnitSums(Gates<T>* shared) : column(shared + lane()) {}
  __device__ Gates<T>& operator[](int k) { return column[k * warp_lanes]; }
  static constexpr int shared_gates = Sizes::rows * warp_lanes;
};

inline constexpr int flushed_rows = 8;  // at a time

/// Adds the lanes' sums to the block's `part`, or stores them: vertices in order, of one warp after the other. `area`
/// holds [warps, stride] gates, at least [flushed_rows, 32] a warp; place(k, u, g) is where, or negative. Every thread
/// of the block comes here, and nobody else uses the area until it is back.
template <class Sizes, class T, class Sums, class Place>
__device__ void flush_sums(Sums& sums, T* area, int stride, double* part, bool store, const Place& place) {
  auto* const own = reinterpret_cast<Gates<T>*>(area + warp() * stride);
  const int warps = static_cast<int>(blockDim.x) / warp_lanes;
#pragma unroll
  for (int first = 0; first < Sizes::rows; first += flushed_rows) {
    __syncthreads();
#pragma unroll
    for (int i = 0; i < flushed_rows && first + i < Sizes::rows; ++i) own[i * warp_lanes + lane()] = sums[first + i];
    __syncthreads();
    for (int e = static_cast<int>(threadIdx.x); e < flushed_rows * 4 * Sizes::hidden;
         e += static_cast<int>(blockDim.x)) {
      const int i = e / (4 * Sizes::hidden), g = e / Sizes::hidden % 4, u = e % Sizes::hidden;
      const int at = first + i < Sizes::rows ? place(first + i, u, g) : -1;
      if (at < 0) continue;
      double sum = 0;
      for (int w = 0; w < warps; ++w) {
        const T* from = area + w * stride + (i * warp_lanes + u) * 4 + g;
        for (int v = 0; v < Sizes::vertices; ++v) sum += static_cast<double>(from[v * Sizes::hidden * 4]);
      }
      part[at] = (store ? 0.0 : part[at]) + sum;
    }
  }
  __syncthreads();
}

/// The elements of the warp's rows of x that a lane copies, in storage order: number lane(), lane() + 32, ....
/// `segment` columns are adjacent in a staged row; the next ones begin `padded` values after the first of these.
template <int J>
struct LaneElements {
  int at[J];  // in the staged rows; 0 after the last of `rows`

  __device__ LaneElements(int rows, int columns, int segment, int padded, int stride) {
#pragma unroll
    for (int j = 0; j < J; ++j) {
      const int i = lane() + warp_lanes * j, column = i % columns;
      at[j] = i < rows * columns ? i / columns * stride + column / segment * padded + column % segment : 0;
    }
  }
  /// Calls body(j, at[j]) for those below `end`.
  template <class Body>
  __device__ void each(int end, const Body& body) const {
#pragma unroll
    for (int j = 0; j < J; ++j) {
      if (lane() + warp_lanes * j < end) body(j, at[j]);
    }
  }
};

}  // namespace strobe::cuda
