// The losses of tasks as ends of the tape: each starts the backward pass by setting the gradient of its argument.
#pragma once

#include "models/tape/tape.hpp"

namespace strobe {

/// The loss that a task minimises over its training samples.
enum class Loss {
  cross_entropy,  // softmax cross-entropy of the label, weighted by sample when there are weights
  squared_error,  // (output - value)^2
};

/// The targets of one rank's samples. `weight` is undefined when all samples count equally.
struct LossTargets {
  Tensor label;   // i32 [S, 1], for cross_entropy
  Tensor weight;  // [S, 1] of the device's precision, or undefined
  Tensor value;   // [S, 1] of the device's precision, for squared_error
};

/// Adds the samples' losses times `scale` to `loss` (f64 [1, 1]) and sets the gradient of `outputs` [S, C] (C = 1 for
/// squared_error). Throws Error when `outputs` has a gradient already.
void add_loss(Tape& tape, Loss kind, const Var& outputs, const LossTargets& targets, double scale, const Tensor& loss);

}  // namespace strobe
