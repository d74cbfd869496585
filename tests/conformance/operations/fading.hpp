// Cases and judges of the fading sum and of SELU, by their definitions.
#pragma once

#include <cmath>

#include "backends/operations/operations_fading.hpp"
#include "tests/conformance/operations/time.hpp"

namespace strobe::conformance {

inline std::vector<Output> judge_fading_sum(Device& device, const TimeShape& s, bool backward, bool accumulate) {
  const std::int64_t slab = s.vertices * s.features;
  const std::vector<double> x = random_values(s.steps * slab, 161), y = random_values(s.steps * slab, 162);
  std::vector<Judged> expected = start(y, accumulate);
  for (std::int64_t late = 0; late < s.steps; ++late) {
    for (std::int64_t early = std::max<std::int64_t>(0, late - s.window + 1); early <= late; ++early) {
      const std::int64_t to = backward ? early : late, from = backward ? late : early;
      for (std::int64_t i = 0; i < slab; ++i) {
        expected[to * slab + i].add(x[from * slab + i] / static_cast<double>(late - early + 1));
      }
    }
  }
  const FadingSum op{upload(device, x, s.steps * s.vertices, s.features),
                     upload(device, y, s.steps * s.vertices, s.features),
                     s.steps,
                     s.window,
                     backward,
                     accumulate};
  device.run(op);
  return {{"y", download(device, op.y), expected}};
}

/// 40 values from -20 to 20 among `rows` x `columns` random ones; both signs of zero.
inline std::vector<double> selu_inputs(std::int64_t rows, std::int64_t columns) {
  std::vector<double> x = random_values(rows * columns, 163);
  for (std::size_t i = 0; i < x.size() && i < 41; ++i) x[i] = static_cast<double>(i) - 20.0;
  if (x.size() > 41) x[41] = -0.0;
  return x;
}

inline std::vector<Output> judge_selu(Device& device, std::int64_t rows, std::int64_t columns) {
  const std::vector<double> x = selu_inputs(rows, columns);
  std::vector<Judged> expected;
  for (const double value : x) {
    const double y = 1.0507009873554805 * (value > 0 ? value : 1.6732632423543773 * (std::exp(value) - 1));
    expected.push_back({y, std::max(1.0, std::abs(y))});
  }
  const Selu op{upload(device, x, rows, columns), device.allocate(rows, columns)};
  device.run(op);
  return {{"y", download(device, op.y), expected}};
}

inline std::vector<Output> judge_selu_backward(Device& device, std::int64_t rows, std::int64_t columns, bool add) {
  const std::vector<double> x = selu_inputs(rows, columns), dy = random_values(rows * columns, 164),
                            before = random_values(rows * columns, 165);
  std::vector<double> y;
  std::vector<Judged> expected = start(before, add);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double slope = 1.0507009873554805 * (x[i] > 0 ? 1.0 : 1.6732632423543773 * std::exp(x[i]));
    y.push_back(1.0507009873554805 * (x[i] > 0 ? x[i] : 1.6732632423543773 * (std::exp(x[i]) - 1)));
    expected[i].add(dy[i] * slope);
    expected[i].magnitude += 2.0 * std::abs(dy[i]);  // from y the slope is a difference of numbers below 2
  }
  const SeluBackward op{upload(device, y, rows, columns), upload(device, dy, rows, columns),
                        upload(device, before, rows, columns), add};
  device.run(op);
  return {{"dx", download(device, op.dx), expected}};
}

inline std::vector<OperationFamily> fading_families() {
  std::vector<OperationCase> sums, forward, back;
  const std::vector<TimeShape> shapes{{0, 4, 6, 3},    {1, 1, 1, 1},     {5, 0, 6, 3},    {1, 9, 6, 5},
                                      {4, 7, 6, 1},    {4, 7, 6, 9},     {12, 33, 6, 5},  {13, 5, 7, 4},
                                      {64, 30, 6, 20}, {150, 20, 2, 17}, {70, 11, 1, 70}, {9, 9000, 3, 5}};
  for (const TimeShape& s : shapes) {
    for (const int flags : {0, 1, 2, 3}) {
      const bool backward = (flags & 1) != 0, add = (flags & 2) != 0;
      sums.push_back({"",
                      std::to_string(s.steps) + " steps of " + std::to_string(s.vertices) + " x " +
                          std::to_string(s.features) + ", window " + std::to_string(s.window) +
                          (backward ? ", backward" : "") + (add ? ", accumulate" : ""),
                      [=](Device& device) { return judge_fading_sum(device, s, backward, add); }});
    }
  }
  for (const auto& [rows, columns] : {std::pair{0, 3}, {1, 1}, {9, 5}, {70, 6}, {9000, 3}}) {
    const auto r = std::int64_t{rows}, c = std::int64_t{columns};
    const std::string shape = std::to_string(rows) + " x " + std::to_string(columns);
    forward.push_back({"", shape, [=](Device& device) { return judge_selu(device, r, c); }});
    for (const bool add : {false, true}) {
      back.push_back({"", shape + (add ? ", accumulate" : ""),
                      [=](Device& device) { return judge_selu_backward(device, r, c, add); }});
    }
  }
  return {family<FadingSum>(sums), family<Selu>(forward), family<SeluBackward>(back)};
}

}  // namespace strobe::conformance
