#include "models/ops_gate.hpp"

#include "backends/operations_gate.hpp"

namespace strobe {
namespace {

/// The gradient of `input` to add to: zero where nothing reached it yet; undefined when it needs none.
Tensor added_gradient(Tape& tape, const Var& input) {
  if (!input->needs_gradient) return {};
  const GradientTarget target = tape.target(input);
  if (!target.accumulate) tape.device().run(Fill{target.tensor, 0.0});
  return target.tensor;
}

Tensor like(Tape& tape, const Var& x) {
  return tape.device().allocate(x->value.rows(), x->value.columns(), x->value.type());
}

}  // namespace

Var sigmoid(Tape& tape, const Var& x) {
  const Tensor y = like(tape, x);
  tape.device().run(Sigmoid{x->value, y});
  return tape.record(y, {x}, [&tape, x](const Variable& result) {
    tape.device().run(SigmoidBackward{result.value, result.gradient, added_gradient(tape, x)});
  });
}

Var reset_state(Tape& tape, const Var& gates, const Var& state) {
  const Tensor reset = like(tape, state);
  tape.device().run(ResetState{gates->value, state->value, reset});
  return tape.record(reset, {gates, state}, [&tape, gates, state](const Variable& result) {
    tape.device().run(ResetStateBackward{gates->value, state->value, result.gradient, added_gradient(tape, gates),
                                         added_gradient(tape, state)});
  });
}

Var combine(Tape& tape, const Var& x, double p, const Var& y, double q) {
  const Tensor sum = like(tape, x);
  tape.device().run(Fill{sum, 0.0});
  tape.device().run(AddScaled{x->value, sum, p});
  tape.device().run(AddScaled{y->value, sum, q});
  return tape.record(sum, {x, y}, [&tape, x, p, y, q](const Variable& result) {
    if (x->needs_gradient) tape.device().run(AddScaled{result.gradient, added_gradient(tape, x), p});
    if (y->needs_gradient) tape.device().run(AddScaled{result.gradient, added_gradient(tape, y), q});
  });
}

Var blend_state(Tape& tape, const Var& gates, const Var& state, const Var& a) {
  const Tensor candidate = like(tape, state), next = like(tape, state);
  tape.device().run(BlendState{gates->value, state->value, a->value, candidate, next});
  return tape.record(next, {gates, state, a}, [&tape, gates, state, a, candidate](const Variable& result) {
    tape.device().run(BlendStateBackward{gates->value, state->value, candidate, result.gradient,
                                         added_gradient(tape, gates), added_gradient(tape, a),
                                         added_gradient(tape, state)});
  });
}

}  // namespace strobe
