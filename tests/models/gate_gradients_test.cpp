// Gradients of the parts of a step-by-step GRU against central finite differences in fp64.
#include <gtest/gtest.h>

#include "models/ops_gate.hpp"
#include "tests/models/differences.hpp"

namespace strobe {
namespace {

TEST(GateGradients, Sigmoid) {
  const auto device = cpu();
  check_gradients(*device, {random_tensor(*device, 5, 3, 1)},
                  [](Tape& tape, const std::vector<Var>& in) { return sigmoid(tape, in[0]); });
}

TEST(GateGradients, ResetState) {
  const auto device = cpu();
  check_gradients(*device, {random_tensor(*device, 5, 6, 1), random_tensor(*device, 5, 3, 2)},
                  [](Tape& tape, const std::vector<Var>& in) { return reset_state(tape, in[0], in[1]); });
}

TEST(GateGradients, BlendState) {
  const auto device = cpu();
  check_gradients(
      *device, {random_tensor(*device, 5, 6, 1), random_tensor(*device, 5, 3, 2), random_tensor(*device, 5, 3, 3)},
      [](Tape& tape, const std::vector<Var>& in) { return blend_state(tape, in[0], in[1], in[2]); });
}

/// A whole step, where the gates and the state are used twice.
TEST(GateGradients, WholeStep) {
  const auto device = cpu();
  check_gradients(*device, {random_tensor(*device, 4, 6, 1), random_tensor(*device, 4, 3, 2)},
                  [](Tape& tape, const std::vector<Var>& in) {
                    const Var gates = sigmoid(tape, in[0]);
                    return blend_state(tape, gates, in[1], reset_state(tape, gates, in[1]));
                  });
}

TEST(GateGradients, Combine) {
  const auto device = cpu();
  check_gradients(*device, {random_tensor(*device, 4, 3, 1), random_tensor(*device, 4, 3, 2)},
                  [](Tape& tape, const std::vector<Var>& in) { return combine(tape, in[0], 2.0, in[1], -1.0); });
}

}  // namespace
}  // namespace strobe
