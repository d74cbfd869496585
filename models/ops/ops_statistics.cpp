#include "models/ops/ops_statistics.hpp"

#include <functional>
#include <memory>

#include "backends/operations/operations_statistics.hpp"
#include "models/ops/ops.hpp"

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

/// Adds the gradient of the normalised rows. Used where the sums are over other rows, which take the gradient of the
/// sums.
void give_to_rows(Tape& tape, const Var& x, StandardiseInputBackward& of_input) {
  const Tensor none = tape.device().allocate(of_input.totals.rows(), of_input.totals.columns(), x->value.type());
  tape.device().run(Fill{none, 0.0});
  const GradientTarget target = tape.target(x);
  of_input.dtotals = of_input.dsquares = none;
  of_input.dx = target.tensor;
  of_input.accumulate = target.accumulate;
  tape.device().run(of_input);
  of_input = {};
}

/// The last stage: totals and squares are the sums over all ranks. `apart`: x takes its part of the gradient here.
Var standardise(Tape& tape, const Var& x, const Var& totals, const Var& squares, const Var& gain, const Var& shift,
                const CellRows& cells, const InputGradient& of_input, bool apart) {
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
                         counts = cells.existing, of_input, apart](const Variable& result) {
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
    if (apart) give_to_rows(tape, x, *of_input);
  };
  return tape.record(op.y, {x, totals, squares, gain, shift}, backward);
}

}  // namespace

namespace {

/// Fills in the inputs of the backward stages, for rows x that `step_rows` divides into steps.
void describe(StandardiseInputBackward& of_input, const Var& x, const Var& totals, const Var& squares, const Var& gain,
              const Tensor& step_rows, const CellRows& cells) {
  of_input.x = x->value, of_input.totals = totals->value, of_input.squares = squares->value;
  of_input.gain = gain->value, of_input.step_rows = step_rows, of_input.vertices = cells.vertices;
  of_input.counts = cells.existing;
}

/// The sums, and the record that gives their rows their gradient. `of_input` must be described before that.
struct StepTotals {
  Var totals, squares;
};
StepTotals step_totals(Tape& tape, const Var& x, const CellRows& cells, const Pass& pass,
                       const InputGradient& of_input) {
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
  return {totals, pass.ranks->sum(tape, step_sums(tape, x, totals->value, cells, second))};
}

}  // namespace

Var batch_norm(Tape& tape, const Var& x, const Var& gain, const Var& shift, const CellRows& cells, const Pass& pass) {
  const auto of_input = std::make_shared<StandardiseInputBackward>();
  if (!cells.counted.defined()) {
    const auto [totals, squares] = step_totals(tape, x, cells, pass, of_input);
    describe(*of_input, x, totals, squares, gain, cells.step_rows_on_device, cells);
    return standardise(tape, x, totals, squares, gain, shift, cells, of_input, false);
  }
  CellRows among = cells;
  among.step_rows_on_device = cells.counted_step_rows;
  const Var some = gather_rows(tape, x, {cells.counted}, cells.counted.rows());
  const auto [totals, squares] = step_totals(tape, some, among, pass, of_input);
  describe(*of_input, some, totals, squares, gain, cells.counted_step_rows, cells);
  const auto of_rows = std::make_shared<StandardiseInputBackward>();
  describe(*of_rows, x, totals, squares, gain, cells.step_rows_on_device, cells);
  return standardise(tape, x, totals, squares, gain, shift, cells, of_rows, true);
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
