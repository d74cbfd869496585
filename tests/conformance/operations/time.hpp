// Cases and judges of operations over time: the M-transform as the product with its explicit matrix M [T, T].
#pragma once

#include <algorithm>

#include "tests/conformance/operations/operations.hpp"

namespace strobe::conformance {

struct TimeShape {
  std::int64_t steps, vertices, features, window;
};

inline std::vector<Output> judge_m_transform(Device& device, const TimeShape& s, bool backward, bool accumulate) {
  const std::int64_t slab = s.vertices * s.features;
  const std::vector<double> x = random_values(s.steps * slab, 41), y = random_values(s.steps * slab, 42);
  std::vector<double> m(s.steps * s.steps, 0.0);
  for (std::int64_t t = 0; t < s.steps; ++t) {
    for (std::int64_t step = std::max<std::int64_t>(0, t - s.window + 1); step <= t; ++step) {
      m[t * s.steps + step] = 1.0 / static_cast<double>(std::min(s.window, t + 1));
    }
  }
  std::vector<Judged> expected = start(y, accumulate);
  for (std::int64_t to = 0; to < s.steps; ++to) {
    for (std::int64_t from = 0; from < s.steps; ++from) {
      const double factor = m[backward ? from * s.steps + to : to * s.steps + from];
      if (factor == 0.0) continue;
      for (std::int64_t i = 0; i < slab; ++i) {
        expected[to * slab + i].add(factor * x[from * slab + i]);
      }
    }
  }
  const MTransform op{upload(device, x, s.steps * s.vertices, s.features),
                      upload(device, y, s.steps * s.vertices, s.features),
                      s.steps,
                      s.window,
                      backward,
                      accumulate};
  device.run(op);
  return {{"y", download(device, op.y), expected}};
}

inline std::vector<OperationCase> m_transform_cases() {
  const std::vector<TimeShape> shapes{{0, 4, 6, 3},     {1, 1, 1, 1},    {5, 0, 6, 3},     {1, 9, 6, 5},
                                      {4, 7, 6, 1},     {4, 7, 6, 9},    {12, 33, 6, 5},   {13, 5, 7, 4},
                                      {64, 301, 6, 5},  {9, 100, 3, 2},  {150, 20, 2, 17}, {70, 11, 1, 70},
                                      {70, 129, 16, 3}, {40, 5000, 2, 8}};
  std::vector<OperationCase> cases;
  for (const TimeShape& shape : shapes) {
    for (const int flags : {0, 1, 2, 3}) {
      const bool backward = (flags & 1) != 0, accumulate = (flags & 2) != 0;
      cases.push_back({"",
                       std::to_string(shape.steps) + " steps, " + std::to_string(shape.vertices) + " x " +
                           std::to_string(shape.features) + ", window " + std::to_string(shape.window) +
                           (backward ? ", backward" : "") + (accumulate ? ", accumulate" : ""),
                       [=](Device& device) { return judge_m_transform(device, shape, backward, accumulate); }});
    }
  }
  return cases;
}

}  // namespace strobe::conformance
