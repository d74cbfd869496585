// Differentiable operations on every value by itself (backends/operations/operations_pointwise.hpp).
#pragma once

#include "backends/operations/operations_pointwise.hpp"
#include "models/tape/tape.hpp"

namespace strobe {

/// curve(x), same shape. Throws Error for a leaky_relu or an elu with p < 0, whose slope does not follow from its
/// result.
Var pointwise(Tape& tape, const Var& x, Curve curve, double p = 1, double q = 0);

/// x * z, value by value; x and z may be the same.
Var multiply(Tape& tape, const Var& x, const Var& z);

/// x[R, F] + row[1, F] in every row.
Var add_row(Tape& tape, const Var& x, const Var& row);

}  // namespace strobe
