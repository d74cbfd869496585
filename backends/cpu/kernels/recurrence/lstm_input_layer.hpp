// The dense layer in front of a vector LSTM, relu([x | x w_in]) of a strip of turned values (vertex_strip.hpp): made
// where it is read, forward and once more backward, so that neither it nor its gradient passes through memory. Cost
// 2 f G FLOPs a cell forward, twice that backward and as much again for dx.
#pragma once

#include <algorithm>

#include "backends/cpu/kernels/dense/strip_sums.hpp"
#include "backends/cpu/kernels/dense/tile.hpp"
#include "backends/cpu/kernels/dense/vertex_strip.hpp"
#include "backends/operations/operations_recurrent.hpp"

namespace strobe::cpu {

/// w_in [f, G] packed; without one, the inputs are x and x_right as they are.
template <class T>
struct InputLayer {
  std::int64_t read = 0, made = 0;  // f and G; 0 without w_in
  Panel<T> forward, back;           // w_in^T [G, f] and w_in [f, G]

  template <class Op>
  explicit InputLayer(const Op& op) {
    if (!op.w_in.defined()) return;
    read = op.w_in.rows(), made = op.w_in.columns();
    const T* w = op.w_in.template data<T>();
    forward = make_panel<T>(made, read, [&](std::int64_t g, std::int64_t f) { return w[f * made + g]; });
    back = make_panel<T>(read, made, [&](std::int64_t f, std::int64_t g) { return w[f * made + g]; });
  }

  bool defined() const { return made > 0; }

  /// in [f + G][strip] from x [f][strip].
  void make(const T* x, T* in) const {
    constexpr int P = most_lanes<T>;
    multiply_panel<T>(forward, x, in + read * strip<T>, false);
    std::copy_n(x, read * strip<T>, in);
    for (std::int64_t i = 0; i < (read + made) * strip<T>; i += P)
      store_first<T, P>(in + i, relu<T, P>(load<T, P>(in + i)), P);
  }

  /// From din [f + G][strip], the gradient of `in`: its last G columns become those of x w_in, and with `wanted` its
  /// first f those of x; without it these are not read.
  void turn_back(const T* in, T* din, bool wanted) const {
    constexpr int P = most_lanes<T>;
    for (std::int64_t i = wanted ? 0 : read * strip<T>; i < (read + made) * strip<T>; i += P) {
      const Register<T> zero{}, value = load<T, P>(in + i), gradient = load<T, P>(din + i);
      store_first<T, P>(din + i, value > zero ? gradient : zero, P);
    }
    if (wanted) multiply_panel<T>(back, din + read * strip<T>, din, true);
  }
};

/// Turns rows [row, row + rows) of the operation's inputs into `in` [F][strip]: x and x_right side by side, or the
/// output of `layer` for x. With a layer `x` [f][strip] receives x itself; without, it is not touched.
template <class T, class Op>
void load_inputs(const Op& op, const InputLayer<T>& layer, std::int64_t row, std::int64_t rows, T* x, T* in) {
  const std::int64_t left = op.x.columns();
  load_turned(op.x.template data<T>() + row * left, left, left, rows, layer.defined() ? x : in);
  if (layer.defined()) return layer.make(x, in);
  if (!op.x_right.defined()) return;
  const std::int64_t right = op.x_right.columns();
  load_turned(op.x_right.template data<T>() + row * right, right, right, rows, in + left * strip<T>);
}

/// Whether the vector LSTM serves `op`: inputs are made only where the weights' gradients are summed from turned
/// values.
template <class Op>
bool serves_inputs(const Op& op) {
  return !op.w_in.defined() || (!op.gates.defined() && makes_inputs(op.w_in.rows(), op.w_in.columns(), op.w_h.rows()));
}

}  // namespace strobe::cpu
