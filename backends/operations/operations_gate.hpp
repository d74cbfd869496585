// Gates of a recurrence whose products read other vertices' states, so that its steps cannot be fused into one
// operation (DCRNN, T-GCN with the convolution of [x, h]): everything of one GRU step that stays within a row. Shapes
// in brackets; R rows, h state width. Columns of both gates: r first, then u.
#pragma once

#include "backends/operations/operations.hpp"

namespace strobe {

/// r, u = sigmoid of the first and of the last h columns of a[R, 2 h]; reset[R, h] = r * state[R, h].
struct GruGates {
  static constexpr std::string_view name = "gru_gates";
  Tensor a, state, r, u, reset;
  Work work() const {
    using namespace operations_detail;
    return {9.0 * count(state.elements()), bytes_of(a) + bytes_of(state), 3.0 * bytes_of(state)};
  }
};

/// da[R, 2 h] (+)= [dreset * state * r (1 - r) | du * u (1 - u)], its first half 0 when dreset is undefined;
/// dstate (+)= dreset * r when both are defined. Added where accumulate_... says so.
struct GruGatesBackward {
  static constexpr std::string_view name = "gru_gates_backward";
  Tensor r, u, state, dreset, du, da, dstate;
  bool accumulate_da = false, accumulate_dstate = false;
  Work work() const {
    using namespace operations_detail;
    const double one = bytes_of(u), values = count(u.elements());
    Work sum{3.0 * values, 2.0 * one, 2.0 * one};
    if (accumulate_da) sum.flops += 2.0 * values, sum.bytes_read += 2.0 * one;
    if (!dreset.defined()) return sum;
    sum.flops += 4.0 * values, sum.bytes_read += 3.0 * one;
    if (!dstate.defined()) return sum;
    sum.flops += (accumulate_dstate ? 2.0 : 1.0) * values, sum.bytes_written += one;
    if (accumulate_dstate) sum.bytes_read += one;
    return sum;
  }
};

/// candidate = tanh(a); next = u * state + (1 - u) * candidate, [R, h] each.
struct BlendState {
  static constexpr std::string_view name = "blend_state";
  Tensor u, state, a, candidate, next;
  Work work() const {
    using namespace operations_detail;
    return {10.0 * count(state.elements()), 3.0 * bytes_of(state), 2.0 * bytes_of(next)};
  }
};

/// du (+)= dnext * (state - candidate); da (+)= dnext * (1 - u) * (1 - candidate^2); dstate (+)= dnext * u when dstate
/// is defined. Added where accumulate_... says so.
struct BlendStateBackward {
  static constexpr std::string_view name = "blend_state_backward";
  Tensor u, state, candidate, dnext, du, da, dstate;
  bool accumulate_du = false, accumulate_da = false, accumulate_dstate = false;
  Work work() const {
    using namespace operations_detail;
    const double one = bytes_of(state), outputs = dstate.defined() ? 3.0 : 2.0;
    const double added =
        (accumulate_du ? 1.0 : 0.0) + (accumulate_da ? 1.0 : 0.0) + (dstate.defined() && accumulate_dstate ? 1.0 : 0.0);
    return {(4.0 + outputs + added) * count(state.elements()), (4.0 + added) * one, outputs * one};
  }
};

}  // namespace strobe
