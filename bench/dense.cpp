// Dense layers over 131072 rows of 64 columns, alone and joined with their inputs, forward and backward, by variant.
#include "backends/operations/operations_block.hpp"
#include "bench/measure.hpp"

namespace strobe::bench {
namespace {

const std::int64_t rows = shrunk(1 << 17), width = 64;

BlockDense layer(Device& device, bool skip) {
  BlockDense op;
  op.x = constant(device, rows, width);
  op.w = constant(device, width, width);
  op.y = constant(device, rows, skip ? 2 * width : width);
  if (skip) op.left = op.x;
  op.activation = Activation::relu;
  return op;
}

void forward(benchmark::State& state, const std::string& variant, bool skip) {
  const auto device = make_device(variant);
  const BlockDense op = layer(*device, skip);
  if (skip) {
    measure(state, *device, op);
  } else {
    measure(state, *device, Dense{op.x, op.w, {}, op.y, op.activation});
  }
}

void backward(benchmark::State& state, const std::string& variant, bool skip) {
  const auto device = make_device(variant);
  const BlockDense op = layer(*device, skip);
  BlockDenseBackward back;
  back.x = op.x, back.w = op.w, back.y = op.y, back.activation = op.activation;
  back.dy = constant(*device, rows, op.y.columns());
  back.dx = constant(*device, rows, width), back.dw = constant(*device, width, width);
  if (skip) {
    back.dleft = back.dx, back.accumulate_dleft = true;
    measure(state, *device, back);
    return;
  }
  DenseBackward alone;
  alone.x = back.x, alone.w = back.w, alone.y = back.y, alone.dy = back.dy, alone.dx = back.dx, alone.dw = back.dw;
  alone.activation = back.activation;
  measure(state, *device, alone);
}

const Registration registered{[] {
  for (const std::string& variant : variants<Dense, BlockDense>({"rows", "vector", "plain"})) {
    for (const bool skip : {false, true}) {
      const std::string name = skip ? "block_dense" : "dense";
      timed(register_guarded((name + "/wide/" + variant).c_str(),
                             [=](benchmark::State& state) { forward(state, variant, skip); }),
            benchmark::kMillisecond);
      timed(register_guarded((name + "_backward/wide/" + variant).c_str(),
                             [=](benchmark::State& state) { backward(state, variant, skip); }),
            benchmark::kMillisecond);
    }
  }
}};

}  // namespace
}  // namespace strobe::bench
