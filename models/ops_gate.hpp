// Differentiable parts of one GRU step that stay within a row (backends/operations_gate.hpp).
#pragma once

#include "models/tape.hpp"

namespace strobe {

/// 1 / (1 + exp(-x)).
Var sigmoid(Tape& tape, const Var& x);

/// r * state [R, h], r the first h columns of gates [R, 2 h].
Var reset_state(Tape& tape, const Var& gates, const Var& state);

/// p * x + q * y, same shape.
Var combine(Tape& tape, const Var& x, double p, const Var& y, double q);

/// u * state + (1 - u) * tanh(a), [R, h], u the last h columns of gates [R, 2 h].
Var blend_state(Tape& tape, const Var& gates, const Var& state, const Var& a);

}  // namespace strobe
