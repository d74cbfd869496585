// Cases and judges of the fused operations (backends/operations/operations_fused.hpp): the two steps one after the
// other, in double.
#pragma once

#include <algorithm>

#include "backends/operations/operations_fused.hpp"
#include "tests/conformance/operations/dense.hpp"
#include "tests/conformance/operations/sparse.hpp"
#include "tests/conformance/operations/time.hpp"

namespace strobe::conformance {

inline GraphConvolutionBackward upload_convolution(Device& device, const TestMatrix& m, const DenseBackwardInput& in,
                                                   const DenseShape& s, bool with_relu) {
  GraphConvolutionBackward op;
  op.a = upload_matrix(device, m, true);
  op.aggregated = upload(device, in.x, s.rows, s.inner);
  op.w = upload(device, in.w, s.inner, s.width);
  op.y = upload(device, in.y, s.rows, s.width);
  op.dy = upload(device, in.dy, s.rows, s.width);
  op.dw = upload(device, in.dw, s.inner, s.width);
  op.ds = device.allocate(s.rows, s.inner, op.dy.type());
  op.activation = with_relu ? Activation::relu : Activation::none;
  return op;
}

inline std::vector<Output> judge_graph_convolution_backward(Device& device, const SparseRecipe& recipe,
                                                            std::int64_t inner, std::int64_t width, bool with_relu,
                                                            bool accumulate) {
  const TestMatrix& m = make_matrix(recipe);
  const DenseShape shape{m.rows, inner, width};
  const DenseBackwardInput in = dense_backward_input(shape);
  const std::vector<double> before = random_values(m.columns * inner, 71);
  const std::vector<Output>& dense =
      expected_gradient(shape, {with_relu ? Activation::relu : Activation::none, true, false, false}, in);
  std::vector<Judged> expected = start(before, accumulate);
  for (const Entry3& e : m.entries) {
    for (std::int64_t f = 0; f < inner; ++f) {
      const Judged& ds = dense[0].expected[e.row * inner + f];
      Judged& dx = expected[e.column * inner + f];
      dx.value += e.value * ds.value;
      dx.magnitude += std::abs(e.value) * ds.magnitude;
    }
  }
  GraphConvolutionBackward op = upload_convolution(device, m, in, shape, with_relu);
  op.dx = upload(device, before, m.columns, inner);
  op.accumulate_dx = accumulate;
  device.run(op);
  return {{"dx", download(device, op.dx), expected}, {"dw", download(device, op.dw), dense[1].expected}};
}

inline std::vector<OperationCase> graph_convolution_backward_cases() {
  const std::vector<std::pair<std::int64_t, std::int64_t>> shapes{{1, 1}, {2, 6}, {3, 2}, {6, 6},  {6, 2},
                                                                  {8, 8}, {7, 5}, {4, 9}, {4, 33}, {17, 6}};
  std::vector<OperationCase> cases;
  for (const SparseRecipe& recipe : sparse_recipes()) {
    for (const auto& [inner, width] : shapes) {
      if (recipe.steps * recipe.step_rows * std::max(inner, width) > most_values) continue;
      for (const int flags : {0, 2, 1, 3}) {
        cases.push_back({"",
                         sparse_name(recipe, inner,
                                     " to " + std::to_string(width) + ((flags & 1) != 0 ? ", relu" : "") +
                                         ((flags & 2) != 0 ? ", accumulate" : "")),
                         [=, inner = inner, width = width](Device& device) {
                           return judge_graph_convolution_backward(device, recipe, inner, width, (flags & 1) != 0,
                                                                   (flags & 2) != 0);
                         }});
      }
    }
  }
  return cases;
}

/// A shape over time with the width of its input, and the values of a case.
struct DenseTimeCase {
  TimeShape shape;
  std::int64_t inner;
  bool with_relu;
  std::int64_t rows() const { return shape.steps * shape.vertices; }
  std::vector<double> x() const { return random_values(rows() * inner, 72); }
  std::vector<double> w() const { return random_values(inner * shape.features, 73); }
};

/// h = activation(x w), with the magnitude of its terms.
inline std::vector<Judged> judged_layer(const DenseTimeCase& c) {
  const std::vector<double> x = c.x(), w = c.w();
  const std::int64_t width = c.shape.features;
  std::vector<Judged> h(c.rows() * width);
  for (std::int64_t i = 0; i < c.rows() * width; ++i) {
    Judged& out = h[i];
    for (std::int64_t f = 0; f < c.inner; ++f) {
      out.add(x[i / width * c.inner + f] * w[f * width + i % width]);
    }
    if (c.with_relu) out.value = std::max(0.0, out.value);
  }
  return h;
}

/// Calls visit(t, s, 1 / min(w, t + 1)) for the entries of the matrix M.
template <class Visit>
void each_window_entry(const TimeShape& shape, const Visit& visit) {
  for (std::int64_t t = 0; t < shape.steps; ++t) {
    for (std::int64_t s = std::max<std::int64_t>(0, t - shape.window + 1); s <= t; ++s) {
      visit(t, s, 1.0 / static_cast<double>(std::min(shape.window, t + 1)));
    }
  }
}

inline std::vector<Output> judge_dense_m_transform(Device& device, const DenseTimeCase& c) {
  const std::vector<Judged> h = judged_layer(c);
  const std::int64_t slab = c.shape.vertices * c.shape.features;
  std::vector<Judged> y(h.size());
  each_window_entry(c.shape, [&](std::int64_t t, std::int64_t s, double factor) {
    for (std::int64_t i = 0; i < slab; ++i) {
      const Judged& from = h[s * slab + i];
      y[t * slab + i].value += factor * from.value;
      y[t * slab + i].magnitude += factor * from.magnitude;
    }
  });
  const DenseMTransform op{upload(device, c.x(), c.rows(), c.inner),
                           upload(device, c.w(), c.inner, c.shape.features),
                           device.allocate(c.rows(), c.shape.features),
                           c.shape.steps,
                           c.shape.window,
                           c.with_relu ? Activation::relu : Activation::none};
  device.run(op);
  return {{"y", download(device, op.y), y}};
}

inline std::vector<Output> judge_dense_m_transform_backward(Device& device, const DenseTimeCase& c) {
  const std::vector<Judged> h = judged_layer(c);
  const std::int64_t width = c.shape.features, slab = c.shape.vertices * width;
  const std::vector<double> x = c.x(), dy = random_values(c.rows() * width, 74),
                            before = random_values(c.inner * width, 75);
  std::vector<Judged> dw = start(before, true);
  each_window_entry(c.shape, [&](std::int64_t t, std::int64_t s, double factor) {
    for (std::int64_t i = 0; i < slab; ++i) {
      const std::int64_t cell = s * slab + i;
      if (c.with_relu && !(h[cell].value > 0)) continue;
      for (std::int64_t f = 0; f < c.inner; ++f) {
        dw[f * width + i % width].add(x[cell / width * c.inner + f] * factor * dy[t * slab + i]);
      }
    }
  });
  const DenseMTransformBackward op{upload(device, x, c.rows(), c.inner),
                                   upload(device, c.w(), c.inner, width),
                                   upload(device, dy, c.rows(), width),
                                   upload(device, before, c.inner, width),
                                   c.shape.steps,
                                   c.shape.window,
                                   c.with_relu ? Activation::relu : Activation::none};
  device.run(op);
  return {{"dw", download(device, op.dw), dw}};
}

inline std::vector<OperationCase> dense_m_transform_cases(bool backward) {
  const std::vector<TimeShape> shapes{{0, 4, 6, 3},    {1, 1, 1, 1},    {5, 0, 6, 3},    {1, 9, 6, 5},
                                      {4, 7, 6, 1},    {4, 7, 6, 9},    {12, 33, 6, 5},  {13, 5, 7, 4},
                                      {64, 301, 6, 5}, {9, 100, 3, 2},  {30, 20, 2, 8},  {20, 129, 16, 3},
                                      {6, 50, 40, 3},  {5, 3000, 2, 8}, {30, 20, 2, 17}, {2, 3, 300, 2}};
  std::vector<OperationCase> cases;
  for (const TimeShape& shape : shapes) {
    for (const std::int64_t inner : {1, 2, 5}) {
      for (const bool with_relu : {false, true}) {
        const DenseTimeCase one{shape, inner, with_relu};
        cases.push_back({"",
                         std::to_string(shape.steps) + " steps, " + std::to_string(shape.vertices) + " x " +
                             std::to_string(inner) + " to " + std::to_string(shape.features) + ", window " +
                             std::to_string(shape.window) + (with_relu ? ", relu" : ""),
                         [=](Device& device) {
                           return backward ? judge_dense_m_transform_backward(device, one)
                                           : judge_dense_m_transform(device, one);
                         }});
      }
    }
  }
  return cases;
}

}  // namespace strobe::conformance
