#include "models/ops/ops_memory.hpp"

#include "backends/operations/operations_memory.hpp"

namespace strobe {
namespace {

Tensor same_shape(Tape& tape, const Tensor& x) { return tape.device().allocate(x.rows(), x.columns(), x.type()); }

}  // namespace

Var time_encoding(Tape& tape, const Tensor& dt, const Var& frequency, const Var& phase) {
  const Tensor y = tape.device().allocate(dt.rows(), frequency->value.columns());
  tape.device().run(TimeEncoding{dt, frequency->value, phase->value, y});
  return tape.record(y, {frequency, phase}, [&tape, dt, frequency, phase](const Variable& result) {
    tape.device().run(TimeEncodingBackward{dt, frequency->value, phase->value, result.gradient,
                                           tape.added_gradient(frequency), tape.added_gradient(phase)});
  });
}

Var gru_cell(Tape& tape, const Var& gi, const Var& gh, const Var& state) {
  const Tensor y = same_shape(tape, state->value);
  tape.device().run(GruCell{gi->value, gh->value, state->value, y});
  return tape.record(y, {gi, gh, state}, [&tape, gi, gh, state](const Variable& result) {
    const Tensor dgi = same_shape(tape, gi->value), dgh = same_shape(tape, gh->value);
    GruCellBackward back{gi->value, gh->value, state->value, result.gradient, dgi, dgh, {}};
    if (state->needs_gradient) {
      const GradientTarget dstate = tape.target(state);
      back.dstate = dstate.tensor;
      back.accumulate_dstate = dstate.accumulate;
    }
    tape.device().run(back);
    tape.add_gradient(gi, dgi);
    tape.add_gradient(gh, dgh);
  });
}

Var tanh_of(Tape& tape, const Var& x) {
  const Tensor y = same_shape(tape, x->value);
  tape.device().run(Tanh{x->value, y});
  return tape.record(y, {x}, [&tape, x](const Variable& result) {
    const GradientTarget dx = tape.target(x);
    tape.device().run(TanhBackward{result.value, result.gradient, dx.tensor, dx.accumulate});
  });
}

Var time_projection(Tape& tape, const Var& x, const Tensor& dt, const Var& slope, const Var& shift) {
  const Tensor y = same_shape(tape, x->value);
  tape.device().run(TimeProjection{x->value, dt, slope->value, shift->value, y});
  return tape.record(y, {x, slope, shift}, [&tape, x, dt, slope, shift](const Variable& result) {
    const GradientTarget dx = x->needs_gradient ? tape.target(x) : GradientTarget{};
    tape.device().run(TimeProjectionBackward{x->value, dt, slope->value, shift->value, result.gradient, dx.tensor,
                                             tape.added_gradient(slope), tape.added_gradient(shift), dx.accumulate});
  });
}

Var layer_norm(Tape& tape, const Var& x, const Var& gain, const Var& shift) {
  const Tensor y = same_shape(tape, x->value);
  tape.device().run(LayerNorm{x->value, gain->value, shift->value, y});
  return tape.record(y, {x, gain, shift}, [&tape, x, gain, shift](const Variable& result) {
    const GradientTarget dx = x->needs_gradient ? tape.target(x) : GradientTarget{};
    LayerNormBackward back{
        x->value, gain->value, result.gradient, dx.tensor, tape.added_gradient(gain), tape.added_gradient(shift)};
    back.accumulate_dx = dx.accumulate;
    tape.device().run(back);
  });
}

}  // namespace strobe
