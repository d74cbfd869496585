// Cases and judges of fill, add_scaled, the loss and the optimisers.
#pragma once

#include <cmath>

#include "tests/conformance/operations/operations.hpp"

namespace strobe::conformance {

inline const std::vector<std::pair<std::int64_t, std::int64_t>>& update_shapes() {
  static const std::vector<std::pair<std::int64_t, std::int64_t>> shapes{{0, 6},   {1, 1},    {7, 6},    {33, 3},
                                                                         {64, 64}, {1001, 7}, {20000, 6}};
  return shapes;
}

inline std::string shape_name(std::int64_t rows, std::int64_t columns) {
  return std::to_string(rows) + " x " + std::to_string(columns);
}

inline std::vector<OperationCase> fill_cases() {
  std::vector<OperationCase> cases;
  for (const auto& [rows, columns] : update_shapes()) {
    for (const double value : {0.0, 0.75}) {
      cases.push_back({"", shape_name(rows, columns) + " with " + std::to_string(value),
                       [=, rows = rows, columns = columns](Device& device) {
                         const Fill op{upload(device, random_values(rows * columns, 61), rows, columns), value};
                         device.run(op);
                         const std::vector<Judged> expected(rows * columns, {value, value});
                         return std::vector<Output>{{"y", download(device, op.y), expected}};
                       }});
    }
  }
  return cases;
}

inline std::vector<OperationCase> add_scaled_cases() {
  std::vector<OperationCase> cases;
  for (const auto& [rows, columns] : update_shapes()) {
    for (const double scale : {1.0, -0.375}) {
      cases.push_back({"", shape_name(rows, columns) + " times " + std::to_string(scale),
                       [=, rows = rows, columns = columns](Device& device) {
                         const std::vector<double> x = random_values(rows * columns, 62),
                                                   y = random_values(rows * columns, 63);
                         const AddScaled op{upload(device, x, rows, columns), upload(device, y, rows, columns), scale};
                         device.run(op);
                         std::vector<Judged> expected = start(y, true);
                         for (std::size_t i = 0; i < x.size(); ++i) expected[i].add(scale * x[i]);
                         return std::vector<Output>{{"y", download(device, op.y), expected}};
                       }});
    }
  }
  return cases;
}

inline std::vector<Output> judge_softmax(Device& device, std::int64_t rows, std::int64_t classes, bool with_gradient,
                                         double spread) {
  std::vector<double> logits = random_values(rows * classes, 64);
  for (double& value : logits) value *= spread;  // a power of two: still exact in float
  const RandomStream random(9, random_purpose::test, 65);
  std::vector<std::int32_t> labels;
  const double scale = 0.25, loss_before = 1.5;
  Judged loss;
  loss.add(loss_before);
  std::vector<Judged> gradient;
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t label = random.below(static_cast<std::uint64_t>(r), static_cast<std::uint64_t>(classes));
    labels.push_back(static_cast<std::int32_t>(label));
    const double* row = logits.data() + r * classes;
    long double total = 0;  // spread is small enough for exp without shifting in long double
    for (std::int64_t c = 0; c < classes; ++c) total += std::exp(static_cast<long double>(row[c]));
    loss.add(static_cast<double>(std::log(total) - row[label]) * scale);
    loss.magnitude += std::abs(row[label]) * scale;
    for (std::int64_t c = 0; c < classes; ++c) {
      const auto probability = static_cast<double>(std::exp(static_cast<long double>(row[c])) / total);
      gradient.push_back({(probability - (c == label ? 1.0 : 0.0)) * scale, (probability + 1.0) * scale});
    }
  }
  SoftmaxCrossEntropy op;
  op.logits = upload(device, logits, rows, classes);
  op.labels = upload(device, labels);
  if (with_gradient) op.gradient = device.allocate(rows, classes);
  op.loss = device.move_in(&loss_before, 1, 1, ElementType::f64);
  op.scale = scale;
  device.run(op);
  std::vector<Output> outputs{{"loss", download(device, op.loss), {loss}}};
  if (with_gradient) outputs.push_back({"gradient", download(device, op.gradient), gradient});
  return outputs;
}

