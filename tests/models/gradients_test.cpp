// Gradients of differentiable operations against central finite differences in fp64.
#include <gtest/gtest.h>

#include "models/ops/ops.hpp"
#include "models/ops/ops_evolve.hpp"
#include "models/ops/ops_fading.hpp"
#include "models/ops/ops_pointwise.hpp"
#include "tests/models/small_case.hpp"

namespace strobe {
namespace {

TEST(Gradients, DenseWithBiasAndRelu) {
  const auto device = cpu();
  for (const Activation activation : {Activation::none, Activation::relu}) {
    check_gradients(*device,
                    {random_tensor(*device, 7, 3, 1), random_tensor(*device, 3, 4, 2), random_tensor(*device, 1, 4, 3)},
                    [&](Tape& tape, const std::vector<Var>& v) { return dense(tape, v[0], v[1], v[2], activation); });
  }
}

TEST(Gradients, Spmm) {
  const auto device = cpu();
  const SparseMatrix a = small_matrix(*device);
  check_gradients(*device, {random_tensor(*device, 10, 3, 1)},
                  [&](Tape& tape, const std::vector<Var>& v) { return spmm(tape, a, v[0]); });
}

TEST(Gradients, GraphConvolution) {
  const auto device = cpu();
  const SparseMatrix a = small_matrix(*device);
  for (const Activation activation : {Activation::none, Activation::relu}) {
    check_gradients(
        *device, {random_tensor(*device, 10, 6, 1), random_tensor(*device, 6, 5, 2)},
        [&](Tape& tape, const std::vector<Var>& v) { return graph_convolution(tape, a, v[0], v[1], activation); });
  }
}

TEST(Gradients, StepGraphConvolution) {
  const auto device = cpu();
  const SparseMatrix a = small_matrix(*device);
  const std::vector<std::int64_t> offsets{0, a.rows / 2, a.rows};
  const Tensor step_rows = device->move_in(offsets.data(), 3, 1, ElementType::i64);
  const Tensor x = random_tensor(*device, 10, 6, 1), w = random_tensor(*device, 12, 5, 2);
  for (const Activation activation : {Activation::none, Activation::relu}) {
    check_gradients(*device, {x, w}, [&](Tape& tape, const std::vector<Var>& v) {
      return step_graph_convolution(tape, a, v[0], v[1], step_rows, activation);
    });
    check_gradients(*device, {w}, [&](Tape& tape, const std::vector<Var>& v) {  // an input without a gradient
      return step_graph_convolution(tape, a, Tape::constant(x), v[0], step_rows, activation);
    });
  }
}

TEST(Gradients, SpmmOfDense) {
  const auto device = cpu();
  const SparseMatrix a = small_matrix(*device);
  const Var x = Tape::constant(random_tensor(*device, 10, 3, 1));
  const Tensor w = random_tensor(*device, 3, 5, 2), bias = random_tensor(*device, 1, 5, 3);
  const Tensor of_steps = random_tensor(*device, 6, 5, 4);
  for (const Activation activation : {Activation::none, Activation::relu}) {
    check_gradients(*device, {w, bias}, [&](Tape& tape, const std::vector<Var>& v) {
      return spmm_of_dense(tape, a, x, v[0], v[1], Tensor(), activation);
    });
    check_gradients(*device, {of_steps}, [&](Tape& tape, const std::vector<Var>& v) {
      return spmm_of_dense(tape, a, x, v[0], nullptr, a.step_rows, activation);
    });
  }
}

TEST(Gradients, StepConvolutionOfDense) {
  const auto device = cpu();
  const SparseMatrix a = small_matrix(*device);
  const Var x = Tape::constant(random_tensor(*device, 10, 3, 1));
  const Tensor first = random_tensor(*device, 6, 4, 2), w = random_tensor(*device, 8, 5, 3);
  for (const Activation activation : {Activation::none, Activation::relu}) {
    check_gradients(*device, {first, w}, [&](Tape& tape, const std::vector<Var>& v) {
      return step_convolution_of_dense(tape, a, x, v[0], Activation::relu, v[1], a.step_rows, activation);
    });
  }
}

TEST(Gradients, OnlyFewConstantColumnsAreCheapToRepeat) {
  const auto device = cpu();
  const SparseMatrix a = small_matrix(*device);
  Tape tape(*device);
  const Var wide = Tape::constant(random_tensor(*device, 10, 5, 1)),
            w = Tape::constant(random_tensor(*device, 5, 2, 2));
  EXPECT_FALSE(cheap_to_repeat(wide));
  EXPECT_THROW(spmm_of_dense(tape, a, wide, w, nullptr, Tensor(), Activation::relu), Error);
  EXPECT_THROW(step_convolution_of_dense(tape, a, wide, w, Activation::relu, w, a.step_rows, Activation::relu), Error);
}

TEST(Gradients, FadingSum) {
  const auto device = cpu();
  for (const std::int64_t window : {1, 2, 7}) {
    check_gradients(*device, {random_tensor(*device, 12, 2, 1)},
                    [&](Tape& tape, const std::vector<Var>& v) { return fading_sum(tape, v[0], 4, window); });
  }
}

TEST(Gradients, Selu) {
  const auto device = cpu();
  check_gradients(*device, {random_tensor(*device, 7, 3, 1)},
                  [](Tape& tape, const std::vector<Var>& v) { return selu(tape, selu(tape, v[0])); });
}

TEST(Gradients, PointwiseCurves) {
  const auto device = cpu();
  for (const auto& [curve, p] : {std::pair{Curve::affine, -1.5},
                                 {Curve::sigmoid, 1.0},
                                 {Curve::leaky_relu, 0.0},
                                 {Curve::leaky_relu, 0.25},
                                 {Curve::elu, 1.5}}) {
    check_gradients(*device, {random_tensor(*device, 7, 3, 1)},
                    [&](Tape& tape, const std::vector<Var>& v) { return pointwise(tape, v[0], curve, p, 0.5); });
  }
  Tape tape(*device);
  const Var x = Tape::constant(random_tensor(*device, 2, 2, 1));
  EXPECT_THROW(pointwise(tape, x, Curve::leaky_relu, -0.1), Error);
}

/// A value times itself has a gradient of two parts.
TEST(Gradients, Multiply) {
  const auto device = cpu();
  check_gradients(*device, {random_tensor(*device, 7, 3, 1), random_tensor(*device, 7, 3, 2)},
                  [](Tape& tape, const std::vector<Var>& v) {
                    const Var z = multiply(tape, v[0], v[1]);
                    return multiply(tape, z, multiply(tape, z, v[0]));
                  });
  check_gradients(*device, {random_tensor(*device, 7, 3, 1)},
                  [](Tape& tape, const std::vector<Var>& v) { return multiply(tape, v[0], v[0]); });
}

TEST(Gradients, MTransform) {
  const auto device = cpu();
  for (const std::int64_t window : {1, 3, 9}) {
    check_gradients(*device, {random_tensor(*device, 12, 2, 1)},
                    [&](Tape& tape, const std::vector<Var>& v) { return m_transform(tape, v[0], 6, window); });
  }
}

TEST(Gradients, GatherRowsWithRepeats) {
  const auto device = cpu();
  const std::vector<std::int64_t> first = {0, 4, 4, 2}, second = {1, 4, 0, 3};
  const std::vector<Tensor> lists = {device->move_in(first.data(), 4, 1, ElementType::i64),
                                     device->move_in(second.data(), 4, 1, ElementType::i64)};
  check_gradients(*device, {random_tensor(*device, 5, 3, 1)},
                  [&](Tape& tape, const std::vector<Var>& v) { return gather_rows(tape, v[0], lists, 4); });
}

TEST(Gradients, GatheredDenseWithRepeats) {
  const auto device = cpu();
  const std::vector<std::int64_t> first = {0, 4, 4, 2}, second = {1, 4, 0, 3};
  const std::vector<Tensor> lists = {device->move_in(first.data(), 4, 1, ElementType::i64),
                                     device->move_in(second.data(), 4, 1, ElementType::i64)};
  const std::vector<Tensor> inputs{random_tensor(*device, 5, 3, 1), random_tensor(*device, 6, 2, 2),
                                   random_tensor(*device, 1, 2, 3)};
  check_gradients(*device, inputs, [&](Tape& tape, const std::vector<Var>& v) {
    return gathered_dense(tape, v[0], lists, 4, v[1], v[2]);
  });
  check_gradients(*device, {inputs[0], inputs[1]}, [&](Tape& tape, const std::vector<Var>& v) {
    return gathered_dense(tape, v[0], lists, 4, v[1], nullptr);
  });
  // Rows side by side with a dense layer after them give the same result; embeddings may need no gradient.
  Tape tape(*device);
  const Var x = Tape::constant(inputs[0]), w = tape.leaf(inputs[1], device->allocate(6, 2, ElementType::f64)),
            bias = Tape::constant(inputs[2]);
  const Var whole = gathered_dense(tape, x, lists, 4, w, bias);
  const Var parts = dense(tape, gather_rows(tape, x, lists, 4), w, bias, Activation::none);
  const auto at_once = whole->value.values<double>(), in_turn = parts->value.values<double>();
  ASSERT_EQ(at_once.size(), 8U);
  for (std::size_t i = 0; i < at_once.size(); ++i) EXPECT_NEAR(at_once[i], in_turn[i], 1e-14) << i;
}

TEST(Gradients, AVariableUsedTwiceGetsBoth) {
  const auto device = cpu();
  check_gradients(*device, {random_tensor(*device, 4, 3, 1), random_tensor(*device, 3, 3, 2)},
                  [&](Tape& tape, const std::vector<Var>& v) {
                    const Var h = m_transform(tape, v[0], 2, 2);
                    const Var once = dense(tape, h, v[1], nullptr, Activation::none);
                    const std::vector<std::int64_t> all = {0, 1, 2, 3};
                    const Tensor list = tape.device().move_in(all.data(), 4, 1, ElementType::i64);
                    // h is read by the product above and by this gather.
                    const Var again = gather_rows(tape, h, {list}, 4);
                    const Var sum = dense(tape, again, v[1], nullptr, Activation::relu);
                    tape.device().run(AddScaled{once->value, sum->value, 0.0});
                    return sum;
                  });
}

TEST(Gradients, SoftmaxCrossEntropyAgainstDifferences) {
  const auto device = cpu();
  const std::vector<std::int32_t> labels = {1, 0, 2};
  const Tensor label = device->move_in(labels.data(), 3, 1, ElementType::i32);
  const Tensor logits = random_tensor(*device, 3, 3, 1);
  const auto loss_of = [&](Tensor* gradient) {
    Tape tape(*device);
    const Tensor loss = device->allocate(1, 1, ElementType::f64);
    device->run(Fill{loss, 0.0});
    const Var leaf = std::make_shared<Variable>(Variable{logits, {}, true});
    softmax_cross_entropy(tape, leaf, label, 1.0 / 3, loss);
    if (gradient != nullptr) *gradient = leaf->gradient;
    return loss.data<double>()[0];
  };
  Tensor gradient;
  loss_of(&gradient);
  for (std::int64_t i = 0; i < 9; ++i) {
    double& x = logits.data<double>()[i];
    const double saved = x;
    x = saved + 1e-6;
    const double above = loss_of(nullptr);
    x = saved - 1e-6;
    const double below = loss_of(nullptr);
    x = saved;
    EXPECT_NEAR(gradient.data<double>()[i], (above - below) / 2e-6, 1e-8);
  }
}

TEST(Tape, CallsBackWhenTheBackwardPassArrives) {
  const auto device = cpu();
  const Tensor x = random_tensor(*device, 3, 2, 1), plain = zeros(*device, x), reported = zeros(*device, x);
  std::string order;
  const auto pass = [&](const Tensor& gradient, bool tells, bool recording) {
    Tape tape(*device, recording);
    if (tells) tape.on_backward([&] { order += "first "; });
    const Var sum = slice_rows(tape, Tape::leaf(x, gradient), 0, 3);
    if (tells) tape.on_backward([&] { order += "last "; });
    if (!recording) return;
    const Tensor ones = device->allocate(3, 2, x.type());
    device->run(Fill{ones, 1.0});
    tape.add_gradient(sum, ones);
    tape.backward();
  };
  pass(plain, false, true);
  pass(reported, true, true);
  EXPECT_EQ(order, "last first ");
  for (std::int64_t i = 0; i < 6; ++i) EXPECT_EQ(reported.data<double>()[i], plain.data<double>()[i]);
  EXPECT_EQ(reported.data<double>()[0], 1.0);
  pass(reported, true, false);
  EXPECT_EQ(order, "last first ") << "nothing is recorded";
}

}  // namespace
}  // namespace strobe
