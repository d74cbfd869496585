// Error bounds of the vector kernels' sigmoid and tanh (backends/cpu/kernels/lane_math.hpp), seen through the gates
// that an LSTM of one unit and one step keeps: gate i is sigmoid(x), gate g is tanh(x).
#include <gtest/gtest.h>

#include <cmath>

#include "backends/device.hpp"
#include "backends/operations/operations_recurrent.hpp"

namespace strobe {
namespace {

/// Gates [n, 4] of the values `x`.
template <class T>
std::vector<T> gates_of(const std::vector<T>& x) {
  DeviceRequest request;
  request.precision = element_type_of<T>;
  request.kernel_variant = "vector";
  const std::unique_ptr<Device> device = DeviceRegistry::instance().find("cpu").value(request);
  const std::int64_t n = x.size();
  const std::vector<T> ones(4, T{1}), zeros(4, T{0});
  LstmSequence op;
  op.steps = 1;
  op.x = device->move_in(x.data(), n, 1, element_type_of<T>);
  op.w_x = device->move_in(ones.data(), 1, 4, element_type_of<T>);
  op.w_h = device->move_in(zeros.data(), 1, 4, element_type_of<T>);
  op.bias = device->move_in(zeros.data(), 1, 4, element_type_of<T>);
  op.y = device->allocate(n, 1);
  op.cells = device->allocate(n, 1);
  op.gates = device->allocate(n, 4);
  device->run(op);
  std::vector<T> gates(4 * n);
  device->move_out(op.gates, gates.data());
  return gates;
}

/// 0, and from 1e-30 to 1e30 with both signs; densely where the functions bend.
template <class T>
std::vector<T> arguments() {
  std::vector<T> x{T{0}};
  for (double size = 1e-30; size < 1e30; size *= 1.7) x.insert(x.end(), {static_cast<T>(size), static_cast<T>(-size)});
  for (int i = -40000; i <= 40000; ++i) x.push_back(static_cast<T>(i) / T{997});
  return x;
}

/// `absolute` bounds both functions, `relative` tanh.
template <class T>
void expect_bounds(double absolute, double relative) {
  const std::vector<T> x = arguments<T>(), gates = gates_of(x);
  double worst = 0, worst_relative = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const long double v = x[i], e = std::exp(-std::abs(v));
    const long double sigmoid = v < 0 ? e / (1 + e) : 1 / (1 + e), tanh = std::tanh(v);
    worst = std::max(worst, static_cast<double>(std::abs(gates[4 * i] - sigmoid)));
    worst = std::max(worst, static_cast<double>(std::abs(gates[4 * i + 2] - tanh)));
    if (v != 0) worst_relative = std::max(worst_relative, static_cast<double>(std::abs(gates[4 * i + 2] / tanh - 1)));
  }
  EXPECT_LE(worst, absolute);
  EXPECT_LE(worst_relative, relative);
  EXPECT_GT(worst, 0.0);  // something was compared
}

TEST(Activations, StayWithinTheirBounds) {
  expect_bounds<float>(3e-7, 4e-7);
  expect_bounds<double>(4e-16, 1e-15);
}

TEST(Activations, KeepNan) {
  const std::vector<float> gates = gates_of<float>(std::vector<float>(40, std::nanf("")));
  for (const float gate : gates) EXPECT_TRUE(std::isnan(gate));
}

}  // namespace
}  // namespace strobe
