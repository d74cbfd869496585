// What the recurrences of hidden widths that are known at compile time share: `lanes` threads of a warp have one
// vertex, each with every lanes-th unit, so that a thread's state stays in registers. The weights of a unit's gates lie
// side by side in shared memory, and rows go between global and shared memory a warp at a time, element by element in
// storage order, so that every transfer is contiguous whatever the width.
#pragma once

#include <cmath>

#include "backends/cuda/kernels/part_sums.hpp"
#include "backends/operations/operations_recurrent.hpp"

namespace strobe::cuda {

inline constexpr std::size_t most_shared_bytes = 48 * 1024;

/// How a warp shares out hidden states of H values.
template <int H>
struct HiddenLanes {
  static constexpr int lanes = H / 4;  // per vertex
  static constexpr int units = 4;      // per lane: part, part + lanes, ...
  static constexpr int vertices = warp_lanes / lanes;
  static constexpr int row = H | 1;         // of staged states; odd: no bank conflicts between vertices
  static constexpr int weight_row = H + 1;  // lanes that read rows of their own meet in no bank
  static constexpr int gradient_row = H + 1;
};

/// One value for each gate of a unit.
template <class T>
struct alignas(16) Gates {
  T of[4];

  __device__ void clear() {
    for (T& value : of) value = T{0};
  }
  __device__ void add(T factor, const Gates& weights) {
    for (int g = 0; g < 4; ++g) of[g] += factor * weights.of[g];
  }
  __device__ T dot(const Gates& weights) const {
    return (of[0] * weights.of[0] + of[1] * weights.of[1]) + (of[2] * weights.of[2] + of[3] * weights.of[3]);
  }
};

template <class T>
__device__ T squash(T value) {
  return T{1} / (T{1} + std::exp(-value));
}
/// tanh of a small value by its series, else `otherwise`, which knows no more digits of it than of 1. A state that
/// fades must keep its digits: where it becomes zero before its time, a relu behind it closes.
__device__ inline float near_zero_or(float value, float otherwise) {
  constexpr float largest = 0.2f;  // from which on the next term counts
  const float square = value * value;
  const float series = value + value * square * (-1.0f / 3 + square * (2.0f / 15 + square * (-17.0f / 315)));
  return std::abs(value) < largest ? series : otherwise;
}

/// tanh, in fp32 by one exponential.
__device__ inline float squash_both(float value) { return near_zero_or(value, 2.0f * squash(2.0f * value) - 1.0f); }
__device__ inline double squash_both(double value) { return std::tanh(value); }

/// A lane's walk over the elements of rows of `columns` values that a warp copies: element lane, lane + 32, ....
struct RowWalk {
  int columns, row, column, rows_on, columns_on;

  __device__ explicit RowWalk(int width)
      : columns(width),
        row(lane() / width),
        column(lane() % width),
        rows_on(warp_lanes / width),
        columns_on(warp_lanes % width) {}

  /// Calls body(element, row, column) for this lane's elements of `rows` rows.
  template <class Body>
  __device__ void over(int rows, const Body& body) const {
    int r = row, c = column;
    for (int i = lane(); i < rows * columns; i += warp_lanes) {
      body(i, r, c);
      r += rows_on;
      c += columns_on;
      if (c >= columns) {
        c -= columns;
        ++r;
      }
    }
  }
};

/// Copies `rows` rows of `walk.columns` values from global memory to rows `stride` apart.
template <class T>
__device__ void stage_rows(const RowWalk& walk, const T* from, int rows, T* to, int stride) {
  walk.over(rows, [&](int i, int r, int c) { to[r * stride + c] = from[i]; });
}

/// Copies (or adds) rows `stride` apart to global memory.
template <class T>
__device__ void put_rows(const RowWalk& walk, const T* from, int stride, int rows, T* to, bool add) {
  walk.over(rows, [&](int i, int r, int c) { to[i] = add ? to[i] + from[r * stride + c] : from[r * stride + c]; });
}

/// A thread's sums of weight gradients: item (k, u) is row k of the inputs times the gates of unit u. The block's
/// threads have up to Q items each.
template <class T, int H, int Q>
struct WeightSums {
  Gates<T> sums[Q];
  int items;

