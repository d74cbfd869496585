// Evolving weights: one dense layer per step forward and backward, and the evolution of a layer's weights over all
// steps, on the narrow shape (T = 64, N = 16384, 6 to 6) and the wide one (T = 32, N = 4096, 64 to 64).
#include "backends/operations/operations_evolve.hpp"
#include "bench/measure.hpp"

namespace strobe::bench {
namespace {

struct Shape {
  std::int64_t steps, vertices, width;
};

Shape shape_of(bool wide) { return wide ? Shape{32, shrunk(4096), 64} : Shape{64, shrunk(16384), 6}; }

Tensor equal_steps(Device& device, const Shape& s) {
  std::vector<std::int64_t> rows;
  for (std::int64_t t = 0; t <= s.steps; ++t) rows.push_back(t * s.vertices);
  return device.move_in(rows.data(), s.steps + 1, 1, ElementType::i64);
}

void forward(benchmark::State& state, const std::string& variant, bool wide) {
  const Shape s = shape_of(wide);
  const auto device = make_device(variant);
  const std::int64_t rows = s.steps * s.vertices;
  measure(state, *device,
          StepDense{constant(*device, rows, s.width), constant(*device, s.steps * s.width, s.width),
                    equal_steps(*device, s), constant(*device, rows, s.width), Activation::relu});
}

void backward(benchmark::State& state, const std::string& variant, bool wide) {
  const Shape s = shape_of(wide);
  const auto device = make_device(variant);
  const std::int64_t rows = s.steps * s.vertices;
  StepDenseBackward op;
  op.x = constant(*device, rows, s.width);
  op.w = constant(*device, s.steps * s.width, s.width);
  op.step_rows = equal_steps(*device, s);
  op.y = constant(*device, rows, s.width);
  op.dy = constant(*device, rows, s.width);
  op.dx = constant(*device, rows, s.width);
  op.dw = constant(*device, s.steps * s.width, s.width);
  op.activation = Activation::relu;
  measure(state, *device, op);
}

void evolve(benchmark::State& state, const std::string& variant, bool wide, bool back) {
  const Shape s = shape_of(wide);
  const auto device = make_device(variant);
  Device& d = *device;
  EvolveWeights op;
  op.wx = constant(d, 4 * s.width, s.width);
  op.wh = constant(d, 4 * s.width, s.width);
  op.bias = constant(d, 4 * s.width, s.width, 0.5);
  op.start = constant(d, s.width, s.width, 0.5);
  op.weights = constant(d, s.steps * s.width, s.width);
  op.kept = constant(d, s.steps * kept_of(op.cell) * s.width, s.width);
  if (!back) {
    measure(state, d, op);
    return;
  }
  d.run(op);
  EvolveWeightsBackward gradient;
  gradient.wx = op.wx, gradient.wh = op.wh, gradient.start = op.start, gradient.weights = op.weights,
  gradient.kept = op.kept;
  gradient.dweights = constant(d, s.steps * s.width, s.width, 1e-6);
  gradient.dwx = constant(d, 4 * s.width, s.width), gradient.dwh = constant(d, 4 * s.width, s.width);
  gradient.dbias = constant(d, 4 * s.width, s.width), gradient.dstart = constant(d, s.width, s.width);
  measure(state, d, gradient);
}

const Registration registered{[] {
  const auto add = [](const std::string& name, auto run) {
    timed(register_guarded(("evolve/" + name).c_str(), run), benchmark::kMillisecond);
  };
  for (const std::string& variant : variants<StepDense, EvolveWeights>({"plain", "vector"})) {
    for (const bool wide : {false, true}) {
      const std::string tail = std::string(wide ? "/wide/" : "/narrow/") + variant;
      add("step_dense" + tail, [=](benchmark::State& state) { forward(state, variant, wide); });
      add("step_dense_backward" + tail, [=](benchmark::State& state) { backward(state, variant, wide); });
      add("weights" + tail, [=](benchmark::State& state) { evolve(state, variant, wide, false); });
      add("weights_backward" + tail, [=](benchmark::State& state) { evolve(state, variant, wide, true); });
    }
  }
}};

}  // namespace
}  // namespace strobe::bench
