// What the recurrences of narrow states (up to 8 units) share. A warp takes 5 vertices through all steps, or 4 where
// there are more than 6 units, and a lane has one unit of one vertex: its state and, in fp32, the weights of its gates
// stay in registers. Inputs and states of the warp's vertices pass from lane to lane by way of rows of shared memory
// of its own, so that no warp waits for another. Sizes of loops are fixed at compile time, at or above those of the
// operation: what is beyond these is zero, in weights and in values, and adds nothing.
#pragma once

#include "backends/cuda/kernels/recurrence/recurrent_gates.hpp"

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

/// Calls body(LaneSizes<F, H>) with the sizes that were made for the operation's: in fp32 those of the models' LSTMs.
template <class T, class Body>
void with_lane_sizes(std::int64_t inputs, std::int64_t hidden, const Body& body) {
  if constexpr (sizeof(T) == 4) {
    if (hidden <= 6 && inputs <= 8) return body(LaneSizes<8, 6>{});
    if (hidden <= 6 && inputs <= 12) return body(LaneSizes<12, 6>{});
  }
  body(LaneSizes<narrow_inputs, narrow_hidden>{});
}

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
  int count = 0;  // vertices that there are, at most 0 behind the last

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

/// Gate g's weight of an LSTM's unit u for row k of x, h and the bias, as Sizes has them; 0 beyond the operation's.
template <class Sizes, class Op>
__device__ auto lstm_weight(const Op& op, int k, int u, int g) {
  using T = std::remove_cvref_t<decltype(*op.w_x)>;
  const bool of_x = k < Sizes::inputs, of_bias = k == Sizes::rows - 1;
  const int row = of_x ? k : of_bias ? 0 : k - Sizes::inputs;
  const bool there = u < op.hidden && row < (of_x ? op.inputs : of_bias ? 1 : op.hidden);
  const T* from = of_x ? op.w_x : of_bias ? op.bias : op.w_h;
  const T value = from[there ? (row * 4 + g) * op.hidden + u : 0];  // read in any case: no branch, loads in flight
  return there ? value : T{0};
}

/// The same of a GRU; its fourth gate's are 0.
template <class Sizes, class Op>
__device__ auto gru_weight(const Op& op, int k, int u, int g) {
  using T = std::remove_cvref_t<decltype(*op.w_x)>;
  if (g == 3) return T{0};
  const bool of_x = k < Sizes::inputs, of_bias = k == Sizes::rows - 1;
  const int row = of_x ? k : of_bias ? 0 : k - Sizes::inputs, rows = of_x ? op.inputs : of_bias ? 1 : op.hidden;
  const bool there = u < op.hidden && row < rows;
  const T* from = of_x ? op.w_x : of_bias ? op.bias : op.w_h;
  const T value = from[there ? (g * rows + row) * op.hidden + u : 0];
  return there ? value : T{0};
}

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
/// `segment` columns lie beside each other in a staged row, the next ones `padded` values behind their first.
template <int J>
struct LaneElements {
  int at[J];  // in the staged rows; 0 behind the last of `rows`

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

/// A staged row of a GRU: the gates' inputs, h from a whole vector on, and r h.
template <class Sizes>
struct GruRow {
  static constexpr int h = (3 * Sizes::inputs + 3) / 4 * 4, reset = h + Sizes::hidden;
  static constexpr int values = (reset + Sizes::hidden + 3) / 4 * 4;
};

/// The same for a GRU; `Widest` where no others fit.
template <class T, class Widest, class Body>
void with_gru_sizes(std::int64_t inputs, std::int64_t hidden, const Body& body) {
  if constexpr (sizeof(T) == 4) {
    if (hidden <= 6 && inputs <= 6) return body(LaneSizes<6, 6>{});
    if (hidden <= 6 && inputs <= 8) return body(LaneSizes<8, 6>{});
  }
  body(Widest{});
}

/// A lane's elements `x` to the staged rows, three times where gates share them.
template <class Sizes, class T, class Op, int J>
__device__ void stage_gru_inputs(const Op& op, const LaneElements<J>& elements, const T* x, T* rows) {
  elements.each(Sizes::vertices * op.columns, [&](int j, int at) { rows[at] = x[j]; });
  if (op.own) return;
  elements.each(Sizes::vertices * op.columns, [&](int j, int at) {
    rows[at + Sizes::inputs] = x[j];
    rows[at + 2 * Sizes::inputs] = x[j];
  });
}

/// Calls body(g, f, value) for the inputs of all gates in a staged row.
template <class Sizes, class T, class Op, class Body>
__device__ void over_gru_inputs(const Op& op, const Gates<T>* row, const Body& body) {
#pragma unroll
  for (int k = 0; k < 3 * Sizes::inputs; k += 4) {
    if (Sizes::skips && k % Sizes::inputs >= op.inputs) continue;
    const Gates<T> x = row[k / 4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (k + i < 3 * Sizes::inputs) body((k + i) / Sizes::inputs, (k + i) % Sizes::inputs, x.of[i]);
    }
  }
}

/// Calls body(k, value) for the H values from `first` of a staged row on.
template <int H, int first, class T, class Body>
__device__ void over_staged(const Gates<T>* row, const Body& body) {
#pragma unroll
  for (int vector = first / 4; vector * 4 < first + H; ++vector) {
    const Gates<T> values = row[vector];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int k = vector * 4 + i - first;
      if (k >= 0 && k < H) body(k, values.of[i]);
    }
  }
}

/// Gates r and z, activated, and of gate n the share of x.
template <class Sizes, class T, class Op, class Weights>
__device__ Gates<T> first_gru_gates(const Op& op, const Gates<T>* row, const Weights& weights) {
  Gates<T> sum = weights[Sizes::inputs + Sizes::hidden];
  over_gru_inputs<Sizes>(op, row, [&](int g, int f, T value) { sum.of[g] += value * weights[f].of[g]; });
  over_staged<Sizes::hidden, GruRow<Sizes>::h>(row, [&](int k, T value) {
    for (int g = 0; g < 2; ++g) sum.of[g] += value * weights[Sizes::inputs + k].of[g];
  });
  for (int g = 0; g < 2; ++g) sum.of[g] = quick_squash<1>(sum.of[g]);
  return sum;
}

/// Gate n, activated, with r h in the row.
template <class Sizes, class T, class Weights>
__device__ void add_gru_reset(const Gates<T>* row, const Weights& weights, Gates<T>& gate) {
  over_staged<Sizes::hidden, GruRow<Sizes>::reset>(
      row, [&](int k, T value) { gate.of[2] += value * weights[Sizes::inputs + k].of[2]; });
  gate.of[2] = quick_squash_both(gate.of[2]);
}

}  // namespace strobe::cuda
