// An LSTM and a GRU for the kernels of lanes, forward and backward: weights, staged rows, and the gates computed from
// both. lane_sequence.hpp and lane_sequence_backward.hpp hold the code that is the same for both.
#pragma once

#include "backends/cuda/kernels/recurrence/recurrent_lanes.hpp"

namespace strobe::cuda {

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

/// A staged row of a GRU: the gates' inputs, h from a whole vector on, and r h.
template <class Sizes>
struct GruRow {
  static constexpr int h = (3 * Sizes::inputs + 3) / 4 * 4, reset = h + Sizes::hidden;
  static constexpr int values = (reset + Sizes::hidden + 3) / 4 * 4;
};

/// A lane's elements `x` to the staged rows, three times where gates share them.
template <class Sizes, class T, class Op, int J>
__device__ void stage_gru_inputs(const Op& op, const LaneElements<J>& elements, const T* x, T* rows) {
  elements.each(Sizes::vertices * op.columns, [&](int j, int at) { rows[at] = x[j]; });
  if (op.own_inputs()) return;
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

/// A staged row of an LSTM: inputs and h.
template <class Sizes>
struct LstmRow {
  static constexpr int h = Sizes::inputs, values = h + Sizes::state;
};

/// Gates of an LSTM from the sums of their terms.
template <class T>
__device__ void activate_lstm(Gates<T>& gate) {
  for (int g = 0; g < 4; ++g) gate.of[g] = g == 2 ? quick_squash_both(gate.of[g]) : quick_squash<1>(gate.of[g]);
}

struct LstmLanes {
  static constexpr bool has_cells = true;
  static constexpr int gates = 4, copied = 1;  // `copied`: gates that may have inputs of their own
  template <class Sizes>
  using Row = LstmRow<Sizes>;

  template <class Op>
  static bool serves(const Op& op) {
    return op.x.columns() > 0 && op.x.columns() <= narrow_inputs && op.w_h.rows() <= narrow_hidden &&
           !op.x_right.defined() && !op.w_in.defined();
  }
  template <class Sizes, class Arrays>
  __device__ static auto weight(const Arrays& op, int k, int u, int g) {
    return lstm_weight<Sizes>(op, k, u, g);
  }
  /// Columns of x, which are the inputs of every gate.
  template <class Arrays>
  __device__ static int columns(const Arrays& op) {
    return op.inputs;
  }
  /// Values between the inputs of two gates in a staged row.
  template <class Sizes>
  static constexpr int padded = 0;

  template <class Sizes, class T, class Arrays, int J>
  __device__ static void stage_inputs(const Arrays& op, const LaneElements<J>& elements, const T* x, T* rows) {
    elements.each(Sizes::vertices * op.inputs, [&](int j, int at) { rows[at] = x[j]; });
  }
  /// Calls body(LaneSizes<F, H>) with the sizes that were made for the operation's: in fp32 those of the models.
  template <class T, class Body>
  static void with_sizes(std::int64_t inputs, std::int64_t hidden, const Body& body) {
    if constexpr (sizeof(T) == 4) {
      if (hidden <= 6 && inputs <= 8) return body(LaneSizes<8, 6>{});
      if (hidden <= 6 && inputs <= 12) return body(LaneSizes<12, 6>{});
    }
    body(LaneSizes<narrow_inputs, narrow_hidden>{});
  }
};

struct GruLanes {
  static constexpr bool has_cells = false;
  static constexpr int gates = 3, copied = 3;
  template <class Sizes>
  using Row = GruRow<Sizes>;

  template <class Op>
  static bool serves(const Op& op) {
    return op.x.columns() > 0 && op.w_x.rows() / 3 <= narrow_inputs && op.w_h.columns() <= narrow_hidden;
  }
  template <class Sizes, class Arrays>
  __device__ static auto weight(const Arrays& op, int k, int u, int g) {
    return gru_weight<Sizes>(op, k, u, g);
  }
  template <class Arrays>
  __device__ static int columns(const Arrays& op) {
    return op.columns;
  }
  template <class Sizes>
  static constexpr int padded = Sizes::inputs;

  template <class Sizes, class T, class Arrays, int J>
  __device__ static void stage_inputs(const Arrays& op, const LaneElements<J>& elements, const T* x, T* rows) {
    stage_gru_inputs<Sizes>(op, elements, x, rows);
  }
  /// As of an LSTM; `Widest` where no others fit.
  template <class T, class Widest, class Body>
  static void with_sizes_up_to(std::int64_t inputs, std::int64_t hidden, const Body& body) {
    if constexpr (sizeof(T) == 4) {
      if (hidden <= 6 && inputs <= 6) return body(LaneSizes<6, 6>{});
      if (hidden <= 6 && inputs <= 8) return body(LaneSizes<8, 6>{});
    }
    body(Widest{});
  }
};

}  // namespace strobe::cuda
