#include "models/ops/ops_statistics.hpp"

#include <functional>
#include <memory>

#include "backends/operations/operations_statistics.hpp"

namespace strobe {
namespace {

/// The gradient of a normalised x, filled in by the stages of the backward pass on their way to the first one, which
/// runs it: only there the gradients of both sums are known from all ranks.
using InputGradient = std::shared_ptr<StandardiseInputBackward>;

/// Per step the sums over this rank's rows of x, or of its squared deviations from totals / N. The records of both have
/// x as an input though the first alone adds to its gradient.
Var step_sums(Tape& tape, const Var& x, const Tensor& totals, const CellRows& cells,
              std::function<void(const Variable&)> backward) {
  StepSums op{x->value,
              totals,
              cells.step_rows_on_device,
              tape.device().allocate(cells.steps, x->value.columns(), x->value.type()),
              cells.vertices,
              cells.existing};
  tape.device().run(op);
  return tape.record(op.sums, {x}, std::move(backward));
}

/// The last stage: totals and squares are the sums over all ranks.
Var standardise(Tape& tape, const Var& x, const Var& totals, const Var& squares, const Var& gain, const Var& shift,
                const CellRows& cells, const InputGradient& of_input) {
  Standardise op;
  op.x = x->value;
  op.totals = totals->value;
  op.squares = squares->value;
  op.gain = gain->value;
  op.shift = shift->value;
  op.step_rows = cells.step_rows_on_device;
  op.y = tape.device().allocate(x->value.rows(), x->value.columns(), x->value.type());
  op.vertices = cells.vertices;
  op.counts = cells.existing;
  tape.device().run(op);
  const auto backward = [&tape, x, totals, squares, gain, shift, rows = op.step_rows, vertices = cells.vertices,
                         counts = cells.existing, of_input](const Variable& result) {
    StandardiseBackward back;
    back.x = x->value;
    back.totals = totals->value;
    back.squares = squares->value;
    back.gain = gain->value;
    back.step_rows = rows;
    back.dy = result.gradient;
    back.dtotals = tape.target(totals).tensor;
    back.dsquares = tape.target(squares).tensor;
    back.dgain = gain->gradient;
    back.dshift = shift->gradient;
    back.vertices = vertices;
    back.counts = counts;
    tape.device().run(back);
    of_input->dy = result.gradient;
  };
  return tape.record(op.y, {x, totals, squares, gain, shift}, backward);
}

}  // namespace

Var batch_norm(Tape& tape, const Var& x, const Var& gain, const Var& shift, const CellRows& cells, const Pass& pass) {
  const auto of_input = std::make_shared<StandardiseInputBackward>();
  const auto first = [&tape, x, of_input](const Variable& result) {
    const GradientTarget target = tape.target(x);
    of_input->dtotals = result.gradient;
    of_input->dx = target.tensor;
    of_input->accumulate = target.accumulate;
    tape.device().run(*of_input);
    *of_input = {};
  };
  const auto second = [of_input](const Variable& result) { of_input->dsquares = result.gradient; };
  const Var totals = pass.ranks->sum(tape, step_sums(tape, x, {}, cells, first));
  const Var squares = pass.ranks->sum(tape, step_sums(tape, x, totals->value, cells, second));
  of_input->x = x->value, of_input->totals = totals->value, of_input->squares = squares->value;
  of_input->gain = gain->value, of_input->step_rows = cells.step_rows_on_device, of_input->vertices = cells.vertices;
  of_input->counts = cells.existing;
  return standardise(tape, x, totals, squares, gain, shift, cells, of_input);
}

Var dropout(Tape& tape, const Var& x, double rate, int layer, const CellRows& cells, const Pass& pass) {
  if (rate == 0 || !pass.training) return x;
  Dropout op;
  op.x = x->value;
  op.ids = cells.ids;
  op.y = tape.device().allocate(x->value.rows(), x->value.columns(), x->value.type());
  op.rate = rate;
  op.seed = pass.seed;
  op.key = static_cast<std::uint32_t>(pass.epoch) * 64 + static_cast<std::uint32_t>(layer);
  tape.device().run(op);
  return tape.record(op.y, {x}, [&tape, x, op](const Variable& result) {
    const GradientTarget target = tape.target(x);
    Dropout back = op;
    back.x = result.gradient;
    back.y = target.tensor;
    back.accumulate = target.accumulate;
    tape.device().run(back);
  });
}

}  // namespace strobe
