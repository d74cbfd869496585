#include "models/ops/ops_evolve.hpp"

#include <algorithm>

#include "backends/operations/operations_fused.hpp"
#include "models/ops/ops.hpp"

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

Var step_graph_convolution(Tape& tape, const SparseMatrix& a, const Var& x, const Var& w, const Tensor& step_rows,
                           Activation activation) {
  Device& device = tape.device();
  if (!x->needs_gradient) return step_dense(tape, spmm(tape, a, x), w, step_rows, activation);
  const Tensor aggregated = device.allocate(a.rows, x->value.columns(), x->value.type());
  const Tensor y = device.allocate(a.rows, w->value.columns(), x->value.type());
  device.run(StepGraphConvolution{a, x->value, w->value, step_rows, aggregated, y, activation});
  return tape.record(y, {x, w}, [&tape, a, x, w, step_rows, aggregated, activation](const Variable& result) {
    const Tensor ds = tape.device().allocate(aggregated.rows(), aggregated.columns(), aggregated.type());
    const GradientTarget dx = tape.target(x), dw = tape.target(w);
    tape.device().run(StepGraphConvolutionBackward{a, aggregated, w->value, step_rows, result.value, result.gradient,
                                                   dx.tensor, dw.tensor, ds, activation, dx.accumulate, dw.accumulate});
  });
}

bool cheap_to_repeat(std::int64_t columns) { return columns <= SpmmOfDense::most_features; }

bool cheap_to_repeat(const Var& x) { return !x->needs_gradient && cheap_to_repeat(x->value.columns()); }

Var spmm_of_dense(Tape& tape, const SparseMatrix& a, const Var& x, const Var& w, const Var& bias,
                  const Tensor& step_rows, Activation activation) {
  if (!cheap_to_repeat(x)) throw Error("spmm_of_dense is for constants of few columns");
  const Tensor offsets = bias ? bias->value : Tensor();
  const Tensor y = tape.device().allocate(a.rows, w->value.columns(), x->value.type());
  tape.device().run(SpmmOfDense{a, x->value, w->value, offsets, step_rows, y, activation});
  std::vector<Var> inputs = {w};
  if (bias) inputs.push_back(bias);
  return tape.record(y, inputs, [&tape, a, x, w, bias, offsets, step_rows, activation](const Variable& result) {
    const GradientTarget dw = tape.target(w);
    const Tensor dbias = bias ? tape.added_gradient(bias) : Tensor();
    tape.device().run(SpmmOfDenseBackward{a, x->value, w->value, offsets, step_rows, result.gradient, dw.tensor, dbias,
                                          activation, dw.accumulate});
  });
}

namespace {

/// Memory for data that the gradient reads instead of the matrix, on a device whose kernels leave it; undefined
/// otherwise.
Tensor memo_of(Tape& tape, const SparseMatrix& a, const Tensor& x, std::int64_t columns, const Tensor& step_rows) {
  const std::int64_t steps = step_rows.rows() - 1;
  if (!tape.recording() || tape.device().narrow_bytes() == 0 || steps < 1) return {};
  return tape.device().allocate(StepConvolutionOfDense::memo_rows(a.rows, steps, x.columns()),
                                StepConvolutionOfDense::memo_columns(columns), x.type());
}

}  // namespace

Var step_convolution_of_dense(Tape& tape, const SparseMatrix& a, const Var& x, const Var& w_first, Activation first,
                              const Var& w, const Tensor& step_rows, Activation activation) {
  if (!cheap_to_repeat(x)) throw Error("step_convolution_of_dense is for constants of few columns");
  const auto allocate = [&tape, rows = a.rows, type = x->value.type()](std::int64_t width) {
    return tape.device().allocate(rows, width, type);
  };
  const std::int64_t middle = w_first->value.columns(), width = w->value.columns();
  const std::int64_t columns = std::max(middle, width);
  const bool has_memo = StepConvolutionOfDense::may_have_memo(x->value.columns(), columns);
  const Tensor memo = has_memo ? memo_of(tape, a, x->value, columns, step_rows) : Tensor();
  const bool keep = columns > StepConvolutionOfDense::most_repeated && !memo.defined();
  const Tensor y = allocate(width), aggregated = allocate(middle), kept = keep ? aggregated : Tensor();
  tape.device().run(StepConvolutionOfDense{a, x->value, w_first->value, w->value, step_rows, aggregated, y, first,
                                           activation, keep, memo});
  return tape.record(y, {w_first, w}, [=, &tape](const Variable& result) {
    const GradientTarget dw_first = tape.target(w_first), dw = tape.target(w);
    tape.device().run(StepConvolutionOfDenseBackward{a, x->value, w_first->value, w->value, step_rows, result.value,
                                                     result.gradient, dw_first.tensor, dw.tensor,
                                                     keep ? kept : allocate(middle), allocate(middle), first,
                                                     activation, keep, dw_first.accumulate, dw.accumulate, memo});
  });
}

namespace {

/// The weights that an evolution begins with, and also an LSTM's cell state.
struct Beginning {
  Var from;  // the leaf, or the weights that the steps before left
  std::int64_t rows;
  bool cell;

  Tensor weights(const Tensor& of) const { return of.defined() ? of.slice_rows(0, rows) : of; }
  Tensor cells(const Tensor& of) const { return cell && of.defined() ? of.slice_rows(rows, rows) : Tensor(); }
};

Beginning beginning_of(const EvolutionWeights& leaves, EvolveCell cell, bool detached, const Var& state) {
  const std::int64_t rows = leaves.start->value.rows();
  if (!state) return {leaves.start, rows, false};
  return {detached ? Tape::constant(state->value) : state, rows, cell == EvolveCell::lstm};
}

/// The record that the backward pass of an evolution over `steps` steps reads.
struct EvolutionRecord {
  EvolutionWeights leaves;
  Var summary;
  Beginning begin;
  Tensor kept;
  std::int64_t steps;
  EvolveCell cell;
  bool detached, hands_on_cell;

