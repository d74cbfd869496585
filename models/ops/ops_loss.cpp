#include "models/ops/ops_loss.hpp"

#include "backends/operations/operations_loss.hpp"
#include "models/ops/ops.hpp"

namespace strobe {

void add_loss(Tape& tape, Loss kind, const Var& outputs, const LossTargets& targets, double scale, const Tensor& loss) {
  if (kind == Loss::cross_entropy && !targets.weight.defined()) {
    softmax_cross_entropy(tape, outputs, targets.label, scale, loss);
    return;
  }
  const GradientTarget gradient = tape.target(outputs);
  if (gradient.accumulate) throw Error("add_loss: these outputs already have a gradient");
  if (kind == Loss::cross_entropy) {
    tape.device().run(
        WeightedCrossEntropy{outputs->value, targets.label, targets.weight, gradient.tensor, loss, scale});
  } else {
    tape.device().run(MeanSquaredError{outputs->value, targets.value, gradient.tensor, loss, scale});
  }
}

}  // namespace strobe
