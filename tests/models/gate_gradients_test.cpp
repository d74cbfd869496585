// Gradients of the parts of a step-by-step GRU against central finite differences in fp64.
#include <gtest/gtest.h>

#include "models/ops/ops_gate.hpp"
#include "tests/models/differences.hpp"

namespace strobe {
namespace {

TEST(GateGradients, BothGates) {
  const auto device = cpu();
  check_gradients(*device, {random_tensor(*device, 5, 6, 1), random_tensor(*device, 5, 3, 2)},
                  [](Tape& tape, const std::vector<Var>& in) {
                    const GruGateVars gates = gru_gates(tape, in[0], in[1]);
                    return combine(tape, gates.update, 1.0, gates.reset, 0.7);
                  });
}

/// The reset state has no reader, for example where no state is carried.
TEST(GateGradients, UpdateAlone) {
  const auto device = cpu();
  check_gradients(*device, {random_tensor(*device, 5, 6, 1), random_tensor(*device, 5, 3, 2)},
                  [](Tape& tape, const std::vector<Var>& in) {
                    return combine(tape, gru_gates(tape, in[0], in[1]).update, 1.0, in[1], 0.5);
                  });
}

TEST(GateGradients, BlendState) {
  const auto device = cpu();
  check_gradients(*device,
                  {random_tensor(*device, 5, 3, 1), random_tensor(*device, 5, 3, 2), random_tensor(*device, 5, 3, 3)},
                  [](Tape& tape, const std::vector<Var>& in) { return blend_state(tape, in[0], in[1], in[2]); });
}

/// A whole step, where the state is used twice.
TEST(GateGradients, WholeStep) {
  const auto device = cpu();
  check_gradients(*device, {random_tensor(*device, 4, 6, 1), random_tensor(*device, 4, 3, 2)},
                  [](Tape& tape, const std::vector<Var>& in) {
                    const GruGateVars gates = gru_gates(tape, in[0], in[1]);
                    return blend_state(tape, gates.update, in[1], gates.reset);
                  });
}

TEST(GateGradients, Combine) {
  const auto device = cpu();
  check_gradients(*device, {random_tensor(*device, 4, 3, 1), random_tensor(*device, 4, 3, 2)},
                  [](Tape& tape, const std::vector<Var>& in) { return combine(tape, in[0], 2.0, in[1], -1.0); });
}

}  // namespace
}  // namespace strobe
