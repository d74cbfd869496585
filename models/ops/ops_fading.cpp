#include "models/ops/ops_fading.hpp"

#include "backends/operations/operations_fading.hpp"

namespace strobe {

Var fading_sum(Tape& tape, const Var& x, std::int64_t steps, std::int64_t window) {
  const Tensor y = tape.device().allocate(x->value.rows(), x->value.columns(), x->value.type());
  tape.device().run(FadingSum{x->value, y, steps, window, false, false});
  return tape.record(y, {x}, [&tape, x, steps, window](const Variable& result) {
    const GradientTarget target = tape.target(x);
    tape.device().run(FadingSum{result.gradient, target.tensor, steps, window, true, target.accumulate});
  });
}

Var selu(Tape& tape, const Var& x) {
  const Tensor y = tape.device().allocate(x->value.rows(), x->value.columns(), x->value.type());
  tape.device().run(Selu{x->value, y});
  return tape.record(y, {x}, [&tape, x](const Variable& result) {
    const GradientTarget target = tape.target(x);
    tape.device().run(SeluBackward{result.value, result.gradient, target.tensor, target.accumulate});
  });
}

}  // namespace strobe
