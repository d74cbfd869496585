// Gradients against central finite differences in fp64: every differentiable operation, and every registered model with
// its task head on a small graph.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "core/random.hpp"
#include "models/model.hpp"
#include "models/ops.hpp"
#include "models/task.hpp"

namespace strobe {
namespace {

std::unique_ptr<Device> cpu() {
  DeviceRequest request;
  request.precision = ElementType::f64;
  return DeviceRegistry::instance().find("cpu").value(request);
}

Tensor random_tensor(Device& device, std::int64_t rows, std::int64_t columns, std::uint32_t key) {
  const RandomStream random(11, random_purpose::test, key);
  std::vector<double> values(static_cast<std::size_t>(rows * columns));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 2 * random.uniform(i) - 1;
  return device.move_in(values.data(), rows, columns, ElementType::f64);
}

Tensor zeros(Device& device, const Tensor& like) {
  const Tensor result = device.allocate(like.rows(), like.columns(), like.type());
  device.run(Fill{result, 0.0});
  return result;
}

/// Two steps of 5 vertices as one block matrix, with an empty row.
SparseMatrix small_matrix(Device& device) {
  const std::vector<std::int64_t> offsets = {0, 2, 3, 3, 5, 6, 8, 9, 11, 12, 13};
  const std::vector<std::int32_t> columns = {0, 3, 2, 1, 4, 4, 5, 9, 6, 7, 8, 5, 9};
  SparseMatrix a;
  a.rows = a.columns = a.halo_begin = 10;
  a.nonzeros = 13;
  a.steps = 2;
  const std::vector<std::int64_t> step_rows = {0, 5, 10}, step_halo = {0, 0, 0};
  a.row_offsets = device.move_in(offsets.data(), 11, 1, ElementType::i64);
  a.column_indices = device.move_in(columns.data(), 13, 1, ElementType::i32);
  a.values = random_tensor(device, 13, 1, 99);
  a.step_rows = device.move_in(step_rows.data(), 3, 1, ElementType::i64);
  a.step_halo = device.move_in(step_halo.data(), 3, 1, ElementType::i64);
  return a;
}

/// Checks d(sum of weights * f(inputs)) / d(inputs) for a function of leaves recorded on a tape.
void check_gradients(Device& device, const std::vector<Tensor>& inputs,
                     const std::function<Var(Tape&, const std::vector<Var>&)>& function) {
  const auto evaluate = [&](bool backward, std::vector<Tensor>& gradients) {
    Tape tape(device);
    std::vector<Var> leaves;
    for (const Tensor& input : inputs) {
      gradients.push_back(zeros(device, input));
      leaves.push_back(Tape::leaf(input, gradients.back()));
    }
    const Var result = function(tape, leaves);
    const Tensor weights = random_tensor(device, result->value.rows(), result->value.columns(), 5);
    double total = 0;
    for (std::int64_t i = 0; i < weights.elements(); ++i) total += weights.data<double>()[i] * result->value.data<double>()[i];
    if (backward) {
      result->gradient = weights;
      tape.backward();
    }
    return total;
  };
  std::vector<Tensor> gradients, ignored;
  evaluate(true, gradients);
  bool any = false;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    for (std::int64_t i = 0; i < inputs[k].elements(); ++i) {
      double& x = inputs[k].data<double>()[i];
      const double saved = x, h = 1e-6;
      x = saved + h;
      const double above = evaluate(false, ignored);
      x = saved - h;
      const double below = evaluate(false, ignored);
      x = saved;
      const double expected = (above - below) / (2 * h), actual = gradients[k].data<double>()[i];
      EXPECT_NEAR(actual, expected, 1e-7 * std::max(1.0, std::abs(expected))) << "input " << k << " element " << i;
      any = any || std::abs(expected) > 1e-3;
    }
  }
  EXPECT_TRUE(any) << "all gradients vanish, so nothing was checked";
}

TEST(Gradients, DenseWithBiasAndRelu) {
  const auto device = cpu();
  for (const Activation activation : {Activation::none, Activation::relu}) {
    check_gradients(*device, {random_tensor(*device, 7, 3, 1), random_tensor(*device, 3, 4, 2), random_tensor(*device, 1, 4, 3)},
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
    check_gradients(*device, {random_tensor(*device, 10, 6, 1), random_tensor(*device, 6, 5, 2)},
                    [&](Tape& tape, const std::vector<Var>& v) { return graph_convolution(tape, a, v[0], v[1], activation); });
  }
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

/// A model with the link-prediction head on two steps of the small matrix; logits [4, 2].
class ModelWithHead {
 public:
  ModelWithHead(Device& device, const Model& model, const Task& task)
      : device_(device), model_(model), task_(task), layers_(model.layers(2)), a_(small_matrix(device)),
        x_(random_tensor(device, 10, 2, 8)), parameters_(device, shapes(), 3) {
    const std::vector<std::int64_t> u = {0, 1, 7, 9}, v = {2, 3, 8, 5};
    lists_ = {device.move_in(u.data(), 4, 1, ElementType::i64), device.move_in(v.data(), 4, 1, ElementType::i64)};
  }

  const Parameters& parameters() const { return parameters_; }

  Var logits(Tape& tape) const {
    Var h = Tape::constant(x_);
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      h = model_.spatial(tape, parameters_, static_cast<int>(l), {h, &a_});
      if (layers_[l].need != TemporalNeed::none) h = model_.temporal(tape, parameters_, static_cast<int>(l), {h, 2, 5});
    }
    return task_.head(tape, parameters_, gather_rows(tape, h, lists_, 4));
  }

  /// Sum of logit i times i + 1.
  double total() const {
    Tape tape(device_);
    const Var result = logits(tape);
    double sum = 0;
    for (std::int64_t i = 0; i < 8; ++i) sum += static_cast<double>(i + 1) * result->value.data<double>()[i];
    return sum;
  }

 private:
  std::vector<ParameterShape> shapes() const {
    std::vector<ParameterShape> all = model_.parameters(2);
    for (const ParameterShape& shape : task_.parameters(layers_.back().temporal_width)) all.push_back(shape);
    return all;
  }

  Device& device_;
  const Model& model_;
  const Task& task_;
  std::vector<LayerShape> layers_;
  SparseMatrix a_;
  Tensor x_;
  Parameters parameters_;
  std::vector<Tensor> lists_;
};

TEST(Gradients, EveryModelWithItsHead) {
  const auto device = cpu();
  const auto task = TaskRegistry::instance().find("link-prediction").value(Json::object());
  for (const auto& [name, entry] : ModelRegistry::instance().entries()) {
    const auto model = entry.value(Json::object());
    const ModelWithHead subject(*device, *model, *task);
    const Parameters& parameters = subject.parameters();
    device->run(Fill{parameters.gradients(), 0.0});
    Tape tape(*device);
    const Var logits = subject.logits(tape);
    logits->gradient = device->allocate(4, 2);
    for (std::int64_t i = 0; i < 8; ++i) logits->gradient.data<double>()[i] = static_cast<double>(i + 1);
    tape.backward();
    int live = 0;
    for (std::int64_t i = 0; i < parameters.count(); ++i) {
      double& value = parameters.values().data<double>()[i];
      const double saved = value;
      value = saved + 1e-6;
      const double above = subject.total();
      value = saved - 1e-6;
      const double below = subject.total();
      value = saved;
      const double expected = (above - below) / 2e-6, actual = parameters.gradients().data<double>()[i];
      EXPECT_NEAR(actual, expected, 1e-6 * std::max(1.0, std::abs(expected))) << name << " parameter " << i;
      live += std::abs(expected) > 1e-6 ? 1 : 0;
    }
    EXPECT_GT(live, parameters.count() / 3) << name << ": most gradients vanish";
  }
}

}  // namespace
}  // namespace strobe
