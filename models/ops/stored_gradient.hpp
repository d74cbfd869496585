// Gradients from operations that store their result, and from those that always compute them.
#pragma once

#include "models/tape/tape.hpp"

namespace strobe {

/// Where an operation that stores its result puts the gradient of `input`: into the gradient itself where it is the
/// first to reach it; else beside it, from where settle() adds it. What needs no gradient gets a place that is thrown
/// away.
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

/// What is added to for the gradient of `input`; a place that is thrown away where it needs none.
inline Tensor added_or_ignored(Tape& tape, const Var& input) {
  const Tensor &gradient = tape.added_gradient(input), &like = input->value;
  return gradient.defined() ? gradient : tape.device().allocate(like.rows(), like.columns(), like.type());
}

}  // namespace strobe
