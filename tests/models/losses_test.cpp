// The losses of tasks against central differences in fp64, and against each other.
#include <gtest/gtest.h>

#include <cmath>

#include "core/random.hpp"
#include "models/ops/ops.hpp"
#include "models/ops/ops_loss.hpp"

namespace strobe {
namespace {

std::unique_ptr<Device> cpu() {
  DeviceRequest request;
  request.precision = ElementType::f64;
  return DeviceRegistry::instance().find("cpu").value(request);
}

std::vector<double> drawn(std::size_t count, std::uint32_t key) {
  const RandomStream random(12, random_purpose::test, key);
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = 2 * random.uniform(i) - 1;
  return values;
}

struct Case {
  Loss kind;
  std::int64_t rows, columns;
  LossTargets targets;
};

/// The loss of outputs that lead through a dense layer of `w`, so that the gradient passes the tape.
double loss_of(Device& device, const Case& c, const std::vector<double>& x, Tensor w, Tensor gradient) {
  Tape tape(device);
  const Var weights = Tape::leaf(w, gradient);
  device.run(Fill{gradient, 0.0});
  const Tensor loss = device.allocate(1, 1, ElementType::f64);
  device.run(Fill{loss, 0.0});
  const Var input = Tape::constant(device.move_in(x.data(), c.rows, 3, ElementType::f64));
  add_loss(tape, c.kind, dense(tape, input, weights, nullptr, Activation::none), c.targets, 0.25, loss);
  tape.backward();
  return loss.data<double>()[0];
}

void check(Device& device, const Case& c) {
  const std::vector<double> x = drawn(static_cast<std::size_t>(c.rows * 3), 1);
  const std::vector<double> start = drawn(static_cast<std::size_t>(3 * c.columns), 2);
  const Tensor w = device.move_in(start.data(), 3, c.columns, ElementType::f64);
  const Tensor gradient = device.allocate(3, c.columns), ignored = device.allocate(3, c.columns);
  EXPECT_GT(loss_of(device, c, x, w, gradient), 0.0);
  for (std::int64_t i = 0; i < w.elements(); ++i) {
    double& value = w.data<double>()[i];
    const double saved = value;
    value = saved + 1e-6;
    const double above = loss_of(device, c, x, w, ignored);
    value = saved - 1e-6;
    const double below = loss_of(device, c, x, w, ignored);
    value = saved;
    const double expected = (above - below) / 2e-6;
    EXPECT_NEAR(gradient.data<double>()[i], expected, 1e-7 * std::max(1.0, std::abs(expected))) << i;
    EXPECT_GT(std::abs(expected), 1e-6) << i;
  }
}

TEST(Losses, GradientsAreThoseOfDifferences) {
  const auto device = cpu();
  const std::vector<std::int32_t> labels = {0, 2, 1, 1, 0};
  const std::vector<double> weights = {0.5, 2, 0, 1.25, 3}, values = drawn(5, 3);
  LossTargets targets;
  targets.label = device->move_in(labels.data(), 5, 1, ElementType::i32);
  check(*device, {Loss::cross_entropy, 5, 3, targets});
  targets.weight = device->move_in(weights.data(), 5, 1, ElementType::f64);
  check(*device, {Loss::cross_entropy, 5, 3, targets});
  targets.value = device->move_in(values.data(), 5, 1, ElementType::f64);
  check(*device, {Loss::squared_error, 5, 1, targets});
}

TEST(Losses, EqualWeightsChangeNothing) {
  const auto device = cpu();
  const std::vector<std::int32_t> labels = {0, 1, 1, 0};
  const std::vector<double> ones(4, 1.0), x = drawn(12, 4), start = drawn(6, 5);
  Case c{Loss::cross_entropy, 4, 2, {}};
  c.targets.label = device->move_in(labels.data(), 4, 1, ElementType::i32);
  const Tensor w = device->move_in(start.data(), 3, 2, ElementType::f64);
  const Tensor plain = device->allocate(3, 2), weighted = device->allocate(3, 2);
  const double without = loss_of(*device, c, x, w, plain);
  c.targets.weight = device->move_in(ones.data(), 4, 1, ElementType::f64);
  EXPECT_EQ(loss_of(*device, c, x, w, weighted), without);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(plain.data<double>()[i], weighted.data<double>()[i]);
}

}  // namespace
}  // namespace strobe
