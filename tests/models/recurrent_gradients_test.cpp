// Recurrences, column blocks, normalisation and dropout compared with finite differences, and their other promises.
#include <algorithm>
#include <numeric>

#include "backends/operations/operations_recurrent.hpp"
#include "models/ops/ops.hpp"
#include "models/ops/ops_block.hpp"
#include "models/ops/ops_recurrent.hpp"
#include "models/ops/ops_statistics.hpp"
#include "tests/models/differences.hpp"

namespace strobe {
namespace {

constexpr std::int64_t all_steps = 4, bins = 3, hidden = 2;

/// The result and the state handed on, as one value.
Var joined(Tape& tape, const Recurrence& recurrence) {
  return recurrence.state ? concat_rows(tape, {recurrence.y, recurrence.state}) : recurrence.y;
}

TEST(RecurrentGradients, Lstm) {
  const auto device = cpu();
  for (const std::int64_t inputs : {3, 60}) {  // the second keeps its gates
    for (const bool cut : {false, true}) {
      std::vector<Tensor> values{
          random_tensor(*device, all_steps * bins, inputs, 1), random_tensor(*device, inputs, 4 * hidden, 2),
          random_tensor(*device, hidden, 4 * hidden, 3), random_tensor(*device, 1, 4 * hidden, 4)};
      if (cut) values.push_back(random_tensor(*device, 2 * bins, hidden, 6));
      check_gradients(*device, values, [&](Tape& tape, const std::vector<Var>& v) {
        return joined(tape, lstm_sequence(tape, {v[0]}, v[1], v[2], v[3], all_steps, cut ? v[4] : nullptr, cut));
      });
    }
  }
}

TEST(RecurrentGradients, LstmOfTwoParts) {
  const auto device = cpu();
  for (const std::int64_t right : {2, 50}) {  // the second keeps its gates
    const std::vector<Tensor> values{
        random_tensor(*device, all_steps * bins, 3, 1), random_tensor(*device, 3 + right, 4 * hidden, 2),
        random_tensor(*device, hidden, 4 * hidden, 3), random_tensor(*device, 1, 4 * hidden, 4),
        random_tensor(*device, all_steps * bins, right, 5)};
    check_gradients(*device, values, [&](Tape& tape, const std::vector<Var>& v) {
      return lstm_sequence(tape, {v[0], v[4]}, v[1], v[2], v[3], all_steps, nullptr, false).y;
    });
    // A part that something else reads as well: its gradients meet.
    check_gradients(*device, values, [&](Tape& tape, const std::vector<Var>& v) {
      const Var y = lstm_sequence(tape, {v[0], v[4]}, v[1], v[2], v[3], all_steps, nullptr, false).y;
      return concat_columns(tape, {v[4], y, v[0]});
    });
    // Two parts, one without a gradient.
    for (const bool left : {false, true}) {
      const std::vector<Tensor> rest{left ? values[0] : values[4], values[1], values[2], values[3]};
      check_gradients(*device, rest, [&](Tape& tape, const std::vector<Var>& v) {
        const std::vector<Var> parts = left ? std::vector<Var>{v[0], Tape::constant(values[4])}
                                            : std::vector<Var>{Tape::constant(values[0]), v[0]};
        return lstm_sequence(tape, parts, v[1], v[2], v[3], all_steps, nullptr, false).y;
      });
    }
  }
}

/// relu([x | x w]) in front: the first makes its inputs itself on this device, the second is two operations.
TEST(RecurrentGradients, LstmAfterASkipLayer) {
  const auto device = cpu();
  for (const std::int64_t made : {3, 60}) {
    EXPECT_EQ(makes_inputs(3, made, hidden), made == 3);
    for (const bool cut : {false, true}) {
      std::vector<Tensor> values{random_tensor(*device, all_steps * bins, 3, 1), random_tensor(*device, 3, made, 7),
                                 random_tensor(*device, 3 + made, 4 * hidden, 2),
                                 random_tensor(*device, hidden, 4 * hidden, 3),
                                 random_tensor(*device, 1, 4 * hidden, 4)};
      if (cut) values.push_back(random_tensor(*device, 2 * bins, hidden, 6));
      const auto run = [&](Tape& tape, const std::vector<Var>& v) {
        return joined(tape,
                      skip_lstm_sequence(tape, v[0], v[1], v[2], v[3], v[4], all_steps, cut ? v[5] : nullptr, cut));
      };
      check_gradients(*device, values, run);
      Tape tape(*device);  // the same as the layer and the LSTM one after the other
      std::vector<Var> v;
      for (const Tensor& value : values) v.push_back(Tape::constant(value));
      const Var whole = run(tape, v), x = skip_dense(tape, v[0], v[0], v[1], Activation::relu);
      const Var parts = joined(tape, lstm_sequence(tape, {x}, v[2], v[3], v[4], all_steps, cut ? v[5] : nullptr, cut));
      for (std::int64_t i = 0; i < whole->value.elements(); ++i)
        EXPECT_NEAR(whole->value.data<double>()[i], parts->value.data<double>()[i], 1e-14);
    }
  }
}

TEST(RecurrentGradients, MoreThanTwoPartsAreRefused) {
  const auto device = cpu();
  Tape tape(*device);
  const Var x = Tape::constant(random_tensor(*device, all_steps * bins, 3, 1));
  EXPECT_THROW(lstm_sequence(tape, {x, x, x}, x, x, x, all_steps, nullptr, false), Error);
  EXPECT_THROW(lstm_sequence(tape, {}, x, x, x, all_steps, nullptr, false), Error);
}

TEST(RecurrentGradients, Gru) {
  const auto device = cpu();
  for (const std::int64_t inputs : {3, 50}) {  // the second keeps its gates
    for (const int flags : {0, 1, 2, 3}) {
      const bool cut = (flags & 1) != 0, own = (flags & 2) != 0;
      std::vector<Tensor> values{random_tensor(*device, all_steps * bins, own ? 3 * inputs : inputs, 1),
                                 random_tensor(*device, 3 * inputs, hidden, 2),
                                 random_tensor(*device, 3 * hidden, hidden, 3), random_tensor(*device, 3, hidden, 4)};
      if (cut) values.push_back(random_tensor(*device, bins, hidden, 6));
      check_gradients(*device, values, [&](Tape& tape, const std::vector<Var>& v) {
        return joined(tape, gru_sequence(tape, v[0], v[1], v[2], v[3], all_steps, cut ? v[4] : nullptr, cut));
      });
    }
  }
}

TEST(RecurrentGradients, ColumnBlocks) {
  const auto device = cpu();
  const std::vector<Tensor> values{random_tensor(*device, 5, 4, 1), random_tensor(*device, 4, 3, 2),
                                   random_tensor(*device, 2, 3, 3), random_tensor(*device, 5, 2, 4)};
  for (const Activation activation : {Activation::none, Activation::relu}) {
    check_gradients(*device, values, [&](Tape& tape, const std::vector<Var>& v) {
      return block_dense(tape, v[0], v[1], v[2], 2, activation);
    });
    check_gradients(*device, values, [&](Tape& tape, const std::vector<Var>& v) {
      const Var beside = skip_dense(tape, v[3], v[0], v[1], activation);
      return concat_columns(tape,
                            {skip_dense(tape, v[0], v[0], v[1], activation), slice_columns(tape, beside, 1, 3), v[3]});
    });
  }
}

/// A narrow layer reads its parts where they are, a wide one joins them; a part may be handed to several layers.
TEST(RecurrentGradients, DenseLayerOfJoinedParts) {
  const auto device = cpu();
  for (const std::int64_t outputs : {4, 1100}) {
    const std::vector<Tensor> values{random_tensor(*device, 2, 4, 1), random_tensor(*device, 2, 1, 2),
                                     random_tensor(*device, 2, 3, 3), random_tensor(*device, 8, outputs, 4),
                                     random_tensor(*device, 1, outputs, 5)};
    check_gradients(*device, values, [&](Tape& tape, const std::vector<Var>& v) {
      const Var with_bias = joined_dense(tape, {v[0], v[1], v[2]}, v[3], v[4]);
      return concat_columns(tape, {joined_dense(tape, {v[2], v[0], v[1]}, v[3], nullptr), with_bias});
    });
  }
}

TEST(RecurrentGradients, APartJoinedTwiceIsRefused) {
  const auto device = cpu();
  Tape tape(*device);
  const Var x = Tape::leaf(random_tensor(*device, 2, 3, 1), random_tensor(*device, 2, 3, 2));
  const Var fixed = Tape::constant(random_tensor(*device, 2, 3, 3)),
            w = Tape::constant(random_tensor(*device, 6, 2, 4));
  EXPECT_THROW(concat_columns(tape, {x, x}), Error);
  EXPECT_THROW(joined_dense(tape, {x, x}, w, nullptr), Error);
  EXPECT_EQ(joined_dense(tape, {fixed, fixed}, w, nullptr)->value.columns(), 2);
}

/// Sums over the only rank there is.
class OneRank final : public RankSums {
 public:
  int ranks() const override { return 1; }
  int rank() const override { return 0; }
  Var sum(Tape&, const Var& part) const override { return part; }
};

/// Two steps of five vertices.
struct TwoSteps {
  CellRows cells;
  OneRank one;
  Pass pass;

