// Cases and judges of the gates of a step-by-step recurrence.
#pragma once

#include <cmath>

#include "backends/conformance/operations.hpp"
#include "backends/operations_gate.hpp"

namespace strobe::conformance {

struct GateShape {
  std::int64_t rows, width;
};

inline const std::vector<GateShape>& gate_shapes() {
  static const std::vector<GateShape> shapes{{0, 3}, {1, 1}, {5, 6}, {37, 2}, {130, 17}, {9000, 3}};
  return shapes;
}

/// Random inputs of one case and the places of a state's cell in its row of gates.
struct GateInputs {
  GateShape shape;
  std::vector<double> gates, state, a, candidate, gradient, before, before_gates;

  explicit GateInputs(const GateShape& s)
      : shape(s),
        gates(random_values(2 * s.rows * s.width, 81)),
        state(random_values(s.rows * s.width, 82)),
        a(random_values(s.rows * s.width, 83)),
        candidate(random_values(s.rows * s.width, 84)),
        gradient(random_values(s.rows * s.width, 85)),
        before(random_values(s.rows * s.width, 86)),
        before_gates(random_values(2 * s.rows * s.width, 87)) {}

  std::size_t cells() const { return state.size(); }
  std::size_t r(std::size_t i) const {
    const auto h = static_cast<std::size_t>(shape.width);
    return i / h * 2 * h + i % h;
  }
  std::size_t u(std::size_t i) const { return r(i) + static_cast<std::size_t>(shape.width); }
  Tensor narrow(Device& device, const std::vector<double>& values) const {
    return upload(device, values, shape.rows, shape.width);
  }
  Tensor wide(Device& device, const std::vector<double>& values) const {
    return upload(device, values, shape.rows, 2 * shape.width);
  }
};

inline Judged judged(double value) { return {value, std::max(1.0, std::abs(value))}; }

inline std::vector<Output> judge_sigmoid(Device& device, const GateShape& shape, bool backward) {
  const GateInputs in(shape);
  std::vector<Judged> expected;
  if (!backward) {
    for (const double x : in.state) expected.push_back(judged(1.0 / (1.0 + std::exp(-x))));
    const Sigmoid op{in.narrow(device, in.state), device.allocate(shape.rows, shape.width)};
    device.run(op);
    return {{"y", download(device, op.y), expected}};
  }
  expected = start(in.before, true);
  for (std::size_t i = 0; i < in.cells(); ++i) {
    expected[i].add(in.gradient[i] * in.state[i]);
    expected[i].add(-in.gradient[i] * in.state[i] * in.state[i]);
  }
  const SigmoidBackward op{in.narrow(device, in.state), in.narrow(device, in.gradient), in.narrow(device, in.before)};
  device.run(op);
  return {{"dx", download(device, op.dx), expected}};
}

inline std::vector<Output> judge_reset(Device& device, const GateShape& shape, bool backward) {
  const GateInputs in(shape);
  if (!backward) {
    std::vector<Judged> expected;
    for (std::size_t i = 0; i < in.cells(); ++i) expected.push_back(judged(in.gates[in.r(i)] * in.state[i]));
    const ResetState op{in.wide(device, in.gates), in.narrow(device, in.state),
                        device.allocate(shape.rows, shape.width)};
    device.run(op);
    return {{"reset", download(device, op.reset), expected}};
  }
  std::vector<Judged> dgates = start(in.before_gates, true), dstate = start(in.before, true);
  for (std::size_t i = 0; i < in.cells(); ++i) {
    dgates[in.r(i)].add(in.gradient[i] * in.state[i]);
    dstate[i].add(in.gradient[i] * in.gates[in.r(i)]);
  }
  const ResetStateBackward op{in.wide(device, in.gates), in.narrow(device, in.state), in.narrow(device, in.gradient),
                              in.wide(device, in.before_gates), in.narrow(device, in.before)};
  device.run(op);
  return {{"dgates", download(device, op.dgates), dgates}, {"dstate", download(device, op.dstate), dstate}};
}

inline std::vector<Output> judge_blend(Device& device, const GateShape& shape) {
  const GateInputs in(shape);
  std::vector<Judged> candidate, next;
  for (std::size_t i = 0; i < in.cells(); ++i) {
    candidate.push_back(judged(std::tanh(in.a[i])));
    const double u = in.gates[in.u(i)];
    next.push_back({u * in.state[i] + (1 - u) * std::tanh(in.a[i]), 3.0});
  }
  const BlendState op{in.wide(device, in.gates), in.narrow(device, in.state), in.narrow(device, in.a),
                      device.allocate(shape.rows, shape.width), device.allocate(shape.rows, shape.width)};
  device.run(op);
  return {{"candidate", download(device, op.candidate), candidate}, {"next", download(device, op.next), next}};
}

inline std::vector<Output> judge_blend_backward(Device& device, const GateShape& shape) {
  const GateInputs in(shape);
  std::vector<Judged> dgates = start(in.before_gates, true), dstate = start(in.before, true),
                      da = start(in.before, true);
  for (std::size_t i = 0; i < in.cells(); ++i) {
    const double u = in.gates[in.u(i)], c = in.candidate[i], g = in.gradient[i];
    dgates[in.u(i)].add(g * in.state[i]);
    dgates[in.u(i)].add(-g * c);
    dstate[i].add(g * u);
    for (const double term : {g, -g * u, -g * c * c, g * u * c * c}) da[i].add(term);
  }
  const BlendStateBackward op{in.wide(device, in.gates),        in.narrow(device, in.state),
                              in.narrow(device, in.candidate),  in.narrow(device, in.gradient),
                              in.wide(device, in.before_gates), in.narrow(device, in.before),
                              in.narrow(device, in.before)};
  device.run(op);
  return {{"dgates", download(device, op.dgates), dgates},
          {"da", download(device, op.da), da},
          {"dstate", download(device, op.dstate), dstate}};
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

inline std::vector<OperationFamily> gate_families() {
  const auto sigmoid = [](bool backward) {
    return gate_cases([=](Device& device, const GateShape& shape) { return judge_sigmoid(device, shape, backward); });
  };
  const auto reset = [](bool backward) {
    return gate_cases([=](Device& device, const GateShape& shape) { return judge_reset(device, shape, backward); });
  };
  return {family<Sigmoid>(sigmoid(false)),
          family<SigmoidBackward>(sigmoid(true)),
          family<ResetState>(reset(false)),
          family<ResetStateBackward>(reset(true)),
          family<BlendState>(gate_cases(judge_blend)),
          family<BlendStateBackward>(gate_cases(judge_blend_backward))};
}

}  // namespace strobe::conformance
