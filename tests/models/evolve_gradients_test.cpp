// Gradients of evolving weights and of the summary of a step's vertices against finite differences in fp64.
#include <algorithm>

#include "models/ops/ops.hpp"
#include "models/ops/ops_evolve.hpp"
#include "tests/models/differences.hpp"

namespace strobe {
namespace {

Tensor indices(Device& device, const std::vector<std::int64_t>& values) {
  return device.move_in(values.data(), static_cast<std::int64_t>(values.size()), 1, ElementType::i64);
}

TEST(EvolveGradients, StepDense) {
  const auto device = cpu();
  const Tensor step_rows = indices(*device, {0, 4, 4, 9});
  for (const Activation activation : {Activation::none, Activation::relu}) {
    check_gradients(
        *device, {random_tensor(*device, 9, 2, 1), random_tensor(*device, 6, 5, 2)},
        [&](Tape& tape, const std::vector<Var>& v) { return step_dense(tape, v[0], v[1], step_rows, activation); });
  }
}

TEST(EvolveGradients, WeightsFromThemselves) {
  const auto device = cpu();
  for (const EvolveCell cell : {EvolveCell::lstm, EvolveCell::gru}) {
    const std::int64_t gates = gates_of(cell);
    check_gradients(*device,
                    {random_tensor(*device, gates * 3, 3, 1), random_tensor(*device, gates * 3, 3, 2),
                     random_tensor(*device, gates * 3, 4, 3), random_tensor(*device, 3, 4, 4)},
                    [&](Tape& tape, const std::vector<Var>& v) {
                      return evolve_weights(tape, {v[0], v[1], v[2], v[3]}, nullptr, 5, cell, false);
                    });
  }
}

TEST(EvolveGradients, WeightsFromASummary) {
  const auto device = cpu();
  for (const EvolveCell cell : {EvolveCell::lstm, EvolveCell::gru}) {
    const std::int64_t gates = gates_of(cell);
    check_gradients(
        *device,
        {random_tensor(*device, gates * 3, 3, 1), random_tensor(*device, gates * 3, 3, 2),
         random_tensor(*device, gates * 3, 4, 3), random_tensor(*device, 3, 4, 4), random_tensor(*device, 20, 3, 5)},
        [&](Tape& tape, const std::vector<Var>& v) {
          return evolve_weights(tape, {v[0], v[1], v[2], v[3]}, v[4], 5, cell, false);
        });
  }
}

/// Cut between steps, the start reaches step 0 only, and the last step's gradient is that of one step.
TEST(EvolveGradients, DetachedStepsKeepTheirValues) {
  const auto device = cpu();
  const std::vector<Tensor> inputs{random_tensor(*device, 12, 3, 1), random_tensor(*device, 12, 3, 2),
                                   random_tensor(*device, 12, 4, 3), random_tensor(*device, 3, 4, 4)};
  std::vector<Tensor> weights, dstart;
  for (const bool detached : {false, true}) {
    Tape tape(*device);
    std::vector<Var> v;
    for (const Tensor& input : inputs) v.push_back(Tape::leaf(input, zeros(*device, input)));
    const Var result = evolve_weights(tape, {v[0], v[1], v[2], v[3]}, nullptr, 4, EvolveCell::lstm, detached);
    weights.push_back(result->value);
    result->gradient = zeros(*device, result->value);
    result->gradient.data<double>()[3 * 12] = 1.0;  // an element of the last step
    tape.backward();
    dstart.push_back(v[3]->gradient);
  }
  const auto full = weights[0].values<double>(), cut = weights[1].values<double>();
  EXPECT_TRUE(std::equal(full.begin(), full.end(), cut.begin()));
  const auto is_zero = [](double value) { return value == 0.0; };
  const auto through = dstart[0].values<double>(), stopped = dstart[1].values<double>();
  EXPECT_FALSE(std::all_of(through.begin(), through.end(), is_zero));
  EXPECT_TRUE(std::all_of(stopped.begin(), stopped.end(), is_zero));
}

/// Two parts, the second from the state that the first hands on, are one evolution: values and gradients.
TEST(EvolveGradients, PartsAreTheWhole) {
  const auto device = cpu();
  for (const EvolveCell cell : {EvolveCell::lstm, EvolveCell::gru}) {
    const std::int64_t gates = gates_of(cell);
    const auto parts = [&](Tape& tape, const std::vector<Var>& v) {
      const EvolutionWeights leaves{v[0], v[1], v[2], v[3]};
      Var state;
      const Var first = evolve_weights(tape, leaves, slice_rows(tape, v[4], 0, 12), 3, cell, false, {nullptr, &state});
      const Var second = evolve_weights(tape, leaves, slice_rows(tape, v[4], 12, 8), 2, cell, false, {state, nullptr});
      return concat_rows(tape, {first, second});
    };
    const std::vector<Tensor> inputs{random_tensor(*device, gates * 3, 3, 1), random_tensor(*device, gates * 3, 3, 2),
                                     random_tensor(*device, gates * 3, 4, 3), random_tensor(*device, 3, 4, 4),
                                     random_tensor(*device, 20, 3, 5)};
    check_gradients(*device, inputs, parts);
    Tape tape(*device, false);
    std::vector<Var> v;
    for (const Tensor& input : inputs) v.push_back(Tape::constant(input));
    const Var whole = evolve_weights(tape, {v[0], v[1], v[2], v[3]}, v[4], 5, cell, false);
    const Var joined = parts(tape, v);
    const auto expected = whole->value.values<double>(), actual = joined->value.values<double>();
    ASSERT_EQ(expected.size(), 60u);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), actual.begin()));
  }
}

TEST(EvolveGradients, Summary) {
  const auto device = cpu();
  const Tensor chosen = indices(*device, {2, -1, 5, 5, 0});
  for (const bool gated : {false, true}) {
    check_gradients(
        *device, {random_tensor(*device, 7, 3, 1), random_tensor(*device, 3, 1, 2)},
        [&](Tape& tape, const std::vector<Var>& v) { return summarise_rows(tape, {v[0]}, v[1], chosen, gated); });
  }
}

/// Rows of a layer that is not stored: the weights of the step that a summary row belongs to get its gradient.
TEST(EvolveGradients, SummaryOfALayer) {
  const auto device = cpu();
  const Tensor chosen = indices(*device, {2, -1, 5, 5, 0, 6}), x = random_tensor(*device, 7, 2, 3);
  for (const bool gated : {false, true}) {
    for (const Activation activation : {Activation::none, Activation::relu}) {
      check_gradients(*device, {random_tensor(*device, 2 * 2, 3, 1), random_tensor(*device, 3, 1, 2)},
                      [&](Tape& tape, const std::vector<Var>& v) {
                        return summarise_rows(tape, {Tape::constant(x), v[0], activation}, v[1], chosen, gated);
                      });
    }
  }
}

}  // namespace
}  // namespace strobe
