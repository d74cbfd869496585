#include "models/ops/ops_gate.hpp"

#include "backends/operations/operations_gate.hpp"

namespace strobe {
namespace {

Tensor like(Tape& tape, const Var& x) {
  return tape.device().allocate(x->value.rows(), x->value.columns(), x->value.type());
}

}  // namespace

GruGateVars gru_gates(Tape& tape, const Var& a, const Var& state) {
  const Tensor r = like(tape, state), u = like(tape, state), reset = like(tape, state);
  tape.device().run(GruGates{a->value, state->value, r, u, reset});
  // Two results of one operation. The gradient of `reset` is complete when the tape reaches the record of `update`,
  // because every reader of either result is recorded after both.
  const bool needs = tape.recording() && (a->needs_gradient || state->needs_gradient);
  GruGateVars result{nullptr, std::make_shared<Variable>(Variable{reset, {}, needs})};
  result.update = tape.record(u, {a, state}, [&tape, a, state, r, reset = result.reset](const Variable& update) {
    GruGatesBackward back{r, update.value, state->value, reset->gradient, update.gradient, {}, {}};
    const GradientTarget da = tape.target(a);
    back.da = da.tensor;
    back.accumulate_da = da.accumulate;
    if (state->needs_gradient && back.dreset.defined()) {
      const GradientTarget dstate = tape.target(state);
      back.dstate = dstate.tensor;
      back.accumulate_dstate = dstate.accumulate;
    }
    tape.device().run(back);
    reset->gradient = Tensor();
  });
  return result;
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

Var blend_state(Tape& tape, const Var& update, const Var& state, const Var& a) {
  const Tensor candidate = like(tape, state), next = like(tape, state);
  tape.device().run(BlendState{update->value, state->value, a->value, candidate, next});
  return tape.record(next, {update, state, a}, [&tape, update, state, a, candidate](const Variable& result) {
    const GradientTarget du = tape.target(update), da = tape.target(a);
    const GradientTarget dstate = state->needs_gradient ? tape.target(state) : GradientTarget{};
    tape.device().run(BlendStateBackward{update->value, state->value, candidate, result.gradient, du.tensor, da.tensor,
                                         dstate.tensor, du.accumulate, da.accumulate, dstate.accumulate});
  });
}

}  // namespace strobe
