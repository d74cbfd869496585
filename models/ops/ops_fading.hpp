// Differentiable operations of the readings that TM-GCN's public code has (backends/operations/operations_fading.hpp).
#pragma once

#include "models/tape/tape.hpp"

namespace strobe {

/// y_t = sum over s in [t-w+1, t], s >= 0, of x_s / (t - s + 1), for x [steps * n, F].
Var fading_sum(Tape& tape, const Var& x, std::int64_t steps, std::int64_t window);

/// scale x where x > 0, else scale alpha (exp(x) - 1), with SELU's constants.
Var selu(Tape& tape, const Var& x);

}  // namespace strobe
