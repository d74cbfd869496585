// Cases and judges of the gates of a step-by-step recurrence.
#pragma once

#include <cmath>

#include "backends/operations/operations_gate.hpp"
#include "tests/conformance/operations/operations.hpp"

namespace strobe::conformance {

struct GateShape {
  std::int64_t rows, width;
};

inline const std::vector<GateShape>& gate_shapes() {
  static const std::vector<GateShape> shapes{{0, 3}, {1, 1}, {5, 6}, {37, 2}, {130, 17}, {9000, 3}};
  return shapes;
}

/// Random inputs of one case and the places of a state's cell in its row of both gates.
struct GateInputs {
  GateShape shape;
  std::vector<double> both, r, u, state, a, candidate, gradient, other_gradient, before, before_both;

  explicit GateInputs(const GateShape& s) : shape(s) {
    std::uint32_t key = 81;
    for (std::vector<double>* values : {&r, &u, &state, &a, &candidate, &gradient, &other_gradient, &before})
      *values = random_values(s.rows * s.width, key++);
    both = random_values(2 * s.rows * s.width, key++);
    before_both = random_values(2 * s.rows * s.width, key);
  }

  std::size_t cells() const { return state.size(); }
  std::size_t of_r(std::size_t i) const {
    const std::size_t h = shape.width;
    return i / h * 2 * h + i % h;
  }
  std::size_t of_u(std::size_t i) const { return of_r(i) + static_cast<std::size_t>(shape.width); }
  Tensor narrow(Device& device, const std::vector<double>& values) const {
    return upload(device, values, shape.rows, shape.width);
  }
  Tensor wide(Device& device, const std::vector<double>& values) const {
    return upload(device, values, shape.rows, 2 * shape.width);
  }
};

inline Judged judged(double value) { return {value, std::max(1.0, std::abs(value))}; }

inline std::vector<Output> judge_gates(Device& device, const GateShape& shape) {
  const GateInputs in(shape);
  const auto sigmoid = [](double x) { return 1.0 / (1.0 + std::exp(-x)); };
  std::vector<Judged> r, u, reset;
  for (std::size_t i = 0; i < in.cells(); ++i) {
    r.push_back(judged(sigmoid(in.both[in.of_r(i)])));
    u.push_back(judged(sigmoid(in.both[in.of_u(i)])));
    reset.push_back(judged(sigmoid(in.both[in.of_r(i)]) * in.state[i]));
  }
  const auto result = [&] { return device.allocate(shape.rows, shape.width); };
  const GruGates op{in.wide(device, in.both), in.narrow(device, in.state), result(), result(), result()};
  device.run(op);
  return {
      {"r", download(device, op.r), r}, {"u", download(device, op.u), u}, {"reset", download(device, op.reset), reset}};
}

/// Which gradients are there and which are added to.
struct GateFlags {
  bool resets = true, accumulate = false, wants_state = true;
};

inline std::vector<Output> judge_gates_backward(Device& device, const GateShape& shape, const GateFlags& flags) {
  const GateInputs in(shape);
  std::vector<Judged> da = start(in.before_both, flags.accumulate), dstate = start(in.before, !flags.accumulate);
  for (std::size_t i = 0; i < in.cells(); ++i) {
    const double r = in.r[i], u = in.u[i], d = flags.resets ? in.gradient[i] : 0, du = in.other_gradient[i];
    for (const double term : {d * in.state[i] * r, -d * in.state[i] * r * r}) da[in.of_r(i)].add(term);
    for (const double term : {du * u, -du * u * u}) da[in.of_u(i)].add(term);
    dstate[i].add(d * r);
  }
  GruGatesBackward op;
  op.r = in.narrow(device, in.r), op.u = in.narrow(device, in.u), op.state = in.narrow(device, in.state);
  if (flags.resets) op.dreset = in.narrow(device, in.gradient);
  op.du = in.narrow(device, in.other_gradient);
  op.da = in.wide(device, in.before_both);
  // The two flags take both values while each is the other's opposite.
  op.accumulate_da = flags.accumulate, op.accumulate_dstate = !flags.accumulate;
  const Tensor state_gradient = in.narrow(device, in.before);
  if (flags.wants_state) op.dstate = state_gradient;
  device.run(op);
  std::vector<Output> outputs{{"da", download(device, op.da), da}};
  if (flags.wants_state && flags.resets) {
    outputs.push_back({"dstate", download(device, state_gradient), dstate});
  } else {
    outputs.push_back({"dstate left alone", download(device, state_gradient), start(in.before, true)});
  }
  return outputs;
}

inline std::vector<Output> judge_blend(Device& device, const GateShape& shape) {
  const GateInputs in(shape);
  std::vector<Judged> candidate, next;
  for (std::size_t i = 0; i < in.cells(); ++i) {
    candidate.push_back(judged(std::tanh(in.a[i])));
    next.push_back({in.u[i] * in.state[i] + (1 - in.u[i]) * std::tanh(in.a[i]), 3.0});
  }
  const BlendState op{in.narrow(device, in.u), in.narrow(device, in.state), in.narrow(device, in.a),
                      device.allocate(shape.rows, shape.width), device.allocate(shape.rows, shape.width)};
  device.run(op);
  return {{"candidate", download(device, op.candidate), candidate}, {"next", download(device, op.next), next}};
}

inline std::vector<Output> judge_blend_backward(Device& device, const GateShape& shape, const GateFlags& flags) {
  const GateInputs in(shape);
  std::vector<Judged> du = start(in.before, !flags.accumulate), da = start(in.other_gradient, flags.accumulate),
                      dstate = start(in.a, flags.accumulate);
  for (std::size_t i = 0; i < in.cells(); ++i) {
    const double u = in.u[i], c = in.candidate[i], g = in.gradient[i];
    for (const double term : {g * in.state[i], -g * c}) du[i].add(term);
    dstate[i].add(g * u);
    for (const double term : {g, -g * u, -g * c * c, g * u * c * c}) da[i].add(term);
  }
  const BlendStateBackward op{in.narrow(device, in.u),
                              in.narrow(device, in.state),
                              in.narrow(device, in.candidate),
                              in.narrow(device, in.gradient),
                              in.narrow(device, in.before),
                              in.narrow(device, in.other_gradient),
                              flags.wants_state ? in.narrow(device, in.a) : Tensor(),
                              !flags.accumulate,
                              flags.accumulate,
                              flags.accumulate};
  device.run(op);
  std::vector<Output> outputs{{"du", download(device, op.du), du}, {"da", download(device, op.da), da}};
  if (flags.wants_state) outputs.push_back({"dstate", download(device, op.dstate), dstate});
  return outputs;
}

/// One case per shape.
inline std::vector<OperationCase> gate_cases(
    const std::function<std::vector<Output>(Device&, const GateShape&)>& judge) {
  std::vector<OperationCase> cases;
  for (const GateShape& shape : gate_shapes()) {
    cases.push_back({"", std::to_string(shape.rows) + " rows, width " + std::to_string(shape.width),
                     [=](Device& device) { return judge(device, shape); }});
  }
  return cases;
}

/// The same for every choice of flags.
inline std::vector<OperationCase> gate_gradient_cases(
    const std::function<std::vector<Output>(Device&, const GateShape&, const GateFlags&)>& judge) {
  std::vector<OperationCase> cases;
  for (const GateFlags& flags : {GateFlags{}, GateFlags{true, true, true}, GateFlags{false, false, true},
                                 GateFlags{true, true, false}, GateFlags{false, true, true}}) {
    for (OperationCase& one :
         gate_cases([=](Device&device, const GateShape&shape) { return judge(device, shape, flags); })) {
      one.name += std::string(flags.resets ? "" : ", no reset") + (flags.accumulate ? ", added" : "") +
                  (flags.wants_state ? "" : ", constant state");
      cases.push_back(std::move(one));
    }
  }
  return cases;
}

inline std::vector<OperationFamily> gate_families() {
  return {family<GruGates>(gate_cases(judge_gates)),
          family<GruGatesBackward>(gate_gradient_cases(judge_gates_backward)),
          family<BlendState>(gate_cases(judge_blend)),
          family<BlendStateBackward>(gate_gradient_cases(judge_blend_backward))};
}

}  // namespace strobe::conformance
