// A dense layer of parts side by side, as DCRNN's gates read them on the narrow shape (16384 vertices, five terms of 3
// features and five of 6 states, to 12 columns), beside the same as a joined matrix and one dense layer.
#include "backends/operations_join.hpp"
#include "bench/measure.hpp"

namespace strobe::bench {
namespace {

constexpr std::int64_t rows = 1 << 14, width = 12;
constexpr std::int64_t widths[] = {3, 3, 3, 3, 3, 6, 6, 6, 6, 6};
constexpr std::int64_t wanted = 6;  // parts at least so wide get a gradient

struct Layer {
  std::vector<Tensor> parts, gradients;
  std::vector<std::int64_t> part_widths;
  Tensor whole, gradient, w, bias, y, dw, dbias;

  explicit Layer(Device& device) {
    std::int64_t columns = 0;
    for (const std::int64_t part : widths) {
      parts.push_back(constant(device, rows, part));
      gradients.push_back(part >= wanted ? constant(device, rows, part) : Tensor());
      part_widths.push_back(part);
      columns += part;
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

void joined(benchmark::State& state, const std::string& variant, bool back) {
  const auto device = make_device(variant);
  const Layer layer(*device);
  if (back) {
    measure(state, *device, backward_of(layer));
  } else {
    measure(state, *device, JoinedDense{layer.parts, layer.w, layer.bias, layer.y});
  }
}

void apart(benchmark::State& state, bool back) {
  const auto device = make_device("vector");
  const Layer layer(*device);
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

const bool registered = [] {
  for (const bool back : {false, true}) {
    const std::string name = back ? "joined_dense_backward/" : "joined_dense/";
    for (const std::string variant : {"plain", "vector"}) {
      timed(benchmark::RegisterBenchmark((name + variant).c_str(),
                                         [=](benchmark::State& state) { joined(state, variant, back); }),
            benchmark::kMillisecond);
    }
    timed(benchmark::RegisterBenchmark((name + "apart").c_str(), [=](benchmark::State& state) { apart(state, back); }),
          benchmark::kMillisecond);
  }
  return true;
}();

}  // namespace
}  // namespace strobe::bench
