#include "models/ops_statistics.hpp"

#include "backends/operations_statistics.hpp"

namespace strobe {
namespace {

/// Per step the sums over this rank's rows of x, or of its squared deviations from totals / N.
Var step_sums(Tape& tape, const Var& x, const Tensor& totals, const CellRows& cells) {
  const Tensor rows = cells.step_rows_on_device;
  StepSums op{x->value, totals, rows, tape.device().allocate(cells.steps, x->value.columns(), x->value.type()),
              cells.vertices};
  tape.device().run(op);
  return tape.record(op.sums, {x}, [&tape, x, totals, rows, vertices = cells.vertices](const Variable& result) {
    const GradientTarget target = tape.target(x);
    tape.device().run(
        StepSumsBackward{x->value, totals, rows, result.gradient, target.tensor, vertices, target.accumulate});
  });
}

/// The last stage: totals and squares are the sums over all ranks.
Var standardise(Tape& tape, const Var& x, const Var& totals, const Var& squares, const Var& gain, const Var& shift,
                const CellRows& cells) {
  Standardise op;
  op.x = x->value;
  op.totals = totals->value;
  op.squares = squares->value;
  op.gain = gain->value;
  op.shift = shift->value;
  op.step_rows = cells.step_rows_on_device;
  op.y = tape.device().allocate(x->value.rows(), x->value.columns(), x->value.type());
  op.vertices = cells.vertices;
  tape.device().run(op);
  const auto backward = [&tape, x, totals, squares, gain, shift, rows = op.step_rows,
                         vertices = cells.vertices](const Variable& result) {
    StandardiseBackward back;
    back.x = x->value;
    back.totals = totals->value;
    back.squares = squares->value;
    back.gain = gain->value;
    back.step_rows = rows;
    back.dy = result.gradient;
    const GradientTarget target = tape.target(x);
    back.dx = target.tensor;
    back.accumulate = target.accumulate;
    back.dtotals = tape.target(totals).tensor;
    back.dsquares = tape.target(squares).tensor;
    back.dgain = gain->gradient;
    back.dshift = shift->gradient;
    back.vertices = vertices;
    tape.device().run(back);
  };
  return tape.record(op.y, {x, totals, squares, gain, shift}, backward);
}

}  // namespace

Var batch_norm(Tape& tape, const Var& x, const Var& gain, const Var& shift, const CellRows& cells, const Pass& pass) {
  const Var totals = pass.ranks->sum(tape, step_sums(tape, x, {}, cells));
  const Var squares = pass.ranks->sum(tape, step_sums(tape, x, totals->value, cells));
  return standardise(tape, x, totals, squares, gain, shift, cells);
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
