// Differentiable operations of models of events that stay within a row (backends/operations/operations_memory.hpp).
#pragma once

#include "models/tape/tape.hpp"

namespace strobe {

/// cos(dt[R, 1] frequency[1, D] + phase[1, D]), [R, D]. Nothing flows back into dt.
Var time_encoding(Tape& tape, const Tensor& dt, const Var& frequency, const Var& phase);

/// One step of a GRU from the input's and the state's products, biases included: gi, gh [R, 3 h], state [R, h], gates
/// r, z, n; result [R, h].
Var gru_cell(Tape& tape, const Var& gi, const Var& gh, const Var& state);

/// tanh(x), same shape.
Var tanh_of(Tape& tape, const Var& x);

/// x (1 + dt[R, 1] slope[1, h] + shift[1, h]), [R, h].
Var time_projection(Tape& tape, const Var& x, const Tensor& dt, const Var& slope, const Var& shift);

/// gain (x - mean) / sqrt(variance + 1e-5) + shift over each row of x [R, F]; gain, shift [1, F].
Var layer_norm(Tape& tape, const Var& x, const Var& gain, const Var& shift);

}  // namespace strobe
