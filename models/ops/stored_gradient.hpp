// Gradients of operations that store their result, and of those that always compute it.
#pragma once

#include "models/tape/tape.hpp"

namespace strobe {

/// The place where an operation that stores its result puts the gradient of `input`. The first such operation writes
/// the gradient itself. Later ones write a separate tensor, which settle() adds to it. An input that needs no gradient
/// gets a place that is thrown away.
struct StoredGradient {
  Tensor tensor;
  GradientTarget target;

  StoredGradient(Tape& tape, const Var& input) {
    if (input->needs_gradient) target = tape.target(input);
    const Tensor& like = input->value;
    const bool beside = target.accumulate || !input->needs_gradient;
    tensor = beside ? tape.device().allocate(like.rows(), like.columns(), like.type()) : target.tensor;
  }
  void settle(Device& device) const {
    if (target.accumulate) device.run(AddScaled{tensor, target.tensor, 1.0});
  }
};

/// The tensor to which the gradient of `input` is added; one that is thrown away where the input needs none.
inline Tensor added_or_ignored(Tape& tape, const Var& input) {
  const Tensor &gradient = tape.added_gradient(input), &like = input->value;
  return gradient.defined() ? gradient : tape.device().allocate(like.rows(), like.columns(), like.type());
}

}  // namespace strobe