inline std::vector<OperationCase> softmax_cases() {
  const std::vector<std::pair<std::int64_t, std::int64_t>> shapes{{0, 2},   {1, 1},    {1, 2},  {5, 2},
                                                                  {777, 3}, {9001, 2}, {40, 64}};
  std::vector<OperationCase> cases;
  for (const auto& [rows, classes] : shapes) {
    for (const bool with_gradient : {false, true}) {
      for (const double spread : {1.0, 512.0}) {
        cases.push_back(
            {"", shape_name(rows, classes) + (with_gradient ? ", gradient" : "") + ", spread " + std::to_string(spread),
             [=, rows = rows, classes = classes](Device& device) {
               return judge_softmax(device, rows, classes, with_gradient, spread);
             }});
      }
    }
  }
  return cases;
}

inline std::vector<OperationCase> sgd_cases() {
  std::vector<OperationCase> cases;
  for (const auto& [rows, columns] : update_shapes()) {
    for (const bool with_velocity : {false, true}) {
      const auto run = [=, rows = rows, columns = columns](Device& device) {
        const std::int64_t n = rows * columns;
        const std::vector<double> p = random_values(n, 66), g = random_values(n, 67), v = random_values(n, 68);
        SgdStep op;
        op.parameters = upload(device, p, rows, columns);
        op.gradient = upload(device, g, rows, columns);
        if (with_velocity) op.velocity = upload(device, v, rows, columns);
        op.rate = 0.125;
        op.momentum = 0.75;
        device.run(op);
        std::vector<Judged> parameters = start(p, true), velocity(static_cast<std::size_t>(n));
        for (std::size_t i = 0; i < p.size(); ++i) {
          if (with_velocity) velocity[i].add(0.75 * v[i]);
          velocity[i].add(g[i]);
          parameters[i].add(-0.125 * velocity[i].value);
          parameters[i].magnitude += 0.125 * velocity[i].magnitude;
        }
        std::vector<Output> outputs{{"parameters", download(device, op.parameters), parameters}};
        if (with_velocity) outputs.push_back({"velocity", download(device, op.velocity), velocity});
        return outputs;
      };
      cases.push_back({"", shape_name(rows, columns) + (with_velocity ? ", momentum" : ""), run});
    }
  }
  return cases;
}

inline std::vector<Output> judge_adam(Device& device, std::int64_t rows, std::int64_t columns, std::int64_t step) {
  const std::int64_t n = rows * columns;
  const std::vector<double> p = random_values(n, 69), g = random_values(n, 70), m = random_values(n, 71);
  std::vector<double> v = random_values(n, 72);
  for (double& value : v) value = std::abs(value) + 0.125;
  AdamStep op;
  op.parameters = upload(device, p, rows, columns);
  op.gradient = upload(device, g, rows, columns);
  op.first_moment = upload(device, m, rows, columns);
  op.second_moment = upload(device, v, rows, columns);
  op.step = step;
  device.run(op);
  std::vector<Judged> parameters = start(p, true), first(static_cast<std::size_t>(n)),
                      second(static_cast<std::size_t>(n));
  const double unbias1 = 1.0 / (1.0 - std::pow(0.9, static_cast<double>(step)));
  const double unbias2 = 1.0 / (1.0 - std::pow(0.999, static_cast<double>(step)));
  for (std::size_t i = 0; i < p.size(); ++i) {
    first[i].add(0.9 * m[i]);
    first[i].add((1.0 - 0.9) * g[i]);
    second[i].add(0.999 * v[i]);
    second[i].add((1.0 - 0.999) * g[i] * g[i]);
    const double root = std::sqrt(second[i].value * unbias2) + 1e-8;
    parameters[i].add(-0.01 * first[i].value * unbias1 / root);
    parameters[i].magnitude += 0.01 * first[i].magnitude * unbias1 / root;
  }
  return {{"parameters", download(device, op.parameters), parameters},
          {"first_moment", download(device, op.first_moment), first},
          {"second_moment", download(device, op.second_moment), second}};
}

inline std::vector<OperationCase> adam_cases() {
  std::vector<OperationCase> cases;
  for (const auto& [rows, columns] : update_shapes()) {
    for (const std::int64_t step : {1, 2, 1000}) {
      cases.push_back(
          {"", shape_name(rows, columns) + ", step " + std::to_string(step),
           [=, rows = rows, columns = columns](Device& device) { return judge_adam(device, rows, columns, step); }});
    }
  }
  return cases;
}

}  // namespace strobe::conformance