  __device__ explicit WeightSums(int item_count) : items(item_count) {}
  __device__ void clear() {
    for (Gates<T>& sum : sums) sum.clear();
  }
  /// Calls body(q, item) for this thread's items.
  template <class Body>
  __device__ void each(const Body& body) {
#pragma unroll
    for (int q = 0; q < Q; ++q) {
      const int item = static_cast<int>(threadIdx.x) + q * static_cast<int>(blockDim.x);
      if (item < items) body(q, item);
    }
  }
  /// Adds the terms of `count` vertices: in(v, k, g) times gradients[v * gradient_row + u].
  template <class In>
  __device__ void add(const Gates<T>* gradients, int count, const In& in) {
    each([&](int q, int item) {
      const int k = item / H, u = item % H;
      Gates<T> sum;
      sum.clear();
      for (int v = 0; v < count; ++v) {
        const Gates<T> d = gradients[v * HiddenLanes<H>::gradient_row + u];
        for (int g = 0; g < 4; ++g) sum.of[g] += in(v, k, g) * d.of[g];
      }
      for (int g = 0; g < 4; ++g) sums[q].of[g] += sum.of[g];
    });
  }
  /// Stores or adds the sums to the block's row of parts; place(k, u, g) is where, or negative.
  template <class Place>
  __device__ void flush(double* parts, std::int64_t stride, bool store, const Place& place) {
    double* const own = parts + static_cast<std::int64_t>(blockIdx.x) * stride;
    each([&](int q, int item) {
      for (int g = 0; g < 4; ++g) {
        const int at = place(item / H, item % H, g);
        if (at >= 0) own[at] = (store ? 0.0 : own[at]) + static_cast<double>(sums[q].of[g]);
      }
    });
    clear();
  }
};

/// Items a thread can hold.
template <int H>
inline constexpr int most_items = H == 16 ? 6 : 17;

/// Weights of an LSTM (`op` with w_x, w_h, bias and inputs) in shared memory: a row for each of x, h and the bias.
template <int H, class Op, class T>
__device__ void bring_lstm_weights(const Op& op, Gates<T>* weights) {
  const int rows = op.inputs + H + 1;
  for (int i = static_cast<int>(threadIdx.x); i < rows * H; i += static_cast<int>(blockDim.x)) {
    const int k = i / H, u = i % H;
    const T* from = k < op.inputs ? op.w_x + k * 4 * H : k < op.inputs + H ? op.w_h + (k - op.inputs) * 4 * H : op.bias;
    for (int g = 0; g < 4; ++g) weights[k * HiddenLanes<H>::weight_row + u].of[g] = from[g * H + u];
  }
}

/// Where row k of x, h and the bias lies in gate g's weights of a GRU, among w_x [3 F, H], w_h [3 H, H] and bias [3,
/// H].
template <int H>
__device__ int gru_row(int inputs, int k, int g) {
  return k < inputs ? g * inputs + k : k < inputs + H ? 3 * inputs + g * H + k - inputs : 3 * (inputs + H) + g;
}

/// Weights of a GRU; the fourth value of a unit is 0.
template <int H, class Op, class T>
__device__ void bring_gru_weights(const Op& op, Gates<T>* weights) {
  const int rows = op.inputs + H + 1;
  for (int i = static_cast<int>(threadIdx.x); i < rows * H; i += static_cast<int>(blockDim.x)) {
    const int k = i / H, u = i % H;
    Gates<T>& unit = weights[k * HiddenLanes<H>::weight_row + u];
    for (int g = 0; g < 3; ++g) {
      const T* from = k < op.inputs       ? op.w_x + (g * op.inputs + k) * H
                      : k < op.inputs + H ? op.w_h + (g * H + k - op.inputs) * H
                                          : op.bias + g * H;
      unit.of[g] = from[u];
    }
    unit.of[3] = T{0};
  }
}

/// with_width for the hidden widths that are compiled in. Narrower ones have recurrent_lanes.hpp.
template <class Body>
bool with_hidden(std::int64_t hidden, const Body& body) {
  return with_width<16, 32>(hidden, body);
}

}  // namespace strobe::cuda
