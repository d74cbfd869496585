// Cases and judges of the weighted cross-entropy and the squared error.
#pragma once

#include <cmath>

#include "backends/operations/operations_loss.hpp"
#include "tests/conformance/operations/operations.hpp"
#include "tests/conformance/operations/update.hpp"

namespace strobe::conformance {

inline constexpr double loss_before = 1.5;

inline std::vector<Output> judge_weighted_cross_entropy(Device& device, std::int64_t rows, std::int64_t classes,
                                                        bool with_gradient) {
  const std::vector<double> logits = random_values(rows * classes, 81), weights = random_values(rows, 82);
  const double scale = 0.25;
  Judged loss{loss_before, loss_before};
  std::vector<Judged> gradient;
  std::vector<std::int32_t> labels;
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t label = (7 * r + 3) % classes;
    labels.push_back(static_cast<std::int32_t>(label));
    const double* row = logits.data() + r * classes;
    const double weight = std::abs(weights[r]);
    long double total = 0;
    for (std::int64_t c = 0; c < classes; ++c) total += std::exp(static_cast<long double>(row[c]));
    loss.add(static_cast<double>(std::log(total) - row[label]) * weight * scale);
    loss.magnitude += std::abs(row[label]) * weight * scale;
    for (std::int64_t c = 0; c < classes; ++c) {
      const auto probability = static_cast<double>(std::exp(static_cast<long double>(row[c])) / total);
      gradient.push_back(
          {(probability - (c == label ? 1.0 : 0.0)) * weight * scale, (probability + 1.0) * weight * scale});
    }
  }
  std::vector<double> magnitudes;
  for (const double weight : weights) magnitudes.push_back(std::abs(weight));
  WeightedCrossEntropy op;
  op.logits = upload(device, logits, rows, classes);
  op.labels = upload(device, labels);
  op.weights = upload(device, magnitudes, rows, 1);
  if (with_gradient) op.gradient = device.allocate(rows, classes);
  op.loss = device.move_in(&loss_before, 1, 1, ElementType::f64);
  op.scale = scale;
  device.run(op);
  std::vector<Output> outputs{{"loss", download(device, op.loss), {loss}}};
  if (with_gradient) outputs.push_back({"gradient", download(device, op.gradient), gradient});
  return outputs;
}

inline std::vector<Output> judge_mean_squared_error(Device& device, std::int64_t rows, bool with_gradient) {
  const std::vector<double> y = random_values(rows, 83), target = random_values(rows, 84);
  MeanSquaredError op;
  op.outputs = upload(device, y, rows, 1);
  op.targets = upload(device, target, rows, 1);
  if (with_gradient) op.gradient = device.allocate(rows, 1);
  op.loss = device.move_in(&loss_before, 1, 1, ElementType::f64);
  op.scale = 0.125;
  device.run(op);
  Judged loss{loss_before, loss_before};
  std::vector<Judged> gradient(y.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    loss.add((y[i] - target[i]) * (y[i] - target[i]) * op.scale);
    gradient[i].add(2.0 * y[i] * op.scale);
    gradient[i].add(-2.0 * target[i] * op.scale);
  }
  std::vector<Output> outputs{{"loss", download(device, op.loss), {loss}}};
  if (with_gradient) outputs.push_back({"gradient", download(device, op.gradient), gradient});
  return outputs;
}

inline std::vector<OperationCase> weighted_cross_entropy_cases() {
  const std::vector<std::pair<std::int64_t, std::int64_t>> shapes{{0, 2},   {1, 1},    {5, 2},
                                                                  {777, 3}, {9001, 2}, {40, 64}};
  std::vector<OperationCase> cases;
  for (const auto& [rows, classes] : shapes) {
    for (const bool with_gradient : {false, true}) {
      cases.push_back({"", shape_name(rows, classes) + (with_gradient ? ", gradient" : ""),
                       [=, rows = rows, classes = classes](Device& device) {
                         return judge_weighted_cross_entropy(device, rows, classes, with_gradient);
                       }});
    }
  }
  return cases;
}

inline std::vector<OperationCase> mean_squared_error_cases() {
  std::vector<OperationCase> cases;
  for (const std::int64_t rows : {0, 1, 5, 777, 9001}) {
    for (const bool with_gradient : {false, true}) {
      cases.push_back({"", shape_name(rows, 1) + (with_gradient ? ", gradient" : ""),
                       [=](Device& device) { return judge_mean_squared_error(device, rows, with_gradient); }});
    }
  }
  return cases;
}

}  // namespace strobe::conformance
