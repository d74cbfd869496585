// States that fade, such as those of vertices without events, keep their digits. With inputs, weights and bias of zero,
// an LSTM's cell halves at every step, and each unit outputs half the tanh of it. A kernel whose tanh has only an
// absolute error would output zero, and the relu after it would close where those of other kernels stay open.
#include <gtest/gtest.h>

#include <cmath>

#include "backends/operations/operations_recurrent.hpp"
#include "tests/cuda/gpu.hpp"

namespace strobe {
namespace {

constexpr std::int64_t faded_vertices = 3, faded_steps = 4;
constexpr float faded = 1e-7f;

Tensor with_all(Device& device, std::int64_t count, std::int64_t columns, float value) {
  const std::vector<float> values(count * columns, value);
  return device.move_in(values.data(), count, columns, ElementType::f32);
}

std::vector<float> states_of(Device& device, const Tensor& tensor) {
  std::vector<float> values(tensor.elements());
  EXPECT_TRUE(device.move_out(tensor, values.data()));
  return values;
}

void expect_lstm_fades(Device& device, std::int64_t hidden, const std::string& what) {
  LstmSequence op;
  op.steps = faded_steps;
  op.x = with_all(device, faded_steps * faded_vertices, 2, 0);
  op.w_x = with_all(device, 2, 4 * hidden, 0);
  op.w_h = with_all(device, hidden, 4 * hidden, 0);
  op.bias = with_all(device, 1, 4 * hidden, 0);
  op.start = with_all(device, 2 * faded_vertices, hidden, faded);
  op.y = device.allocate(faded_steps * faded_vertices, hidden);
  op.cells = device.allocate(faded_steps * faded_vertices, hidden);
  device.run(op);
  const std::vector<float> y = states_of(device, op.y);
  const std::size_t of_step = faded_vertices * hidden;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double cell = faded / std::pow(2.0, static_cast<double>(i / of_step + 1));
    ASSERT_NEAR(y[i] / (0.5 * cell), 1, 1e-5) << what << ", element " << i;
  }
}

void expect_gru_keeps(Device& device, std::int64_t hidden, const std::string& what) {
  GruSequence op;
  op.steps = 1;
  op.x = with_all(device, faded_vertices, 2, faded);
  op.w_x = with_all(device, 6, hidden, 1);
  op.w_h = with_all(device, 3 * hidden, hidden, 0);
  op.bias = with_all(device, 3, hidden, 0);
  op.y = device.allocate(faded_vertices, hidden);
  device.run(op);
  for (const float y : states_of(device, op.y)) ASSERT_NEAR(y / faded, 1, 1e-5) << what;  // half of the candidate
}

TEST(CudaRecurrences, FadedStatesKeepTheirDigits) {
  if (const std::string reason = why_no_gpu(); !reason.empty()) GTEST_SKIP() << reason;
  for (const std::string variant : {"plain", "lanes", "tensor", "products", ""}) {
    DeviceRequest request;
    request.kernel_variant = variant;
    const std::unique_ptr<Device> device = DeviceRegistry::instance().find("cuda").value(request);
    for (const std::int64_t hidden : {6, 8, 16, 40}) {
      const std::string what = variant + " of " + std::to_string(hidden) + " units";
      expect_lstm_fades(*device, hidden, what);
      expect_gru_keeps(*device, hidden, what);
    }
  }
}

}  // namespace
}  // namespace strobe
