// Differentiable recurrences over all steps of a block of timelines. x is time-major, [steps * n, F]. A recurrence that
// starts in the middle of its timelines is given the state of the step before; what it hands on has the same shape.
#pragma once

#include "models/tape/tape.hpp"

namespace strobe {

/// y [steps * n, h] and, when requested, the state after the last step.
struct Recurrence {
  Var y;
  Var state;
};

/// Where the pieces of packed sequences begin and end (operations_recurrent.hpp): x is [steps * n, F] of n bins.
struct PackedSequences {
  Tensor restarts;         // i32 [steps * n, 1]
  Tensor ends, last_rows;  // i32 [steps * n, 1], i64 [E, 1]: pieces that hand their state on, by row and row by piece
};

/// LSTM (backends/operations/operations_recurrent.hpp): w_x [F, 4 h], w_h [h, 4 h], bias [1, 4 h], gates i, f, g, o.
/// `start` [2 n, h] has the hidden state above the cell state, or is null for zero; the state handed on has the same
/// layout. `x` is one or two parts side by side, of F columns together; throws Error for more. With packed sequences,
/// start has a row (twice) for each piece that is given a state. The state handed on has one for each piece that hands
/// its own on.
Recurrence lstm_sequence(Tape& tape, const std::vector<Var>& x, const Var& w_x, const Var& w_h, const Var& bias,
                         std::int64_t steps, const Var& start, bool want_state, const PackedSequences& packed = {});

/// The same with inputs relu([x | x w_in]) of x [steps * n, f], w_in [f, G] and w_x [f + G, 4 h]. A narrow LSTM
/// computes these inputs itself where the device reads inputs in place; elsewhere a skip_dense computes them first.
Recurrence skip_lstm_sequence(Tape& tape, const Var& x, const Var& w_in, const Var& w_x, const Var& w_h,
                              const Var& bias, std::int64_t steps, const Var& start, bool want_state,
                              const PackedSequences& packed = {});

/// GRU with the reset before the product (backends/operations/operations_recurrent.hpp): x [steps * n, 3 F] or [steps *
/// n, F], w_x [3 F, h], w_h [3 h, h], bias [3, h], gates r, z, n. `start` [n, h] or null for zero. Packed sequences as
/// of an LSTM.
Recurrence gru_sequence(Tape& tape, const Var& x, const Var& w_x, const Var& w_h, const Var& bias, std::int64_t steps,
                        const Var& start, bool want_state, const PackedSequences& packed = {});

}  // namespace strobe