  explicit TwoSteps(Device& device) {
    std::vector<std::int64_t> ids(10);
    std::iota(ids.begin(), ids.end(), 0);
    cells.vertices = 5;
    cells.steps = 2;
    const std::vector<std::int64_t> step_rows = {0, 5, 10};
    cells.step_rows = step_rows;
    cells.step_rows_on_device = device.move_in(step_rows.data(), 3, 1, ElementType::i64);
    cells.ids = device.move_in(ids.data(), 10, 1, ElementType::i64);
    pass.ranks = &one;
  }
};

TEST(BatchNorm, GradientsAndMoments) {
  const auto device = cpu();
  const TwoSteps two(*device);
  check_gradients(
      *device, {random_tensor(*device, 10, 3, 1), random_tensor(*device, 1, 3, 2), random_tensor(*device, 1, 3, 3)},
      [&](Tape& tape, const std::vector<Var>& v) { return batch_norm(tape, v[0], v[1], v[2], two.cells, two.pass); });
  Tape tape(*device);
  const Tensor ones = device->allocate(1, 3), nothing = device->allocate(1, 3);
  device->run(Fill{ones, 1.0});
  device->run(Fill{nothing, 0.0});
  const Var y = batch_norm(tape, Tape::constant(random_tensor(*device, 10, 3, 1)), Tape::constant(ones),
                           Tape::constant(nothing), two.cells, two.pass);
  for (std::int64_t step = 0; step < 2; ++step) {
    for (std::int64_t f = 0; f < 3; ++f) {
      double mean = 0, square = 0;
      for (std::int64_t v = 0; v < 5; ++v) {
        const double value = y->value.data<double>()[(step * 5 + v) * 3 + f];
        mean += value / 5;
        square += value * value / 5;
      }
      EXPECT_NEAR(mean, 0, 1e-14);
      EXPECT_NEAR(square, 1, 1e-3);  // epsilon keeps it below 1
    }
  }
}

TEST(Dropout, GradientsAndShare) {
  const auto device = cpu();
  TwoSteps two(*device);
  check_gradients(*device, {random_tensor(*device, 10, 6, 1)}, [&](Tape& tape, const std::vector<Var>& v) {
    return dropout(tape, v[0], 0.4, 1, two.cells, two.pass);
  });
  const auto dropped = [&](std::int64_t epoch, int layer) {
    two.pass.epoch = epoch;
    Tape tape(*device);
    const Tensor x = device->allocate(10, 6);
    device->run(Fill{x, 1.0});
    const Tensor y = dropout(tape, Tape::constant(x), 0.4, layer, two.cells, two.pass)->value;
    return std::vector<double>(y.data<double>(), y.data<double>() + 60);
  };
  const std::vector<double> once = dropped(1, 0);
  EXPECT_EQ(once, dropped(1, 0));
  EXPECT_NE(once, dropped(2, 0));
  EXPECT_NE(once, dropped(1, 1));
  const auto kept = std::count(once.begin(), once.end(), 1.0 / 0.6);
  EXPECT_EQ(kept + std::count(once.begin(), once.end(), 0.0), 60);
  EXPECT_GT(kept, 24);  // 36 expected, standard deviation 3.8
  EXPECT_LT(kept, 48);
  two.pass.training = false;
  EXPECT_EQ(dropped(1, 0), std::vector<double>(60, 1.0));
}

}  // namespace
}  // namespace strobe