  /// `result` holds all steps' weights, and below them the last cell state when that is handed on.
  void run(Tape& tape, const Variable& result) const {
    const std::int64_t rows = steps * begin.rows;
    EvolveWeightsBackward back;
    back.wx = leaves.wx->value;
    back.wh = leaves.wh->value;
    back.start = begin.weights(begin.from->value);
    back.start_cell = begin.cells(begin.from->value);
    back.weights = result.value.slice_rows(0, rows);
    back.kept = kept;
    back.dweights = result.gradient.slice_rows(0, rows);
    if (hands_on_cell) back.dlast_cell = result.gradient.slice_rows(rows, begin.rows);
    back.dwx = leaves.wx->gradient;
    back.dwh = leaves.wh->gradient;
    back.dbias = leaves.bias->gradient;
    const Tensor dstart = tape.added_gradient(begin.from);
    back.dstart = begin.weights(dstart);
    back.dstart_cell = begin.cells(dstart);
    back.cell = cell;
    back.detached = detached;
    if (summary) back.summary = summary->value;
    if (summary && summary->needs_gradient) {
      const GradientTarget target = tape.target(summary);
      back.dsummary = target.tensor;
      back.accumulate_dsummary = target.accumulate;
    }
    tape.device().run(back);
  }
};

}  // namespace

Var evolve_weights(Tape& tape, const EvolutionWeights& leaves, const Var& summary, std::int64_t steps, EvolveCell cell,
                   bool detached, const EvolutionState& state) {
  Device& device = tape.device();
  const Tensor& start = leaves.start->value;
  const std::int64_t f = start.rows(), g = start.columns(), rows = steps * f;
  const Beginning begin = beginning_of(leaves, cell, detached, state.state);
  const bool hands_on_cell = state.next != nullptr && cell == EvolveCell::lstm;
  const Tensor all = device.allocate(rows + (hands_on_cell ? f : 0), g, start.type());
  EvolveWeights op;
  op.wx = leaves.wx->value;
  op.wh = leaves.wh->value;
  op.bias = leaves.bias->value;
  op.start = begin.weights(begin.from->value);
  op.start_cell = begin.cells(begin.from->value);
  if (summary) op.summary = summary->value;
  op.weights = all.slice_rows(0, rows);
  op.kept = device.allocate(steps * kept_of(cell) * f, g, start.type());
  op.cell = cell;
  device.run(op);
  if (hands_on_cell) {
    // The cell state is the last that a step keeps.
    device.run(CopyRows{op.kept.slice_rows(op.kept.rows() - f, f), all.slice_rows(rows, f), {}, {}, f, 0, 0, g, false});
  }
  std::vector<Var> inputs = {leaves.wx, leaves.wh, leaves.bias, begin.from};
  if (summary) inputs.push_back(summary);
  const EvolutionRecord record{leaves, summary, begin, op.kept, steps, cell, detached, hands_on_cell};
  const Var result =
      tape.record(all, inputs, [&tape, record](const Variable& variable) { record.run(tape, variable); });
  if (state.next != nullptr) *state.next = slice_rows(tape, result, rows - f, hands_on_cell ? 2 * f : f);
  return slice_rows(tape, result, 0, rows);
}

Tensor choose_rows(Tape& tape, const SpatialInput& input, const ChoiceRows& from, const Tensor& direction,
                   std::int64_t k, bool only_connected) {
  Device& device = tape.device();
  const RankSums& ranks = *input.pass->ranks;
  PickCandidates pick;
  pick.a = *input.a;
  pick.x = from.x->value;
  pick.direction = direction;
  pick.step_rows = input.cells->step_rows_on_device;
  pick.ids = input.cells->counted_ids.defined() ? input.cells->counted_ids : input.cells->ids;
  pick.table = device.allocate(input.cells->steps, ranks.ranks() * k * candidate_numbers, direction.type());
  pick.rows = device.allocate(input.cells->steps * k, 1, ElementType::i64);
  pick.vertices = input.cells->vertices;
  pick.k = k;
  pick.rank = ranks.rank();
  pick.ranks = ranks.ranks();
  pick.only_connected = only_connected;
  if (from.w) pick.w = from.w->value;
  pick.activation = from.activation;
  device.run(pick);
  const Var table = ranks.sum(tape, Tape::constant(pick.table));
  const Tensor chosen = device.allocate(input.cells->steps * k, 1, ElementType::i64);
  device.run(ChooseCandidates{table->value, pick.rows, chosen, k, ranks.rank(), ranks.ranks()});
  return chosen;
}

Var summarise_rows(Tape& tape, const ChoiceRows& from, const Var& direction, const Tensor& chosen, bool gated) {
  if (from.w && !cheap_to_repeat(from.x)) throw Error("rows that are not stored are made of constants of few columns");
  const auto& [x, w, activation] = from;
  const Tensor weights = w ? w->value : Tensor();
  const Tensor summary = tape.device().allocate(chosen.rows(), direction->value.rows(), x->value.type());
  tape.device().run(SummariseRows{x->value, direction->value, chosen, summary, gated, weights, activation});
  return tape.record(
      summary, {w ? w : x, direction}, [&tape, from, weights, direction, chosen, gated](const Variable& result) {
        SummariseRowsBackward op{from.x->value, direction->value, chosen, result.gradient, {}, direction->gradient,
                                 gated,         weights,          {},     from.activation};
        (from.w ? op.dw : op.dx) = tape.added_gradient(from.w ? from.w : from.x);
        tape.device().run(op);
      });
}

}  // namespace strobe
