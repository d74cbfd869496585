// Fig. 10 of DGC (SIGMOD'23): of two sequences end to end the second one starts from nothing. One scalar GRU computed
// by hand, in the three ways in which its mask can be read (decisions on Eq. 4): only one of them is two sequences.
#include <gtest/gtest.h>

#include <cmath>

#include "models/ops/ops_recurrent.hpp"
#include "tests/models/differences.hpp"

namespace strobe {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// Gates r, z and the candidate n of one unit: factors of x and of h. r = 1/2 always.
struct ScalarGru {
  double z_x = 0.5, z_h = 0.453, n_x = 0.411, n_h = 0.4375;
  /// The state after `h`, with the masks of the update gate and of everything else.
  double next(double x, double h, double gate_mask, double mask) const {
    const double z = sigmoid(z_x * x + z_h * h * gate_mask), n = std::tanh(n_x * x + n_h * 0.5 * h * mask);
    return z * h * mask + (1 - z) * n;
  }
};

TEST(FusedSequences, StartFromNothing) {
  const ScalarGru gru;
  const double h_b2 = 0.8, x_c1 = 1;
  // The values of such a GRU in decisions 4.5: reset everywhere, in the update gate alone, nowhere.
  EXPECT_NEAR(gru.next(x_c1, h_b2, 0, 0), 0.147, 5e-4);
  EXPECT_NEAR(gru.next(x_c1, h_b2, 0, 1), 0.697, 5e-4);
  EXPECT_NEAR(gru.next(x_c1, h_b2, 1, 1), 0.719, 5e-4);
}

TEST(FusedSequences, AreTwoSequences) {
  const ScalarGru gru;
  const auto device = cpu();
  const auto constant = [&](const std::vector<double>& values, std::int64_t rows, std::int64_t columns) {
    return Tape::constant(device->move_in(values.data(), rows, columns, ElementType::f64));
  };
  const std::vector<double> x{2.5, -0.7, 1, 0.3};  // B1, B2, C1, C2
  const std::vector<std::int32_t> restarts{-2, -1, -2, -1}, none(4, -1);
  const Var w_x = constant({0, gru.z_x, gru.n_x}, 3, 1), w_h = constant({0, gru.z_h, gru.n_h}, 3, 1),
            bias = constant({0, 0, 0}, 3, 1);
  Tape tape(*device, false);
  PackedSequences packed;
  packed.restarts = device->move_in(restarts.data(), 4, 1, ElementType::i32);
  const Recurrence fused = gru_sequence(tape, constant(x, 4, 1), w_x, w_h, bias, 4, nullptr, false, packed);
  std::vector<double> y(4);
  device->move_out(fused.y->value, y.data());
  const double b1 = gru.next(x[0], 0, 1, 1), b2 = gru.next(x[1], b1, 1, 1);
  const double c1 = gru.next(x[2], 0, 1, 1), c2 = gru.next(x[3], c1, 1, 1);
  const std::vector<double> one_by_one{b1, b2, c1, c2};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(y[i], one_by_one[i], 1e-15) << i;
  EXPECT_GT(std::abs(y[2] - gru.next(x[2], b2, 0, 1)), 0.01);  // the update gate's mask alone
  EXPECT_GT(std::abs(y[2] - gru.next(x[2], b2, 1, 1)), 0.01);  // no mask
}

}  // namespace
}  // namespace strobe
