// Shared by both passes of the GRU by rows: packed weights, and the gates of a block of vertices as rows [rows, 3 h].
#pragma once

#include <array>

#include "backends/cpu/kernels/recurrence/gru_panels.hpp"
#include "backends/cpu/kernels/recurrence/recurrent_rows.hpp"

namespace strobe::cpu {

/// w_x, w_h and the bias of every gate, packed for rows.
template <class T>
struct GruRowWeights {
  std::array<PackedColumns<T>, 3> x, h;
  std::array<const T*, 3> bias;

  template <class Op>
  GruRowWeights(const Op& op, const GruSizes& sizes) {
    for (std::size_t g = 0; g < 3; ++g) {
      const std::int64_t gate = g;
      const auto pack = [&](const Tensor& w, std::int64_t inner) {
        return PackedColumns<T>(w.data<T>() + gate * inner * sizes.hidden, inner, sizes.hidden);
      };
      x[g] = pack(op.w_x, sizes.inputs);
      h[g] = pack(op.w_h, sizes.hidden);
      bias[g] = op.bias.template data<T>() + gate * sizes.hidden;
    }
  }
};

/// A block of vertices: their rows of x [rows, columns], and of the state of the step before.
template <class T>
struct GruRowBlock {
  const T* x;
  std::int64_t rows;
  StateRows<T> h_before;
};

/// reset [rows, h] = r h of activated gates [rows, 3 h].
template <class T>
void reset_states(const GruRowBlock<T>& block, std::int64_t hidden, const T* gates, T* reset) {
  constexpr int P = most_lanes<T>;
  for (std::int64_t r = 0; r < block.rows; ++r, reset += hidden) {
    const T *own = gates + r * 3 * hidden, *before = block.h_before.row(r);
    for (std::int64_t i = 0; i < hidden; i += P)
      store_first<T, P>(reset + i, load<T, P>(own + i) * load<T, P>(before + i), P);
  }
}

/// The activated gates [rows, 3 h] of a block, and in `reset` [rows, h] r h.
template <class T>
void gates_of_rows(const GruSizes& sizes, const GruRowWeights<T>& weights, const GruRowBlock<T>& block,
                   LinesAhead& ahead, T* gates, T* reset) {
  const std::int64_t hidden = sizes.hidden, width = 3 * hidden;
  const auto sum = [&](int gate, const StateRows<T>& state) {
    const std::size_t g = gate;
    const std::array<RowSource<T>, 2> sources{
        {{block.x + gate * sizes.own, sizes.columns, &weights.x[g]}, {state.first, state.stride, &weights.h[g]}}};
    const std::size_t count = block.h_before.stride == 0 ? 1 : 2;  // zeros add nothing
    multiply_rows<T>(std::span<const RowSource<T>>(sources.data(), count), block.rows, ahead,
                     {gates + gate * hidden, width, hidden, false, weights.bias[g]});
  };
  sum(gru_reset, block.h_before);
  sum(gru_update, block.h_before);
  for (std::int64_t r = 0; r < block.rows; ++r) sigmoid_values<T>(gates + r * width, gates + r * width, 2 * hidden);
  reset_states(block, hidden, static_cast<const T*>(gates), reset);
  sum(gru_candidate, StateRows<T>{reset, hidden});
  for (std::int64_t r = 0; r < block.rows; ++r) {
    T* const candidate = gates + r * width + 2 * hidden;
    tanh_values<T>(candidate, candidate, hidden);
  }
}

}  // namespace strobe::cpu
