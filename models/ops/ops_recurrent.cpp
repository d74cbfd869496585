#include "models/ops/ops_recurrent.hpp"

#include "backends/operations/operations_recurrent.hpp"
#include "core/errors.hpp"
#include "models/ops/ops.hpp"
#include "models/ops/ops_block.hpp"

namespace strobe {
namespace {

/// The inputs, the weights and the start of a recurrence, for its backward pass. `x_right` and `w_in` of an LSTM may be
/// null.
struct Inputs {
  Var x, w_x, w_h, bias, start, x_right, w_in;
  PackedSequences packed = {};

  std::vector<Var> list() const {
    std::vector<Var> all = {x, w_x, w_h, bias};
    for (const Var& other : {x_right, w_in, start})
      if (other) all.push_back(other);
    return all;
  }
};

template <class Op>
void set_inputs(Op& op, const Inputs& in, std::int64_t steps) {
  op.x = in.x->value;
  op.w_x = in.w_x->value;
  op.w_h = in.w_h->value;
  op.bias = in.bias->value;
  if (in.start) op.start = in.start->value;
  op.steps = steps;
  op.restarts = in.packed.restarts;
  if constexpr (requires { op.x_right; }) {
    if (in.x_right) op.x_right = in.x_right->value;
    if (in.w_in) op.w_in = in.w_in->value;
  }
}

/// Checks the inputs of an LSTM: one part, or two where the device reads them in place.
std::vector<Var> readable_parts(Tape& tape, const std::vector<Var>& x) {
  if (x.empty() || x.size() > 2) throw Error("the inputs of an LSTM are one or two parts");
  if (x.size() == 2 && tape.device().wants_joined_inputs()) return {concat_columns(tape, x)};
  return x;
}

/// Runs `op` with its gradients as targets. The gradient of the start is stored. Where another operation has read the
/// start, it is added after the operation.
template <class Op>
void run_backward(Tape& tape, Op& op, const Inputs& in) {
  Device& device = tape.device();
  if (in.x->needs_gradient) {
    const GradientTarget target = tape.target(in.x);
    op.dx = target.tensor;
    op.accumulate_dx = target.accumulate;
  }
  if constexpr (requires { op.dx_right; }) {
    if (in.x_right && in.x_right->needs_gradient) {
      const GradientTarget target = tape.target(in.x_right);
      op.dx_right = target.tensor;
      op.accumulate_dx_right = target.accumulate;
    }
    if (in.w_in) op.dw_in = tape.added_gradient(in.w_in);
  }
  op.dw_x = tape.added_gradient(in.w_x);
  op.dw_h = tape.added_gradient(in.w_h);
  op.dbias = tape.added_gradient(in.bias);
  if (!in.start || !in.start->needs_gradient) return device.run(op);
  const GradientTarget target = tape.target(in.start);
  op.dstart = target.tensor;
  if (target.accumulate) op.dstart = device.allocate(op.dstart.rows(), op.dstart.columns(), op.dstart.type());
  device.run(op);
  if (target.accumulate) device.run(AddScaled{op.dstart, target.tensor, 1.0});
}

/// The hidden states of all rows with the cell states that are handed on, below them, as one state: hidden above cell.
Var handed_on(Tape& tape, const Var& result, std::int64_t rows, std::int64_t n, const PackedSequences& packed) {
  if (!packed.restarts.defined()) return slice_rows(tape, result, rows - n, 2 * n);
  const std::int64_t ends = packed.last_rows.rows();
  return concat_rows(tape, {gather_rows(tape, result, {packed.last_rows}, ends), slice_rows(tape, result, rows, ends)});
}

Recurrence run_lstm(Tape& tape, const Inputs& in, std::int64_t steps, bool want_state) {
  Device& device = tape.device();
  const ElementType type = in.x->value.type();
  const std::int64_t rows = in.x->value.rows(), n = rows / steps, h = in.w_h->value.rows();
  const std::int64_t ends = !want_state ? 0 : in.packed.restarts.defined() ? in.packed.last_rows.rows() : n;
  LstmSequence op;
  set_inputs(op, in, steps);
  // With a state to hand on, the last cell states are results too: they lie after the hidden states.
  const Tensor all = device.allocate(rows + ends, h, type);
  op.y = all.slice_rows(0, rows);
  op.cells = device.allocate(rows, h, type);
  if (keeps_gates(in.w_x->value.rows() + h)) op.gates = device.allocate(rows, 4 * h, type);
  device.run(op);
  if (ends > 0) {
    const Tensor& listed = in.packed.last_rows;
    const Tensor from = listed.defined() ? op.cells : op.cells.slice_rows(rows - n, n);
    device.run(CopyRows{from, all.slice_rows(rows, ends), listed, {}, ends, 0, 0, h, false});
  }
  const Var result = tape.record(
      all, in.list(), [&tape, in, steps, rows, ends, cells = op.cells, gates = op.gates](const Variable& out) {
        LstmSequenceBackward back;
        set_inputs(back, in, steps);
        back.y = out.value.slice_rows(0, rows);
        back.cells = cells;
        back.gates = gates;
        back.dy = out.gradient.slice_rows(0, rows);
        if (ends > 0) back.dlast = out.gradient.slice_rows(rows, ends), back.ends = in.packed.ends;
        run_backward(tape, back, in);
      });
  if (!want_state) return {result, nullptr};
  return {slice_rows(tape, result, 0, rows), handed_on(tape, result, rows, n, in.packed)};
}

}  // namespace

Recurrence lstm_sequence(Tape& tape, const std::vector<Var>& parts, const Var& w_x, const Var& w_h, const Var& bias,
                         std::int64_t steps, const Var& start, bool want_state, const PackedSequences& packed) {
  const std::vector<Var> read = readable_parts(tape, parts);
  return run_lstm(tape, {read[0], w_x, w_h, bias, start, read.size() > 1 ? read[1] : nullptr, nullptr, packed}, steps,
                  want_state);
}

Recurrence skip_lstm_sequence(Tape& tape, const Var& x, const Var& w_in, const Var& w_x, const Var& w_h,
                              const Var& bias, std::int64_t steps, const Var& start, bool want_state,
                              const PackedSequences& packed) {
  const bool narrow = makes_inputs(w_in->value.rows(), w_in->value.columns(), w_h->value.rows());
  if (narrow && !tape.device().wants_joined_inputs())
    return run_lstm(tape, {x, w_x, w_h, bias, start, nullptr, w_in, packed}, steps, want_state);
  return lstm_sequence(tape, {skip_dense(tape, x, x, w_in, Activation::relu)}, w_x, w_h, bias, steps, start, want_state,
                       packed);
}

Recurrence gru_sequence(Tape& tape, const Var& x, const Var& w_x, const Var& w_h, const Var& bias, std::int64_t steps,
                        const Var& start, bool want_state, const PackedSequences& packed) {
  Device& device = tape.device();
  const Inputs in{x, w_x, w_h, bias, start, nullptr, nullptr, packed};
  const std::int64_t rows = x->value.rows(), n = rows / steps, h = w_h->value.columns();
  GruSequence op;
  set_inputs(op, in, steps);
  op.y = device.allocate(rows, h, x->value.type());
  if (keeps_gates(w_x->value.rows() / 3 + h)) op.gates = device.allocate(rows, 3 * h, x->value.type());
  device.run(op);
  const Var y = tape.record(op.y, in.list(), [&tape, in, steps, gates = op.gates](const Variable& out) {
    GruSequenceBackward back;
    set_inputs(back, in, steps);
    back.y = out.value;
    back.gates = gates;
    back.dy = out.gradient;
    run_backward(tape, back, in);
  });
  if (!want_state) return {y, nullptr};
  if (!packed.restarts.defined()) return {y, slice_rows(tape, y, rows - n, n)};
  return {y, gather_rows(tape, y, {packed.last_rows}, packed.last_rows.rows())};
}

}  // namespace strobe
