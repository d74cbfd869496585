// Cases and judges of operations on every value by itself, by their definitions.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "backends/operations/operations_pointwise.hpp"
#include "tests/conformance/operations/operations.hpp"

namespace strobe::conformance {

struct PointwiseForm {
  const char* name;
  Curve curve;
  double p, q;
};

inline const std::vector<PointwiseForm>& pointwise_forms() {
  static const std::vector<PointwiseForm> all{{"affine", Curve::affine, -1.5, 0.25},
                                              {"sigmoid", Curve::sigmoid, 1, 0},
                                              {"relu", Curve::leaky_relu, 0, 0},
                                              {"leaky_relu", Curve::leaky_relu, 0.125, 0},
                                              {"elu", Curve::elu, 1.5, 0}};
  return all;
}

/// Values from -20 to 20 among random ones.
inline std::vector<double> pointwise_inputs(std::int64_t count) {
  std::vector<double> x = random_values(count, 171);
  for (std::size_t i = 0; i < x.size() && i < 41; ++i) x[i] = static_cast<double>(i) - 20.0;
  return x;
}

inline double expected_point(const PointwiseForm& form, double x) {
  if (form.curve == Curve::affine) return form.p * x + form.q;
  if (form.curve == Curve::sigmoid) return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
  if (x > 0) return x;
  return form.curve == Curve::leaky_relu ? form.p * x : form.p * (std::exp(x) - 1);
}

inline double expected_slope(const PointwiseForm& form, double x) {
  const double e = std::exp(-std::abs(x));
  if (form.curve == Curve::affine) return form.p;
  if (form.curve == Curve::sigmoid) return e / ((1 + e) * (1 + e));
  if (x > 0) return 1;
  return form.curve == Curve::leaky_relu ? form.p : form.p * std::exp(x);
}

inline std::vector<Output> judge_pointwise(Device& device, const PointwiseForm& form, std::int64_t rows,
                                           std::int64_t columns) {
  const std::vector<double> x = pointwise_inputs(rows * columns);
  std::vector<Judged> expected;
  for (const double value : x) {
    const double scale = std::max({1.0, std::abs(form.p), std::abs(form.p * value)});
    expected.push_back({expected_point(form, value), scale});
  }
  const Pointwise op{upload(device, x, rows, columns), device.allocate(rows, columns), form.curve, form.p, form.q};
  device.run(op);
  return {{"y", download(device, op.y), expected}};
}

inline std::vector<Output> judge_pointwise_backward(Device& device, const PointwiseForm& form, std::int64_t rows,
                                                    std::int64_t columns, bool add) {
  const std::vector<double> x = pointwise_inputs(rows * columns), dy = random_values(rows * columns, 172),
                            before = random_values(rows * columns, 173);
  std::vector<double> y;
  std::vector<Judged> expected = start(before, add);
  for (std::size_t i = 0; i < x.size(); ++i) {
    y.push_back(expected_point(form, x[i]));
    expected[i].add(dy[i] * expected_slope(form, x[i]));
    // From y the slope is a difference of numbers of this size.
    expected[i].magnitude += std::max(1.0, std::abs(form.p)) * std::abs(dy[i]);
  }
  const PointwiseBackward op{upload(device, y, rows, columns),
                             upload(device, dy, rows, columns),
                             upload(device, before, rows, columns),
                             form.curve,
                             form.p,
                             add};
  device.run(op);
  return {{"dx", download(device, op.dx), expected}};
}

inline std::vector<Output> judge_multiply(Device& device, std::int64_t rows, std::int64_t columns, bool add) {
  const std::vector<double> x = random_values(rows * columns, 174), z = random_values(rows * columns, 175),
                            before = random_values(rows * columns, 176);
  std::vector<Judged> expected = start(before, add);
  for (std::size_t i = 0; i < x.size(); ++i) expected[i].add(x[i] * z[i]);
  const Multiply op{upload(device, x, rows, columns), upload(device, z, rows, columns),
                    upload(device, before, rows, columns), add};
  device.run(op);
  return {{"y", download(device, op.y), expected}};
}

inline std::vector<OperationFamily> pointwise_families() {
  std::vector<OperationCase> forward, back, products;
  for (const auto& [rows, columns] : {std::pair{0, 3}, {1, 1}, {9, 5}, {70, 6}, {9000, 3}}) {
    const auto r = std::int64_t{rows}, c = std::int64_t{columns};
    const std::string shape = std::to_string(rows) + " x " + std::to_string(columns);
    for (const PointwiseForm& form : pointwise_forms())
      forward.push_back({"", shape + ", " + form.name, [=](Device& on) { return judge_pointwise(on, form, r, c); }});
    for (const bool add : {false, true}) {
      const std::string name = shape + (add ? ", accumulate" : "");
      products.push_back({"", name, [=](Device& device) { return judge_multiply(device, r, c, add); }});
      for (const PointwiseForm& form : pointwise_forms()) {
        back.push_back({"", name + ", " + form.name,
                        [=](Device& device) { return judge_pointwise_backward(device, form, r, c, add); }});
      }
    }
  }
  return {family<Pointwise>(forward), family<PointwiseBackward>(back), family<Multiply>(products)};
}

}  // namespace strobe::conformance
