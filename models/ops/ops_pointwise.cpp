#include "models/ops/ops_pointwise.hpp"

#include "core/errors.hpp"
#include "models/ops/ops.hpp"
#include "models/ops/ops_attention.hpp"

namespace strobe {

Var pointwise(Tape& tape, const Var& x, Curve curve, double p, double q) {
  if (p < 0 && (curve == Curve::leaky_relu || curve == Curve::elu)) throw Error("pointwise: this curve needs p >= 0");
  const Tensor y = tape.device().allocate(x->value.rows(), x->value.columns(), x->value.type());
  tape.device().run(Pointwise{x->value, y, curve, p, q});
  return tape.record(y, {x}, [&tape, x, curve, p](const Variable& result) {
    const GradientTarget dx = tape.target(x);
    tape.device().run(PointwiseBackward{result.value, result.gradient, dx.tensor, curve, p, dx.accumulate});
  });
}

Var multiply(Tape& tape, const Var& x, const Var& z) {
  const Tensor y = tape.device().allocate(x->value.rows(), x->value.columns(), x->value.type());
  tape.device().run(Multiply{x->value, z->value, y});
  return tape.record(y, {x, z}, [&tape, x, z](const Variable& result) {
    const auto flow = [&](const Var& to, const Var& other) {
      if (!to->needs_gradient) return;
      const GradientTarget target = tape.target(to);
      tape.device().run(Multiply{result.gradient, other->value, target.tensor, target.accumulate});
    };
    flow(x, z);
    flow(z, x);
  });
}

Var add_row(Tape& tape, const Var& x, const Var& row) {
  const Tensor ones = tape.device().allocate(x->value.rows(), 1, x->value.type());
  tape.device().run(Fill{ones, 1.0});
  return sum_of(tape, dense(tape, Tape::constant(ones), row, nullptr, Activation::none), x);
}

}  // namespace strobe
