// The gates of the vector GRU, one gate of a strip of vertices at a time (vertex_strip.hpp).
#pragma once

#include "backends/cpu/kernels/dense/vertex_strip.hpp"
#include "backends/cpu/kernels/lane_math.hpp"
#include "backends/cpu/kernels/recurrence/recurrent_sums.hpp"

namespace strobe::cpu {

/// Gates in the order of the operation.
enum GruGate : int { gru_reset, gru_update, gru_candidate };

/// The sizes of an operation and its weights.
template <class T>
struct GruPanels : GruSizes {
  GatePanels<T> gate[3];

  template <class Op>
  explicit GruPanels(const Op& op) : GruSizes(op) {
    for (int g = 0; g < 3; ++g) {
      const auto pack = [&, g](const Tensor& w, std::int64_t inner) {
        const T* from = w.template data<T>() + g * inner * hidden;
        return make_panel<T>(hidden, inner, [=, this](std::int64_t u, std::int64_t k) { return from[k * hidden + u]; });
      };
      gate[g] = {pack(op.w_x, inputs), pack(op.w_h, hidden), op.bias.template data<T>() + g * hidden};
    }
  }
};

/// out [h][strip] = the activated gate g from x [columns][strip] and state [h][strip], all turned.
template <class T>
void activate_gate(const GruPanels<T>& panels, int g, const T* x, const T* state, T* out) {
  sum_gates(panels.gate[g], x + g * panels.own * strip<T>, state, out);
  const std::int64_t count = panels.hidden * strip<T>;
  g == gru_candidate ? tanh_values<T>(out, out, count) : sigmoid_values<T>(out, out, count);
}

/// to = change(a, b) for every register of `count` turned rows.
template <class T, class Change>
[[gnu::always_inline]] inline void combine(std::int64_t count, const T* a, const T* b, T* to, const Change& change) {
  constexpr int P = most_lanes<T>;
  for (std::int64_t i = 0; i < count * strip<T>; i += P) {
    store_first<T, P>(to + i, change(load<T, P>(a + i), load<T, P>(b + i)), P);
  }
}

/// The three activated gates [3 h][strip] of a strip, and r h in `reset` [h][strip].
template <class T>
void activate_gates(const GruPanels<T>& panels, const T* x, const T* h, T* gates, T* reset) {
  const std::int64_t size = panels.hidden * strip<T>;
  activate_gate(panels, gru_reset, x, h, gates);
  activate_gate(panels, gru_update, x, h, gates + size);
  combine(panels.hidden, static_cast<const T*>(gates), h, reset, [](auto r, auto state) { return r * state; });
  activate_gate(panels, gru_candidate, x, static_cast<const T*>(reset), gates + 2 * size);
}

}  // namespace strobe::cpu
