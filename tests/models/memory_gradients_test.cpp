// Gradients of what updates memory against central finite differences in fp64.
#include <gtest/gtest.h>

#include <cmath>

#include "models/ops/ops_gate.hpp"
#include "models/ops/ops_memory.hpp"
#include "tests/models/differences.hpp"

namespace strobe {
namespace {

TEST(MemoryGradients, TimeEncoding) {
  const auto device = cpu();
  const Tensor dt = random_tensor(*device, 7, 1, 9);
  dt.data<double>()[2] = 25.0;  // several turns on
  dt.data<double>()[3] = -11.0;
  check_gradients(*device, {random_tensor(*device, 1, 5, 1), random_tensor(*device, 1, 5, 2)},
                  [&](Tape& tape, const std::vector<Var>& in) { return time_encoding(tape, dt, in[0], in[1]); });
}

/// For a month in seconds the encoding is that of the difference less whole turns.
TEST(MemoryGradients, LongTimesAreEncodedRight) {
  const auto device = cpu();
  const std::vector<double> long_ago{2592000.0}, once{1.0}, zero{0.0};
  Tape tape(*device);
  const Var y = time_encoding(tape, device->move_in(long_ago.data(), 1, 1, ElementType::f64),
                              Tape::constant(device->move_in(once.data(), 1, 1, ElementType::f64)),
                              Tape::constant(device->move_in(zero.data(), 1, 1, ElementType::f64)));
  EXPECT_NEAR(y->value.data<double>()[0], std::cos(2592000.0), 1e-13);
}

TEST(MemoryGradients, GruCell) {
  const auto device = cpu();
  check_gradients(*device,
                  {random_tensor(*device, 5, 9, 1), random_tensor(*device, 5, 9, 2), random_tensor(*device, 5, 3, 3)},
                  [](Tape& tape, const std::vector<Var>& in) { return gru_cell(tape, in[0], in[1], in[2]); });
}

/// The state of one step is that of the next, so its gradient has two sources.
TEST(MemoryGradients, TwoCells) {
  const auto device = cpu();
  check_gradients(*device,
                  {random_tensor(*device, 4, 6, 1), random_tensor(*device, 4, 6, 2), random_tensor(*device, 4, 2, 3)},
                  [](Tape& tape, const std::vector<Var>& in) {
                    const Var once = gru_cell(tape, in[0], in[1], in[2]);
                    return gru_cell(tape, in[1], in[0], tanh_of(tape, once));
                  });
}

/// A state that takes no gradient, for example where memory is cut from earlier batches.
TEST(MemoryGradients, CellOfAConstantState) {
  const auto device = cpu();
  const Tensor state = random_tensor(*device, 5, 3, 3);
  check_gradients(
      *device, {random_tensor(*device, 5, 9, 1), random_tensor(*device, 5, 9, 2)},
      [&](Tape& tape, const std::vector<Var>& in) { return gru_cell(tape, in[0], in[1], Tape::constant(state)); });
}

TEST(MemoryGradients, Tanh) {
  const auto device = cpu();
  check_gradients(*device, {random_tensor(*device, 4, 3, 1)},
                  [](Tape& tape, const std::vector<Var>& in) { return tanh_of(tape, in[0]); });
}

TEST(MemoryGradients, TimeProjection) {
  const auto device = cpu();
  const Tensor dt = random_tensor(*device, 6, 1, 9);
  check_gradients(
      *device, {random_tensor(*device, 6, 5, 1), random_tensor(*device, 1, 5, 2), random_tensor(*device, 1, 5, 3)},
      [&](Tape& tape, const std::vector<Var>& in) { return time_projection(tape, in[0], dt, in[1], in[2]); });
}

/// The embedding has another reader than the projection, so the projection adds to its gradient.
TEST(MemoryGradients, ProjectionOfAnEmbeddingThatIsReadTwice) {
  const auto device = cpu();
  const Tensor dt = random_tensor(*device, 6, 1, 9);
  check_gradients(*device,
                  {random_tensor(*device, 6, 3, 1), random_tensor(*device, 1, 3, 2), random_tensor(*device, 1, 3, 3)},
                  [&](Tape& tape, const std::vector<Var>& in) {
                    return combine(tape, in[0], 0.7, time_projection(tape, in[0], dt, in[1], in[2]), 1.0);
                  });
}

TEST(MemoryGradients, LayerNorm) {
  const auto device = cpu();
  check_gradients(*device,
                  {random_tensor(*device, 5, 7, 1), random_tensor(*device, 1, 7, 2), random_tensor(*device, 1, 7, 3)},
                  [](Tape& tape, const std::vector<Var>& in) { return layer_norm(tape, in[0], in[1], in[2]); });
}

/// Twice with the same gain and shift, whose gradients add up. The rows have another reader too.
TEST(MemoryGradients, LayerNormTwice) {
  const auto device = cpu();
  check_gradients(*device,
                  {random_tensor(*device, 3, 4, 1), random_tensor(*device, 1, 4, 2), random_tensor(*device, 1, 4, 3)},
                  [](Tape& tape, const std::vector<Var>& in) {
                    const Var once = layer_norm(tape, in[0], in[1], in[2]);
                    return layer_norm(tape, combine(tape, in[0], 0.5, once, 1.0), in[1], in[2]);
                  });
}

}  // namespace
}  // namespace strobe
