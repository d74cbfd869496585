#include "models/ops_evolve.hpp"

namespace strobe {

Var step_dense(Tape& tape, const Var& x, const Var& w, const Tensor& step_rows, Activation activation) {
  const Tensor y = tape.device().allocate(x->value.rows(), w->value.columns(), x->value.type());
  tape.device().run(StepDense{x->value, w->value, step_rows, y, activation});
  return tape.record(y, {x, w}, [&tape, x, w, step_rows, activation](const Variable& result) {
    StepDenseBackward op;
    op.x = x->value;
    op.w = w->value;
    op.step_rows = step_rows;
    op.y = result.value;
    op.dy = result.gradient;
    op.activation = activation;
    if (x->needs_gradient) {
      const GradientTarget target = tape.target(x);
      op.dx = target.tensor;
      op.accumulate_dx = target.accumulate;
    }
    const GradientTarget target = tape.target(w);
    op.dw = target.tensor;
    op.accumulate_dw = target.accumulate;
    tape.device().run(op);
  });
}

Var evolve_weights(Tape& tape, const EvolutionWeights& leaves, const Var& summary, std::int64_t steps, EvolveCell cell,
                   bool detached) {
  Device& device = tape.device();
  const Tensor& start = leaves.start->value;
  EvolveWeights op;
  op.wx = leaves.wx->value;
  op.wh = leaves.wh->value;
  op.bias = leaves.bias->value;
  op.start = start;
  if (summary) op.summary = summary->value;
  op.weights = device.allocate(steps * start.rows(), start.columns(), start.type());
  op.kept = device.allocate(steps * kept_of(cell) * start.rows(), start.columns(), start.type());
  op.cell = cell;
  device.run(op);
  std::vector<Var> inputs = {leaves.wx, leaves.wh, leaves.bias, leaves.start};
  if (summary) inputs.push_back(summary);
  return tape.record(op.weights, inputs,
                     [&tape, leaves, summary, kept = op.kept, cell, detached](const Variable& result) {
                       EvolveWeightsBackward back;
                       back.wx = leaves.wx->value;
                       back.wh = leaves.wh->value;
                       back.start = leaves.start->value;
                       back.weights = result.value;
                       back.kept = kept;
                       back.dweights = result.gradient;
                       back.dwx = leaves.wx->gradient;
                       back.dwh = leaves.wh->gradient;
                       back.dbias = leaves.bias->gradient;
                       back.dstart = leaves.start->gradient;
                       back.cell = cell;
                       back.detached = detached;
                       if (summary) back.summary = summary->value;
                       if (summary && summary->needs_gradient) {
                         const GradientTarget target = tape.target(summary);
                         back.dsummary = target.tensor;
                         back.accumulate_dsummary = target.accumulate;
                       }
                       tape.device().run(back);
                     });
}

Tensor choose_rows(Tape& tape, const SpatialInput& input, const Tensor& direction, std::int64_t k,
                   bool only_connected) {
  Device& device = tape.device();
  const RankSums& ranks = *input.pass->ranks;
  PickCandidates pick;
  pick.a = *input.a;
  pick.x = input.x->value;
  pick.direction = direction;
  pick.step_rows = input.cells->step_rows_on_device;
  pick.ids = input.cells->ids;
  pick.table = device.allocate(input.cells->steps, ranks.ranks() * k * candidate_numbers, direction.type());
  pick.rows = device.allocate(input.cells->steps * k, 1, ElementType::i64);
  pick.vertices = input.cells->vertices;
  pick.k = k;
  pick.rank = ranks.rank();
  pick.ranks = ranks.ranks();
  pick.only_connected = only_connected;
  device.run(pick);
  const Var table = ranks.sum(tape, Tape::constant(pick.table));
  const Tensor chosen = device.allocate(input.cells->steps * k, 1, ElementType::i64);
  device.run(ChooseCandidates{table->value, pick.rows, chosen, k, ranks.rank(), ranks.ranks()});
  return chosen;
}

Var summarise_rows(Tape& tape, const Var& x, const Var& direction, const Tensor& chosen, bool gated) {
  const Tensor summary = tape.device().allocate(chosen.rows(), x->value.columns(), x->value.type());
  tape.device().run(SummariseRows{x->value, direction->value, chosen, summary, gated});
  return tape.record(summary, {x, direction}, [&tape, x, direction, chosen, gated](const Variable& result) {
    SummariseRowsBackward op{x->value, direction->value, chosen, result.gradient, {}, direction->gradient, gated};
    op.dx = tape.added_gradient(x);
    tape.device().run(op);
  });
}

}  // namespace strobe
