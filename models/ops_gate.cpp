#include "models/ops_gate.hpp"

#include "backends/operations_gate.hpp"

namespace strobe {
namespace {

Tensor like(Tape& tape, const Var& x) {
  return tape.device().allocate(x->value.rows(), x->value.columns(), x->value.type());
}

}  // namespace

Var sigmoid(Tape& tape, const Var& x) {
  const Tensor y = like(tape, x);
  tape.device().run(Sigmoid{x->value, y});
  return tape.record(y, {x}, [&tape, x](const Variable& result) {
    tape.device().run(SigmoidBackward{result.value, result.gradient, tape.added_gradient(x)});
  });
}

Var reset_state(Tape& tape, const Var& gates, const Var& state) {
  const Tensor reset = like(tape, state);
  tape.device().run(ResetState{gates->value, state->value, reset});
  return tape.record(reset, {gates, state}, [&tape, gates, state](const Variable& result) {
    tape.device().run(ResetStateBackward{gates->value, state->value, result.gradient, tape.added_gradient(gates),
                                         tape.added_gradient(state)});
  });
}

Var combine(Tape& tape, const Var& x, double p, const Var& y, double q) {
  const Tensor sum = like(tape, x);
  tape.device().run(Fill{sum, 0.0});
  tape.device().run(AddScaled{x->value, sum, p});
  tape.device().run(AddScaled{y->value, sum, q});
  return tape.record(sum, {x, y}, [&tape, x, p, y, q](const Variable& result) {
    if (x->needs_gradient) tape.device().run(AddScaled{result.gradient, tape.added_gradient(x), p});
    if (y->needs_gradient) tape.device().run(AddScaled{result.gradient, tape.added_gradient(y), q});
  });
}

Var blend_state(Tape& tape, const Var& gates, const Var& state, const Var& a) {
  const Tensor candidate = like(tape, state), next = like(tape, state);
  tape.device().run(BlendState{gates->value, state->value, a->value, candidate, next});
  return tape.record(next, {gates, state, a}, [&tape, gates, state, a, candidate](const Variable& result) {
    tape.device().run(BlendStateBackward{gates->value, state->value, candidate, result.gradient,
                                         tape.added_gradient(gates), tape.added_gradient(a),
                                         tape.added_gradient(state)});
  });
}

}  // namespace strobe
