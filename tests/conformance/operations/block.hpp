// Cases and judges of products of column blocks: the definitions, one output value at a time.
#pragma once

#include <algorithm>

#include "backends/operations/operations_block.hpp"
#include "tests/conformance/operations/operations.hpp"

namespace strobe::conformance {

struct BlockShape {
  std::int64_t rows, skip, blocks, inner, width;
  bool bias, relu;

  std::string name() const {
    return std::to_string(rows) + " rows, " + std::to_string(skip) + " passed, " + std::to_string(blocks) + " x " +
           std::to_string(inner) + " to " + std::to_string(width) + (bias ? ", bias" : "") + (relu ? ", relu" : "");
  }
};

inline std::vector<BlockShape> block_shapes() {
  const std::vector<std::vector<std::int64_t>> sizes{
      {0, 2, 1, 2, 6},       {1, 1, 1, 1, 1},     {5, 2, 1, 2, 6},    {300, 6, 1, 6, 6},   {129, 0, 3, 6, 6},
      {4099, 0, 3, 2, 6},    {9001, 2, 1, 2, 6},  {65, 64, 1, 8, 33}, {257, 3, 2, 17, 16}, {300, 0, 100, 8, 8},
      {150, 128, 2, 64, 68}, {290, 3, 99, 7, 10}, {70, 5, 1, 9, 32}};
  std::vector<BlockShape> shapes;
  for (const auto& s : sizes) {
    for (const int flags : {0, 1, 2, 3}) {
      shapes.push_back({s[0], s[1], s[2], s[3], s[4], (flags & 1) != 0, (flags & 2) != 0});
    }
  }
  return shapes;
}

inline std::vector<Output> judge_block_dense(Device& device, const BlockShape& s) {
  const std::int64_t columns = s.skip + s.blocks * s.width, from = s.blocks * s.inner;
  const std::vector<double> left = random_values(s.rows * s.skip, 81), x = random_values(s.rows * from, 82),
                            w = random_values(from * s.width, 83), bias = random_values(s.blocks * s.width, 84);
  std::vector<Judged> y(s.rows * columns);
  for (std::int64_t i = 0; i < s.rows * columns; ++i) {
    const std::int64_t row = i / columns, column = i % columns - s.skip, block = column / s.width;
    Judged& out = y[i];
    if (column < 0) out.add(left[row * s.skip + i % columns]);
    if (column >= 0 && s.bias) out.add(bias[column]);
    for (std::int64_t f = 0; column >= 0 && f < s.inner; ++f) {
      out.add(x[row * from + block * s.inner + f] * w[(block * s.inner + f) * s.width + column % s.width]);
    }
    if (s.relu) out.value = std::max(0.0, out.value);
  }
  BlockDense op;
  if (s.skip > 0) op.left = upload(device, left, s.rows, s.skip);
  op.x = upload(device, x, s.rows, from);
  op.w = upload(device, w, from, s.width);
  if (s.bias) op.bias = upload(device, bias, s.blocks, s.width);
  op.y = device.allocate(s.rows, columns);
  op.blocks = s.blocks;
  op.activation = s.relu ? Activation::relu : Activation::none;
  device.run(op);
  return {{"y", download(device, op.y), y}};
}

/// Expected dleft, dx, dw, dbias; with `aliased`, dleft is added to dx.
inline std::vector<Output> judge_block_gradient(const BlockShape& s, const BlockDenseBackward& op,
                                                const std::vector<std::vector<double>>& in, bool aliased) {
  const std::int64_t columns = s.skip + s.blocks * s.width, from = s.blocks * s.inner;
  const std::vector<double>&x = in[0], &w = in[1], &y = in[2], &dy = in[3];
  std::vector<Judged> dleft = start(in[4], op.accumulate_dleft), dx = start(in[5], op.accumulate_dx),
                      dw = start(in[6], true), dbias = start(in[7], true);
  for (std::int64_t i = 0; i < s.rows * columns; ++i) {
    const std::size_t at = i;
    if (s.relu && !(y[at] > 0)) continue;
    const std::int64_t row = i / columns, column = i % columns - s.skip, block = column / s.width;
    if (column < 0) {
      (aliased ? dx : dleft)[row * s.skip + i % columns].add(dy[at]);
      continue;
    }
    dbias[column].add(dy[at]);
    for (std::int64_t f = 0; f < s.inner; ++f) {
      const auto cell = static_cast<std::size_t>(row * from + block * s.inner + f),
                 weight = static_cast<std::size_t>((block * s.inner + f) * s.width + column % s.width);
      dx[cell].add(dy[at] * w[weight]);
      dw[weight].add(dy[at] * x[cell]);
    }
  }
  return {{"dw", {}, dw}, {"dx", {}, dx}, {"dleft", {}, dleft}, {"dbias", {}, dbias}};
}

/// The same, computed once for consecutive cases that ask for it.
inline std::vector<Output> expected_block_gradient(const BlockShape& s, const BlockDenseBackward& op,
                                                   const std::vector<std::vector<double>>& in, bool aliased) {
  const std::string key = s.name() + (op.accumulate_dx ? ", dx added" : "") +
                          (op.accumulate_dleft ? ", dleft added" : "") + (aliased ? ", aliased" : "");
  return judged_once(key, [&] { return judge_block_gradient(s, op, in, aliased); });
}

inline std::vector<Output> judge_block_dense_backward(Device& device, const BlockShape& s, bool with_dx, bool add) {
  const std::int64_t columns = s.skip + s.blocks * s.width, from = s.blocks * s.inner;
  std::vector<std::vector<double>> in{random_values(s.rows * from, 82),    random_values(from * s.width, 83),
                                      random_values(s.rows * columns, 85), random_values(s.rows * columns, 86),
                                      random_values(s.rows * s.skip, 87),  random_values(s.rows * from, 88),
                                      random_values(from * s.width, 89),   random_values(s.blocks * s.width, 90)};
  const bool aliased = with_dx && s.skip == from;  // the block passed through is x itself
  BlockDenseBackward op;
  op.x = upload(device, in[0], s.rows, from);
  op.w = upload(device, in[1], from, s.width);
  op.y = upload(device, in[2], s.rows, columns);
  op.dy = upload(device, in[3], s.rows, columns);
  if (with_dx) op.dx = upload(device, in[5], s.rows, from);
  if (with_dx && s.skip > 0) op.dleft = aliased ? op.dx : upload(device, in[4], s.rows, s.skip);
  op.dw = upload(device, in[6], from, s.width);
  if (s.bias) op.dbias = upload(device, in[7], s.blocks, s.width);
  op.blocks = s.blocks;
  op.activation = s.relu ? Activation::relu : Activation::none;
  op.accumulate_dx = add;
  op.accumulate_dleft = add || aliased;
  std::vector<Output> expected = expected_block_gradient(s, op, in, aliased), outputs;
  device.run(op);
  const std::vector<Tensor> got{op.dw, op.dx, aliased ? Tensor() : op.dleft, op.dbias};
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (!got[i].defined()) continue;
    expected[i].got = download(device, got[i]);
    outputs.push_back(std::move(expected[i]));
  }
  return outputs;
}

inline std::vector<OperationCase> block_dense_cases() {
  std::vector<OperationCase> cases;
  for (const BlockShape& shape : block_shapes()) {
    cases.push_back({"", shape.name(), [=](Device& device) { return judge_block_dense(device, shape); }});
  }
  return cases;
}

inline std::vector<OperationCase> block_dense_backward_cases() {
  std::vector<OperationCase> cases;
  for (const BlockShape& shape : block_shapes()) {
    for (const int flags : {0, 1, 3}) {
      cases.push_back({"", shape.name() + ((flags & 1) != 0 ? ", dx" : "") + ((flags & 2) != 0 ? " accumulated" : ""),
                       [=](Device& device) {
                         return judge_block_dense_backward(device, shape, (flags & 1) != 0, (flags & 2) != 0);
                       }});
    }
  }
  return cases;
}

}  // namespace strobe::conformance
