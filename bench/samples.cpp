// Sample operations of a task: putting rows of embeddings side by side, adding their gradients to those of the
// embeddings, a head on pairs of rows that are not put side by side, and the loss of two classes.
#include <functional>

#include "backends/operations/operations_gather.hpp"
#include "bench/measure.hpp"

namespace strobe::bench {
namespace {

// As link prediction has them on the graphs that `strobe calibrate` generates: 12 samples for 31 vertices of a step.
const std::int64_t steps = 32, vertices = shrunk(30000), samples_per_step = shrunk(11600);
const std::int64_t samples = steps * samples_per_step;

/// Rows of samples, step by step and in no order within one.
std::vector<std::int64_t> sample_rows() {
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < samples; ++i) {
    const std::int64_t vertex = i * 2654435761ULL % static_cast<std::uint64_t>(vertices);
    rows.push_back(i / samples_per_step * vertices + vertex);
  }
  return rows;
}

void move_rows(benchmark::State& state, const std::string& variant, bool scatter) {
  const auto device = make_device(variant);
  const std::int64_t width = state.range(0);
  const std::vector<std::int64_t> rows = sample_rows();
  CopyRows op;
  const Tensor embeddings = constant(*device, steps * vertices, width), cells = constant(*device, samples, 2 * width);
  op.from = scatter ? cells : embeddings;
  op.to = scatter ? embeddings : cells;
  (scatter ? op.to_rows : op.from_rows) = device->move_in(rows.data(), samples, 1, ElementType::i64);
  op.count = samples;
  op.width = width;
  op.accumulate = scatter;
  measure(state, *device, op);
}

/// A head of two outputs on pairs of rows, or its gradient; `stored`: rows side by side first, then the dense layer.
void head(benchmark::State& state, const std::string& variant, bool back) {
  const bool stored = variant == "stored";
  const auto device = make_device(stored ? "" : variant);
  const std::int64_t width = state.range(0);
  const std::vector<std::int64_t> rows = sample_rows();
  const Tensor list = device->move_in(rows.data(), samples, 1, ElementType::i64);
  const Tensor x = constant(*device, steps * vertices, width), dx = constant(*device, steps * vertices, width);
  const Tensor w = constant(*device, 2 * width, 2), dw = constant(*device, 2 * width, 2);
  const Tensor bias = constant(*device, 1, 2), dbias = constant(*device, 1, 2), y = constant(*device, samples, 2);
  const GatheredDense forward{x, {list, list}, w, bias, y};
  const GatheredDenseBackward backward{x, {list, list}, w, y, dx, dw, dbias};
  if (!stored) {
    back ? measure(state, *device, backward) : measure(state, *device, forward);
    return;
  }
  const Tensor cells = constant(*device, samples, 2 * width), dcells = constant(*device, samples, 2 * width);
  const double seconds = repeat(state, *device, [&] {
    for (const std::int64_t first : {std::int64_t{0}, width}) {
      if (!back) device->run(CopyRows{x, cells, list, {}, samples, 0, first, width, false});
    }
    if (!back) return device->run(Dense{cells, w, bias, y, Activation::none});
    device->run(DenseBackward{cells, w, {}, y, dcells, dw, dbias});
    for (const std::int64_t first : {std::int64_t{0}, width})
      device->run(CopyRows{dcells, dx, {}, list, samples, first, 0, width, true});
  });
  report(state, back ? backward.work() : forward.work(), seconds);
}

void two_classes(benchmark::State& state, const std::string& variant) {
  const auto device = make_device(variant);
  std::vector<std::int32_t> labels;
  for (std::int64_t i = 0; i < samples; ++i) labels.push_back(static_cast<std::int32_t>(i % 2));
  SoftmaxCrossEntropy op;
  op.logits = constant(*device, samples, 2);
  op.gradient = device->allocate(samples, 2);
  op.labels = device->move_in(labels.data(), samples, 1, ElementType::i32);
  op.loss = device->move_in(nullptr, 1, 1, ElementType::f64);
  op.scale = 1e-3;
  measure(state, *device, op);
}

void add(const std::string& name, const std::function<void(benchmark::State&)>& run) {
  timed(register_guarded(("samples/" + name).c_str(), run), benchmark::kMicrosecond)
      ->ArgName("width")
      ->Arg(6)
      ->Arg(16)
      ->Arg(64);
}

const Registration registered{[] {
  for (const std::string& variant : variants<CopyRows>({"plain", "parallel"})) {
    add("gather/" + variant, [=](benchmark::State& state) { move_rows(state, variant, false); });
    add("scatter/" + variant, [=](benchmark::State& state) { move_rows(state, variant, true); });
  }
  for (const std::string& variant : variants<GatheredDense>({"plain", "vector", "turned", "stored"})) {
    add("head/" + variant, [=](benchmark::State& state) { head(state, variant, false); });
    add("head_backward/" + variant, [=](benchmark::State& state) { head(state, variant, true); });
  }
  for (const std::string& variant : variants<SoftmaxCrossEntropy>({"plain", "vector"})) {
    timed(register_guarded(("samples/two_classes/" + variant).c_str(),
                           [=](benchmark::State& state) { two_classes(state, variant); }),
          benchmark::kMicrosecond);
  }
}};

}  // namespace
}  // namespace strobe::bench
