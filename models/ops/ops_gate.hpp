// Differentiable parts of one GRU step that stay within a row (backends/operations/operations_gate.hpp).
#pragma once

#include "models/tape/tape.hpp"

namespace strobe {

/// Both gates of a GRU. `update` [R, h] is to be handed to blend_state. `reset` = r * state [R, h]. r and u are the
/// sigmoids of the first and of the last h columns of a [R, 2 h]. Every reader of `reset` must be recorded after this
/// call. `update` must be read, otherwise neither gate gets a gradient.
struct GruGateVars {
  Var update, reset;
};
GruGateVars gru_gates(Tape& tape, const Var& a, const Var& state);

/// p * x + q * y, same shape.
Var combine(Tape& tape, const Var& x, double p, const Var& y, double q);

/// u * state + (1 - u) * tanh(a), [R, h].
Var blend_state(Tape& tape, const Var& update, const Var& state, const Var& a);

}  // namespace strobe
