// The gates of the vector LSTM: packed weights, and the activated gates of a strip of vertices (vertex_strip.hpp).
#pragma once

#include "backends/cpu/kernels/dense/vertex_strip.hpp"
#include "backends/cpu/kernels/lane_math.hpp"

namespace strobe::cpu {

/// Rows of the panels are gates: i, f, g, o of all hidden units, as in the operation.
template <class T, class Op>
GatePanels<T> lstm_panels(const Op& op) {
  const std::int64_t width = op.w_h.columns();
  const auto pack = [width](const Tensor& w) {
    const T* from = w.template data<T>();
    return make_panel<T>(width, w.rows(), [=](std::int64_t j, std::int64_t k) { return from[k * width + j]; });
  };
  return {pack(op.w_x), pack(op.w_h), op.bias.template data<T>()};
}

/// The gates of one hidden unit for one register of vertices.
template <class T>
struct Gates {
  Register<T> i, f, g, o;
};

/// The gates at `at` of turned values [4][stride].
template <class T>
[[gnu::always_inline]] inline Gates<T> load_gates(const T* at, std::int64_t stride) {
  constexpr int P = most_lanes<T>;
  return {load<T, P>(at), load<T, P>(at + stride), load<T, P>(at + 2 * stride), load<T, P>(at + 3 * stride)};
}

template <class T>
[[gnu::always_inline]] inline void store_gates(T* at, std::int64_t stride, const Gates<T>& gate) {
  constexpr int P = most_lanes<T>;
  store_first<T, P>(at, gate.i, P);
  store_first<T, P>(at + stride, gate.f, P);
  store_first<T, P>(at + 2 * stride, gate.g, P);
  store_first<T, P>(at + 3 * stride, gate.o, P);
}

/// The gates [4][stride] from their sums, in place.
template <class T>
void activate_gates(T* gates, std::int64_t stride) {
  sigmoid_values(gates, gates, 2 * stride);
  tanh_values(gates + 2 * stride, gates + 2 * stride, stride);
  sigmoid_values(gates + 3 * stride, gates + 3 * stride, stride);
}

/// The next states from activated gates [4][stride], turned or in the order of the rows; `cell` may be `before`.
template <class T>
void advance(const T* gates, const T* before, T* cell, T* h, std::int64_t stride) {
  constexpr int P = most_lanes<T>;
  for (std::int64_t at = 0; at < stride; at += P) {
    const Gates<T> gate = load_gates<T>(gates + at, stride);
    store_first<T, P>(cell + at, gate.f * load<T, P>(before + at) + gate.i * gate.g, P);
  }
  tanh_values<T>(cell, h, stride);
  for (std::int64_t at = 0; at < stride; at += P)
    store_first<T, P>(h + at, load<T, P>(gates + 3 * stride + at) * load<T, P>(h + at), P);
}

/// Values [stride] of units that the gates' gradients come from and go to, turned or in the order of the rows; gates
/// and dz [4][stride].
template <class T>
struct LstmBack {
  const T* dh;
  T *dc, *dz;
  const T *gates, *dy, *cell, *before;
};

/// dz of all units, and in dc the gradient of c_{t-1}.
template <class T>
void gate_gradients(const LstmBack<T>& s, std::int64_t stride) {
  constexpr int P = most_lanes<T>;
  tanh_values<T>(s.cell, s.dz, stride);  // in the place where dz of the first gate goes later
  for (std::int64_t at = 0; at < stride; at += P) {
    const Gates<T> gate = load_gates<T>(s.gates + at, stride);
    const Register<T> squashed = load<T, P>(s.dz + at);
    const Register<T> d = load<T, P>(s.dh + at) + load<T, P>(s.dy + at);
    const Register<T> dcell = load<T, P>(s.dc + at) + d * gate.o * (T{1} - squashed * squashed);
    store_gates<T>(
        s.dz + at, stride,
        {dcell * gate.g * gate.i * (T{1} - gate.i), dcell * load<T, P>(s.before + at) * gate.f * (T{1} - gate.f),
         dcell * gate.i * (T{1} - gate.g * gate.g), d * squashed * gate.o * (T{1} - gate.o)});
    store_first<T, P>(s.dc + at, dcell * gate.f, P);
  }
}

}  // namespace strobe::cpu
