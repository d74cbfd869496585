// Cases and judges of the dense layer and its gradient: the definitions, one output value at a time.
#pragma once

#include <algorithm>

#include "tests/conformance/operations/operations.hpp"

namespace strobe::conformance {

struct DenseShape {
  std::int64_t rows, inner, width;
  std::string name() const {
    return std::to_string(rows) + " x " + std::to_string(inner) + " to " + std::to_string(width);
  }
};

inline const std::vector<DenseShape>& dense_shapes() {
  static const std::vector<DenseShape> shapes{
      {0, 2, 6},     {1, 1, 1},     {1, 6, 6},     {5, 2, 6},      {7, 3, 2},      {33, 6, 6},     {64, 8, 8},
      {255, 7, 5},   {256, 6, 2},   {257, 6, 6},   {1000, 1, 1},   {5000, 2, 6},   {5001, 6, 6},   {4097, 6, 7},
      {700, 16, 16}, {513, 32, 32}, {300, 33, 6},  {300, 6, 33},   {129, 64, 64},  {65, 128, 128}, {9000, 6, 6},
      {9001, 12, 2}, {600, 91, 91}, {700, 40, 12}, {33000, 17, 1}, {520, 130, 70}, {70, 300, 200}, {40, 256, 257}};
  return shapes;
}

inline std::vector<Output> judge_dense(Device& device, const DenseShape& s, bool with_bias, Activation activation) {
  const std::vector<double> x = random_values(s.rows * s.inner, 21), w = random_values(s.inner * s.width, 22),
                            bias = random_values(s.width, 23);
  std::vector<Judged> y(s.rows * s.width);
  for (std::int64_t row = 0; row < s.rows; ++row) {
    Judged* const own = y.data() + row * s.width;
    for (std::int64_t g = 0; with_bias && g < s.width; ++g) own[g].add(bias[g]);
    for (std::int64_t f = 0; f < s.inner; ++f) {
      const double value = x[row * s.inner + f];
      for (std::int64_t g = 0; g < s.width; ++g) own[g].add(value * w[f * s.width + g]);
    }
    for (std::int64_t g = 0; activation == Activation::relu && g < s.width; ++g)
      own[g].value = std::max(0.0, own[g].value);
  }
  Dense op;
  op.x = upload(device, x, s.rows, s.inner);
  op.w = upload(device, w, s.inner, s.width);
  if (with_bias) op.bias = upload(device, bias, 1, s.width);
  op.y = device.allocate(s.rows, s.width);
  op.activation = activation;
  device.run(op);
  return {{"y", download(device, op.y), y}};
}

inline std::vector<OperationCase> dense_cases() {
  std::vector<OperationCase> cases;
  for (const DenseShape& shape : dense_shapes()) {
    for (const int flags : {0, 1, 2, 3}) {
      const bool bias = (flags & 1) != 0;
      const Activation activation = (flags & 2) != 0 ? Activation::relu : Activation::none;
      cases.push_back({"", shape.name() + (bias ? ", bias" : "") + ((flags & 2) != 0 ? ", relu" : ""),
                       [=](Device& device) { return judge_dense(device, shape, bias, activation); }});
    }
  }
  return cases;
}

/// Which parts of the gradient a case asks for.
struct GradientParts {
  Activation activation;
  bool dx, accumulate_dx, bias;
};

/// The values that a backward case starts from. `y` holds zeros, negatives and positives, as a relu's output may.
struct DenseBackwardInput {
  std::vector<double> x, w, y, dy, dx, dw, dbias;
};

inline DenseBackwardInput dense_backward_input(const DenseShape& s) {
  DenseBackwardInput in{random_values(s.rows * s.inner, 24), random_values(s.inner * s.width, 25),
                        random_values(s.rows * s.width, 26), random_values(s.rows * s.width, 27),
                        random_values(s.rows * s.inner, 28), random_values(s.inner * s.width, 29),
                        random_values(s.width, 30)};
  for (std::size_t i = 0; i < in.y.size(); i += 3) in.y[i] = 0;
  return in;
}

inline std::vector<Output> judge_gradient(const DenseShape& s, const GradientParts& parts,
                                          const DenseBackwardInput& in) {
  std::vector<Judged> dx = start(in.dx, parts.accumulate_dx), dw = start(in.dw, true), dbias = start(in.dbias, true);
  std::vector<double> dz = in.dy;
  for (std::size_t i = 0; i < dz.size(); ++i) {
    if (parts.activation == Activation::relu && !(in.y[i] > 0)) dz[i] = 0;
    dbias[i % static_cast<std::size_t>(s.width)].add(dz[i]);
  }
  for (std::int64_t row = 0; row < s.rows; ++row) {
    const double* const own = dz.data() + row * s.width;
    for (std::int64_t f = 0; f < s.inner; ++f) {  // neighbours in memory innermost: this takes most of the tests' time
      const auto cell = static_cast<std::size_t>(row * s.inner + f), weights = static_cast<std::size_t>(f * s.width);
      Judged sum = dx[cell];
      for (std::int64_t g = 0; g < s.width; ++g) {
        sum.add(own[g] * in.w[weights + static_cast<std::size_t>(g)]);
        dw[weights + static_cast<std::size_t>(g)].add(in.x[cell] * own[g]);
      }
      dx[cell] = sum;
    }
  }
  return {{"dx", {}, dx}, {"dw", {}, dw}, {"dbias", {}, dbias}};
}

/// dx, dw and dbias of the values `in` of the shape.
inline const std::vector<Output>& expected_gradient(const DenseShape& s, const GradientParts& parts,
                                                    const DenseBackwardInput& in) {
  return judged_once(
      s.name() + (parts.activation == Activation::relu ? ", relu" : "") + (parts.accumulate_dx ? ", accumulated" : ""),
      [&] { return judge_gradient(s, parts, in); });
}

inline std::vector<Output> judge_dense_backward(Device& device, const DenseShape& s, const GradientParts& parts) {
  const DenseBackwardInput in = dense_backward_input(s);
  std::vector<Output> outputs = expected_gradient(s, parts, in);
  DenseBackward op;
  op.x = upload(device, in.x, s.rows, s.inner);
  op.w = upload(device, in.w, s.inner, s.width);
  if (parts.activation == Activation::relu) op.y = upload(device, in.y, s.rows, s.width);
  op.dy = upload(device, in.dy, s.rows, s.width);
  if (parts.dx) op.dx = upload(device, in.dx, s.rows, s.inner);
  op.dw = upload(device, in.dw, s.inner, s.width);
  if (parts.bias) op.dbias = upload(device, in.dbias, 1, s.width);
  op.activation = parts.activation;
  op.accumulate_dx = parts.accumulate_dx;
  device.run(op);
  outputs[1].got = download(device, op.dw);
  if (parts.bias)
    outputs[2].got = download(device, op.dbias);
  else
    outputs.pop_back();
  if (parts.dx)
    outputs[0].got = download(device, op.dx);
  else
    outputs.erase(outputs.begin());
  return outputs;
}

inline std::vector<OperationCase> dense_backward_cases() {
  std::vector<OperationCase> cases;
  for (const DenseShape& shape : dense_shapes()) {
    // The judge takes seconds for the largest shapes: each part is asked for and left out, not every combination. Those
    // that share a judge follow each other.
    const bool large = shape.rows * shape.inner * shape.width > 1'000'000;
    for (const int flags :
         large ? std::vector<int>{0, 3, 14} : std::vector<int>{0, 2, 8, 10, 1, 3, 9, 11, 6, 14, 7, 15}) {
      const GradientParts parts{(flags & 1) != 0 ? Activation::relu : Activation::none, (flags & 2) != 0,
                                (flags & 4) != 0, (flags & 8) != 0};
      cases.push_back({"",
                       shape.name() + ((flags & 1) != 0 ? ", relu" : "") + (parts.dx ? ", dx" : "") +
                           (parts.accumulate_dx ? " accumulated" : "") + (parts.bias ? ", dbias" : ""),
                       [=](Device& device) { return judge_dense_backward(device, shape, parts); }});
    }
  }
  return cases;
}

}  // namespace strobe::conformance
