// Differentiable operations on column blocks. Shapes in brackets.
#pragma once

#include <vector>

#include "models/tape/tape.hpp"

namespace strobe {

/// activation([left | x w]): a dense layer next to columns that are passed through. left [R, L] (may be x), x [R, F], w
/// [F, G].
Var skip_dense(Tape& tape, const Var& left, const Var& x, const Var& w, Activation activation);

/// activation([x_1 w_1 + b_1 | ... | x_K w_K + b_K]) for K blocks of columns of x [R, K F]; w [K F, G], bias [K, G] or
/// null.
Var block_dense(Tape& tape, const Var& x, const Var& w, const Var& bias, std::int64_t blocks, Activation activation);

/// The parts side by side: [R, sum of widths]. Throws Error when one that needs a gradient is there twice.
Var concat_columns(Tape& tape, const std::vector<Var>& parts);

/// [parts side by side] w + bias for parts [R, F_i], w [sum of F_i, G], bias [1, G] or null. Throws Error when a part
/// that needs a gradient is there twice. The parts are read where they are; on a GPU more than 16 of a wide layer are
/// joined first.
Var joined_dense(Tape& tape, const std::vector<Var>& parts, const Var& w, const Var& bias);

/// Each of the K blocks of rows of x [K R, C] transposed, one below the other: [K C, R].
Var transpose_blocks(Tape& tape, const Var& x, std::int64_t blocks);

/// Columns [first, first + width) of x.
Var slice_columns(Tape& tape, const Var& x, std::int64_t first, std::int64_t width);

}  // namespace strobe
