// Gates of a recurrence whose products read other vertices' states, so that its steps cannot be fused into one
// operation (DCRNN, T-GCN with the convolution of [x, h]): everything of one GRU step that stays within a row. Shapes
// in brackets; R rows, h state width. Gate columns: r first, then u.
#pragma once

#include "backends/operations.hpp"

namespace strobe {

/// y = 1 / (1 + exp(-x)), [R, F].
struct Sigmoid {
  static constexpr std::string_view name = "sigmoid";
  Tensor x, y;
  Work work() const {
    using namespace operations_detail;
    return {4.0 * count(x.elements()), bytes_of(x), bytes_of(y)};
  }
};

/// dx += dy y (1 - y).
struct SigmoidBackward {
  static constexpr std::string_view name = "sigmoid_backward";
  Tensor y, dy, dx;
  Work work() const {
    using namespace operations_detail;
    return {4.0 * count(y.elements()), 3.0 * bytes_of(y), bytes_of(dx)};
  }
};

/// reset[R, h] = r * state, r the first h columns of gates[R, 2 h].
struct ResetState {
  static constexpr std::string_view name = "reset_state";
  Tensor gates, state, reset;
  Work work() const {
    using namespace operations_detail;
    return {count(state.elements()), 2.0 * bytes_of(state), bytes_of(reset)};
  }
};

/// dr += dreset * state in the first h columns of dgates; dstate += dreset * r when dstate is defined.
struct ResetStateBackward {
  static constexpr std::string_view name = "reset_state_backward";
  Tensor gates, state, dreset, dgates, dstate;
  Work work() const {
    using namespace operations_detail;
    const double one = bytes_of(state), outputs = dstate.defined() ? 2.0 : 1.0;
    return {2.0 * outputs * count(state.elements()), (3.0 + outputs) * one, outputs * one};
  }
};

/// candidate = tanh(a); next = u * state + (1 - u) * candidate, u the last h columns of gates[R, 2 h].
struct BlendState {
  static constexpr std::string_view name = "blend_state";
  Tensor gates, state, a, candidate, next;
  Work work() const {
    using namespace operations_detail;
    return {10.0 * count(state.elements()), 3.0 * bytes_of(state), 2.0 * bytes_of(next)};
  }
};

/// du += dnext * (state - candidate) in the last h columns of dgates; da += dnext * (1 - u) * (1 - candidate^2);
/// dstate += dnext * u when dstate is defined.
struct BlendStateBackward {
  static constexpr std::string_view name = "blend_state_backward";
  Tensor gates, state, candidate, dnext, dgates, da, dstate;
  Work work() const {
    using namespace operations_detail;
    const double one = bytes_of(state), outputs = dstate.defined() ? 3.0 : 2.0;
    return {9.0 * count(state.elements()), (4.0 + outputs) * one, outputs * one};
  }
};

}  // namespace strobe
