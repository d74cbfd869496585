// Gradients of tape functions against central finite differences in fp64.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "core/random.hpp"
#include "models/tape/tape.hpp"

namespace strobe {

inline std::unique_ptr<Device> cpu() {
  DeviceRequest request;
  request.precision = ElementType::f64;
  return DeviceRegistry::instance().find("cpu").value(request);
}

/// Uniform in [-1, 1], the same for the same key.
inline Tensor random_tensor(Device& device, std::int64_t rows, std::int64_t columns, std::uint32_t key) {
  const RandomStream random(11, random_purpose::test, key);
  std::vector<double> values(rows * columns);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 2 * random.uniform(i) - 1;
  return device.move_in(values.data(), rows, columns, ElementType::f64);
}

inline Tensor zeros(Device& device, const Tensor& like) {
  const Tensor result = device.allocate(like.rows(), like.columns(), like.type());
  device.run(Fill{result, 0.0});
  return result;
}

/// Checks d(sum of weights * f(inputs)) / d(inputs) for a function of leaves recorded on a tape.
inline void check_gradients(Device& device, const std::vector<Tensor>& inputs,
                            const std::function<Var(Tape&, const std::vector<Var>&)>& function) {
  const auto evaluate = [&](bool backward, std::vector<Tensor>& gradients) {
    Tape tape(device);
    std::vector<Var> leaves;
    for (const Tensor& input : inputs) {
      gradients.push_back(zeros(device, input));
      leaves.push_back(Tape::leaf(input, gradients.back()));
    }
    const Var result = function(tape, leaves);
    const Tensor weights = random_tensor(device, result->value.rows(), result->value.columns(), 5);
    double total = 0;
    for (std::int64_t i = 0; i < weights.elements(); ++i)
      total += weights.data<double>()[i] * result->value.data<double>()[i];
    if (backward) {
      result->gradient = weights;
      tape.backward();
    }
    return total;
  };
  std::vector<Tensor> gradients, ignored;
  evaluate(true, gradients);
  bool any = false;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    for (std::int64_t i = 0; i < inputs[k].elements(); ++i) {
      double& x = inputs[k].data<double>()[i];
      const double saved = x, h = 1e-6;
      x = saved + h;
      const double above = evaluate(false, ignored);
      x = saved - h;
      const double below = evaluate(false, ignored);
      x = saved;
      const double expected = (above - below) / (2 * h), actual = gradients[k].data<double>()[i];
      EXPECT_NEAR(actual, expected, 1e-7 * std::max(1.0, std::abs(expected))) << "input " << k << " element " << i;
      any = any || std::abs(expected) > 1e-3;
    }
  }
  EXPECT_TRUE(any) << "all gradients vanish, so nothing was checked";
}

}  // namespace strobe
