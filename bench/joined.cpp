// A dense layer of parts side by side, as DCRNN's gates read them, compared with joining the parts and one dense layer.
// Narrow shape: 16384 vertices, all terms of 2 features in 10 columns and five terms of 6 states, to 12 columns. Wide
// shape: 4096 vertices, 10 columns and five terms of 64 states, to 128 columns.
#include "backends/operations/operations_join.hpp"
#include "bench/measure.hpp"

namespace strobe::bench {
namespace {

constexpr int terms = 5;

struct Shape {
  std::int64_t rows, features, state;
  std::int64_t width() const { return 2 * state; }
};

const Shape narrow{shrunk(1 << 14), 10, 6}, wide{shrunk(1 << 12), 10, 64};

struct Layer {
  std::vector<Tensor> parts, gradients;
  std::vector<std::int64_t> part_widths;
  Tensor whole, gradient, w, bias, y, dw, dbias;

  /// The parts of the state get a gradient.
  Layer(Device& device, const Shape& shape) {
    const std::int64_t rows = shape.rows, width = shape.width(), columns = shape.features + terms * shape.state;
    for (int i = 0; i <= terms; ++i) {
      const std::int64_t part = i == 0 ? shape.features : shape.state;
      parts.push_back(constant(device, rows, part));
      gradients.push_back(i == 0 ? Tensor() : constant(device, rows, part));
      part_widths.push_back(part);
    }
    whole = constant(device, rows, columns), gradient = constant(device, rows, columns);
    w = constant(device, columns, width), dw = constant(device, columns, width);
    bias = constant(device, 1, width), dbias = constant(device, 1, width);
    y = constant(device, rows, width);
  }
};

JoinedDenseBackward backward_of(const Layer& layer) {
  return {layer.parts, layer.w, layer.y, layer.gradients, std::vector<bool>(layer.parts.size()), layer.dw, layer.dbias};
}

void joined(benchmark::State& state, const Shape& shape, const std::string& variant, bool back) {
  const auto device = make_device(variant);
  const Layer layer(*device, shape);
  if (back) {
    measure(state, *device, backward_of(layer));
  } else {
    measure(state, *device, JoinedDense{layer.parts, layer.w, layer.bias, layer.y});
  }
}

void apart(benchmark::State& state, const Shape& shape, bool back) {
  const auto device = make_device(device_name() == "cpu" ? "vector" : "");
  const Layer layer(*device, shape);
  DenseBackward dense;
  dense.x = layer.whole, dense.w = layer.w, dense.dy = layer.y, dense.dx = layer.gradient, dense.dw = layer.dw;
  dense.dbias = layer.dbias;
  const double seconds = repeat(state, *device, [&] {
    if (back) {
      device->run(dense);
      device->run(SplitColumns{layer.gradient, layer.gradients, layer.part_widths, backward_of(layer).accumulate});
    } else {
      device->run(JoinColumns{layer.parts, layer.whole});
      device->run(Dense{layer.whole, layer.w, layer.bias, layer.y});
    }
  });
  const Work work = back ? backward_of(layer).work() : JoinedDense{layer.parts, layer.w, layer.bias, layer.y}.work();
  report(state, work, seconds);
}

const Registration registered{[] {
  for (const bool back : {false, true}) {
    for (const Shape* shape : {&narrow, &wide}) {
      const std::string name =
          std::string(back ? "joined_dense_backward/" : "joined_dense/") + (shape == &wide ? "wide/" : "narrow/");
      const bool by_rows = shape == &wide;
      std::vector<std::string> of_cpu{"plain", by_rows ? "rows" : "vector"};
      if (back && !by_rows) of_cpu.push_back("parts");
      for (const std::string& variant : variants<JoinedDense>(of_cpu)) {
        timed(register_guarded((name + variant).c_str(),
                               [=](benchmark::State& state) { joined(state, *shape, variant, back); }),
              benchmark::kMillisecond);
      }
      timed(register_guarded((name + "apart").c_str(), [=](benchmark::State& state) { apart(state, *shape, back); }),
            benchmark::kMillisecond);
    }
  }
}};

}  // namespace
}  // namespace strobe::bench
