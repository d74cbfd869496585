// Second half of operations_recurrent.hpp: the cases.
#pragma once

#include <memory>

namespace strobe::conformance {

/// The shapes by which the two recurrences differ: `gates` matrices, `states` blocks of the start.
template <class Forward>
struct Recurrence;

template <>
struct Recurrence<LstmSequence> {
  using Backward = LstmSequenceBackward;
  static constexpr std::int64_t gates = 4, states = 2;
  static std::vector<RecurrentShape> shapes() { return lstm_shapes(); }
  static void judge(JudgedRecurrence& j, const RecurrentShape& s) { judge_lstm(j, s); }
};
template <>
struct Recurrence<GruSequence> {
  using Backward = GruSequenceBackward;
  static constexpr std::int64_t gates = 3, states = 1;
  static std::vector<RecurrentShape> shapes() { return recurrent_shapes(); }
  static void judge(JudgedRecurrence& j, const RecurrentShape& s) { judge_gru(j, s); }
};

/// A matrix of `columns` columns, cut before the last `right` of them; and put together again.
inline std::pair<std::vector<double>, std::vector<double>> apart(const std::vector<double>& values,
                                                                 std::int64_t columns, std::int64_t right) {
  std::pair<std::vector<double>, std::vector<double>> parts;
  for (std::size_t i = 0; i < values.size(); ++i)
    (static_cast<std::int64_t>(i) % columns < columns - right ? parts.first : parts.second).push_back(values[i]);
  return parts;
}
inline std::vector<double> together(const std::vector<double>& left, const std::vector<double>& right,
                                    std::int64_t columns, std::int64_t on_the_right) {
  std::vector<double> values;
  auto from_left = left.begin(), from_right = right.begin();
  for (std::size_t i = 0; i < left.size() + right.size(); ++i)
    values.push_back(static_cast<std::int64_t>(i) % columns < columns - on_the_right ? *from_left++ : *from_right++);
  return values;
}

template <class Forward, class Op>
void upload_inputs(Device& device, const RecurrentShape& s, const RecurrentInput& in, Op& op) {
  constexpr bool lstm = Recurrence<Forward>::gates == 4;
  const std::int64_t h = s.hidden, cells = s.steps * s.vertices;
  op.steps = s.steps;
  const std::int64_t columns = static_cast<std::int64_t>(in.x.size()) / std::max<std::int64_t>(cells, 1);
  const auto [left, right] = apart(in.x, columns, s.right);
  op.x = upload(device, left, cells, columns - s.right);
  if constexpr (lstm) {
    if (s.right > 0) op.x_right = upload(device, right, cells, s.right);
    if (s.made > 0) op.w_in = upload(device, in.w_in, columns, s.made);
  }
  op.w_x = upload(device, in.w_x, lstm ? s.inputs : 3 * s.inputs, lstm ? 4 * h : h);
  op.w_h = upload(device, in.w_h, lstm ? h : 3 * h, lstm ? 4 * h : h);
  op.bias = upload(device, in.bias, lstm ? 1 : 3, lstm ? 4 * h : h);
  if (s.start) op.start = upload(device, in.start, Recurrence<Forward>::states * s.starts(), h);
  if (s.most > 0) op.restarts = upload(device, s.origins());
  op.y = device.allocate(cells, h);
  if constexpr (lstm) op.cells = device.allocate(cells, h);
  if (s.kept) op.gates = device.allocate(cells, Recurrence<Forward>::gates * h);
}

template <class Forward>
JudgedRecurrence judged_states(const RecurrentShape& s, const RecurrentInput& in) {
  JudgedRecurrence j;
  load(j, in);
  Recurrence<Forward>::judge(j, s);
  return j;
}

template <class Forward>
std::vector<Output> judge_forward(Device& device, const RecurrentShape& s) {
  const RecurrentInput in = recurrent_input(s, Recurrence<Forward>::gates, Recurrence<Forward>::states);
  const JudgedRecurrence& j = judged_once(s.name(), [&] { return judged_states<Forward>(s, in); });
  Forward op;
  upload_inputs<Forward>(device, s, in, op);
  device.run(op);
  std::vector<Output> outputs{{"y", download(device, op.y), values_of(j, j.y)}};
  if constexpr (Recurrence<Forward>::gates == 4)
    outputs.push_back({"cells", download(device, op.cells), values_of(j, j.cells)});
  if (s.kept) outputs.push_back({"gates", download(device, op.gates), values_of(j, j.gates)});
  return outputs;
}

/// The states, and on their tape the gradients of everything, from those of y and of an LSTM's last cells.
template <class Forward>
JudgedRecurrence states_with_gradients(const RecurrentShape& s, const RecurrentInput& in) {
  JudgedRecurrence j = judged_states<Forward>(s, in);
  const bool with_last = Recurrence<Forward>::gates == 4 && s.start;
  for (std::size_t i = 0; i < j.y.size(); ++i) j.tape.gradient(j.y[i]) += in.dy[i];
  const std::vector<std::int32_t> ends = s.end_rows();
  for (std::size_t i = 0; with_last && i < j.cells.size(); ++i) {
    const std::size_t h = s.hidden;
    const std::int32_t end = ends[i / h];
    if (end >= 0) j.tape.gradient(j.cells[i]) += in.dlast[static_cast<std::size_t>(end) * h + i % h];
  }
  j.tape.backward();
  return j;
}

/// The judge's gradients of one case: dx, dw_x, dw_h, dbias, dstart, dw_in.
inline std::vector<Output> expected_gradients(const JudgedRecurrence& j, const RecurrentShape& s,
                                              const RecurrentInput& in, bool accumulate) {
  std::vector<Output> expected{{"dx", {}, gradients_of(j, j.x, accumulate ? in.dx : std::vector<double>())},
                               {"dw_x", {}, gradients_of(j, j.w_x, in.dw_x)},
                               {"dw_h", {}, gradients_of(j, j.w_h, in.dw_h)},
                               {"dbias", {}, gradients_of(j, j.bias, in.dbias)}};
  if (s.start) expected.push_back({"dstart", {}, gradients_of(j, j.start, {})});
  if (s.made > 0) expected.push_back({"dw_in", {}, gradients_of(j, j.w_in, in.dw_in)});
  return expected;
}

/// dx, and dx_right where the shape has one.
template <bool lstm, class Backward>
void upload_input_gradients(Device& device, const RecurrentShape& s, const RecurrentInput& in, Backward& op) {
  const auto [left, right] = apart(in.dx, op.x.columns() + s.right, s.right);
  op.dx = upload(device, left, op.x.rows(), op.x.columns());
  if constexpr (lstm) {
    if (s.right > 0) op.dx_right = upload(device, right, op.x.rows(), s.right);
  }
}

/// The input gradients, side by side.
template <bool lstm, class Backward>
std::vector<double> input_gradients(Device& device, const RecurrentShape& s, const Backward& op) {
  const std::vector<double> left = download(device, op.dx);
  if constexpr (lstm) {
    if (s.right > 0) return together(left, download(device, op.dx_right), op.x.columns() + s.right, s.right);
  }
  return left;
}

/// Runs the backward operation after the forward one; parts of `expected` that it does not ask for are dropped.
template <class Forward>
std::vector<Output> judge_backward(Device& device, const RecurrentShape& s, bool with_dx, bool accumulate) {
  constexpr bool lstm = Recurrence<Forward>::gates == 4;
  const RecurrentInput in = recurrent_input(s, Recurrence<Forward>::gates, Recurrence<Forward>::states);
  const JudgedRecurrence& j = judged_once(s.name(), [&] { return states_with_gradients<Forward>(s, in); });
  std::vector<Output> outputs = expected_gradients(j, s, in, accumulate);
  Forward forward;
  upload_inputs<Forward>(device, s, in, forward);
  device.run(forward);
  typename Recurrence<Forward>::Backward op;
  op.x = forward.x, op.w_x = forward.w_x, op.w_h = forward.w_h, op.bias = forward.bias, op.start = forward.start;
  op.y = forward.y, op.gates = forward.gates, op.steps = s.steps, op.accumulate_dx = accumulate;
  op.restarts = forward.restarts;
  op.dy = upload(device, in.dy, forward.y.rows(), s.hidden);
  if constexpr (lstm) {
    op.cells = forward.cells;
    if (s.start) op.dlast = upload(device, in.dlast, s.ends(), s.hidden);
    if (s.start && s.most > 0) op.ends = upload(device, s.end_rows());
    op.x_right = forward.x_right, op.accumulate_dx_right = accumulate;
    op.w_in = forward.w_in;
    if (s.made > 0) op.dw_in = upload(device, in.dw_in, op.w_in.rows(), op.w_in.columns());
  }
  if (with_dx) upload_input_gradients<lstm>(device, s, in, op);
  op.dw_x = upload(device, in.dw_x, op.w_x.rows(), op.w_x.columns());
  op.dw_h = upload(device, in.dw_h, op.w_h.rows(), op.w_h.columns());
  op.dbias = upload(device, in.dbias, op.bias.rows(), op.bias.columns());
  if (s.start) op.dstart = device.allocate(op.start.rows(), op.start.columns());
  device.run(op);
  outputs[1].got = download(device, op.dw_x);
  outputs[2].got = download(device, op.dw_h);
  outputs[3].got = download(device, op.dbias);
  if (s.start) outputs[4].got = download(device, op.dstart);
  if constexpr (lstm) {
    if (s.made > 0) outputs.back().got = download(device, op.dw_in);
  }
  if (with_dx) outputs[0].got = input_gradients<lstm>(device, s, op);
  if (!with_dx) outputs.erase(outputs.begin());
  return outputs;
}

template <class Forward>
std::vector<OperationCase> recurrent_cases() {
  std::vector<OperationCase> cases;
  for (const RecurrentShape& shape : Recurrence<Forward>::shapes()) {
    cases.push_back({"", shape.name(), [=](Device& device) { return judge_forward<Forward>(device, shape); }});
  }
  return cases;
}

template <class Forward>
std::vector<OperationCase> recurrent_backward_cases() {
  std::vector<OperationCase> cases;
  for (const RecurrentShape& shape : Recurrence<Forward>::shapes()) {
    for (const int flags : {0, 1, 3}) {
      cases.push_back(
          {"", shape.name() + ((flags & 1) != 0 ? ", dx" : "") + ((flags & 2) != 0 ? " accumulated" : ""),
           [=](Device& device) { return judge_backward<Forward>(device, shape, (flags & 1) != 0, (flags & 2) != 0); }});
    }
  }
  return cases;
}

}  // namespace strobe::conformance
