// Cases and judges of the graph convolution with one weight per step (backends/operations/operations_fused.hpp): the
// sparse product over a list of entries and the dense layer of each step, one after the other, in double.
#pragma once

#include <algorithm>

#include "backends/operations/operations_fused.hpp"
#include "tests/conformance/operations/dense.hpp"
#include "tests/conformance/operations/sparse.hpp"

namespace strobe::conformance {

/// Widths in and out on one matrix.
struct StepConvolutionCase {
  SparseRecipe recipe;
  std::int64_t inner, width;
  bool with_relu, accumulate;

  const TestMatrix& matrix() const { return make_matrix(recipe); }
  std::int64_t weights() const { return recipe.steps * inner * width; }
  Activation activation() const { return with_relu ? Activation::relu : Activation::none; }
  /// Index of w_t[f][g] for the step t of row r.
  std::size_t weight(std::int64_t r, std::int64_t f, std::int64_t g) const {
    return static_cast<std::size_t>((r / recipe.step_rows * inner + f) * width + g);
  }
  std::string name() const {
    return sparse_name(
        recipe, inner,
        " to " + std::to_string(width) + (with_relu ? ", relu" : "") + (accumulate ? ", accumulate" : ""));
  }
};

/// aggregated and y.
inline std::vector<Output> expected_step_outputs(const StepConvolutionCase& c, const std::vector<double>& x,
                                                 const std::vector<double>& w) {
  const TestMatrix& m = c.matrix();
  std::vector<Judged> sum(m.rows * c.inner), y(static_cast<std::size_t>(m.rows * c.width));
  for (const Entry3& e : m.entries) {
    for (std::int64_t f = 0; f < c.inner; ++f) sum[e.row * c.inner + f].add(e.value * x[e.column * c.inner + f]);
  }
  for (std::int64_t i = 0; i < m.rows * c.width; ++i) {
    const std::int64_t row = i / c.width;
    Judged& out = y[i];
    for (std::int64_t f = 0; f < c.inner; ++f) {
      const Judged& s = sum[row * c.inner + f];
      const double weight = w[c.weight(row, f, i % c.width)];
      out.value += s.value * weight;
      out.magnitude += s.magnitude * std::abs(weight);
    }
    if (c.with_relu) out.value = std::max(0.0, out.value);
  }
  return {{"aggregated", {}, sum}, {"y", {}, y}};
}

inline std::vector<Output> judge_step_convolution(Device& device, const StepConvolutionCase& c) {
  const TestMatrix& m = c.matrix();
  const std::vector<double> x = random_values(m.columns * c.inner, 91), w = random_values(c.weights(), 92);
  std::vector<Output> outputs = judged_once(c.name(), [&] { return expected_step_outputs(c, x, w); });
  StepGraphConvolution op;
  op.a = upload_matrix(device, m, false);
  op.x = upload(device, x, m.columns, c.inner);
  op.w = upload(device, w, c.recipe.steps * c.inner, c.width);
  op.step_rows = op.a.step_rows;
  op.aggregated = device.allocate(m.rows, c.inner);
  op.y = device.allocate(m.rows, c.width);
  op.activation = c.activation();
  device.run(op);
  outputs[0].got = download(device, op.aggregated);
  outputs[1].got = download(device, op.y);
  return outputs;
}

/// The values that a backward case starts from.
struct StepConvolutionInput {
  std::vector<double> aggregated, w, y, dy, dx, dw;

  explicit StepConvolutionInput(const StepConvolutionCase& c)
      : aggregated(random_values(c.matrix().rows * c.inner, 93)),
        w(random_values(c.weights(), 94)),
        y(random_values(c.matrix().rows * c.width, 95)),
        dy(random_values(c.matrix().rows * c.width, 96)),
        dx(random_values(c.matrix().columns * c.inner, 97)),
        dw(random_values(c.weights(), 98)) {}
};

/// dx and dw.
inline std::vector<Output> expected_step_convolution(const StepConvolutionCase& c, const StepConvolutionInput& in) {
  const TestMatrix& m = c.matrix();
  std::vector<Judged> ds(m.rows * c.inner), dx = start(in.dx, c.accumulate), dw = start(in.dw, c.accumulate);
  for (std::int64_t i = 0; i < m.rows * c.width; ++i) {
    const std::int64_t row = i / c.width;
    const std::size_t at = i;
    const double dz = c.with_relu && !(in.y[at] > 0) ? 0.0 : in.dy[at];
    for (std::int64_t f = 0; f < c.inner; ++f) {
      const auto cell = static_cast<std::size_t>(row * c.inner + f), weight = c.weight(row, f, i % c.width);
      ds[cell].add(dz * in.w[weight]);
      dw[weight].add(dz * in.aggregated[cell]);
    }
  }
  for (const Entry3& e : m.entries) {
    for (std::int64_t f = 0; f < c.inner; ++f) {
      const Judged& from = ds[e.row * c.inner + f];
      Judged& to = dx[e.column * c.inner + f];
      to.value += e.value * from.value;
      to.magnitude += std::abs(e.value) * from.magnitude;
    }
  }
  return {{"dx", {}, dx}, {"dw", {}, dw}};
}

inline std::vector<Output> judge_step_convolution_backward(Device& device, const StepConvolutionCase& c) {
  const TestMatrix& m = c.matrix();
  const StepConvolutionInput in(c);
  std::vector<Output> outputs = judged_once(c.name(), [&] { return expected_step_convolution(c, in); });
  StepGraphConvolutionBackward op;
  op.a = upload_matrix(device, m, true);
  op.aggregated = upload(device, in.aggregated, m.rows, c.inner);
  op.w = upload(device, in.w, c.recipe.steps * c.inner, c.width);
  op.step_rows = op.a.step_rows;
  op.y = upload(device, in.y, m.rows, c.width);
  op.dy = upload(device, in.dy, m.rows, c.width);
  op.dx = upload(device, in.dx, m.columns, c.inner);
  op.dw = upload(device, in.dw, c.recipe.steps * c.inner, c.width);
  op.ds = device.allocate(m.rows, c.inner);
  op.activation = c.activation();
  op.accumulate_dx = op.accumulate_dw = c.accumulate;
  device.run(op);
  outputs[0].got = download(device, op.dx);
  outputs[1].got = download(device, op.dw);
  return outputs;
}

inline std::vector<OperationCase> step_convolution_cases(bool backward) {
  const std::vector<std::pair<std::int64_t, std::int64_t>> shapes{{1, 1}, {2, 6},  {4, 4}, {6, 6},
                                                                  {8, 3}, {5, 17}, {33, 6}};
  std::vector<OperationCase> cases;
  for (const SparseRecipe& recipe : sparse_recipes()) {
    if (recipe.step_rows == 0) continue;
    for (const auto& [inner, width] : shapes) {
      if (recipe.steps * recipe.step_rows * std::max(inner, width) > most_values) continue;
      for (const int flags : {0, 3}) {
        const StepConvolutionCase one{recipe, inner, width, (flags & 1) != 0, (flags & 2) != 0};
        cases.push_back({"", one.name(), [=](Device& device) {
                           return backward ? judge_step_convolution_backward(device, one)
                                           : judge_step_convolution(device, one);
                         }});
      }
    }
  }
  return cases;
}

inline std::vector<OperationFamily> step_convolution_families() {
  return {family<StepGraphConvolution>(step_convolution_cases(false)),
          family<StepGraphConvolutionBackward>(step_convolution_cases(true))};
}

}  // namespace strobe::conformance
