// Gradients against central finite differences in fp64: every differentiable operation, and every registered model with
// its task head on a small graph.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/random.hpp"
#include "models/model.hpp"
#include "models/ops.hpp"
#include "models/task.hpp"
#include "tests/models/differences.hpp"

namespace strobe {
namespace {

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

/// Sums over the only rank there is.
class OneRank final : public RankSums {
 public:
  int ranks() const override { return 1; }
  int rank() const override { return 0; }
  Var sum(Tape&, const Var& part) const override { return part; }
};

/// Every support is the small matrix, a step of 5 vertices at a time.
class SmallNeighbours final : public Neighbours {
 public:
  SmallNeighbours(Device& device, const SparseMatrix& both, std::int64_t step) : a_(both) {
    std::vector<std::int64_t> offsets(6);
    std::vector<std::int32_t> columns;
    const std::int64_t* from = both.row_offsets.data<std::int64_t>() + 5 * step;
    for (std::size_t r = 0; r < 6; ++r) offsets[r] = from[r] - from[0];
    for (std::int64_t k = from[0]; k < from[5]; ++k) {
      columns.push_back(both.column_indices.data<std::int32_t>()[k] - static_cast<std::int32_t>(5 * step));
    }
    const std::vector<std::int64_t> rows = {0, 5}, halo = {0, 0};
    a_.rows = a_.columns = a_.halo_begin = 5;
    a_.nonzeros = static_cast<std::int64_t>(columns.size());
    a_.steps = 1;
    a_.row_offsets = device.move_in(offsets.data(), 6, 1, ElementType::i64);
    a_.column_indices = device.move_in(columns.data(), a_.nonzeros, 1, ElementType::i32);
    a_.values = both.values.slice_rows(from[0], a_.nonzeros);
    a_.step_rows = device.move_in(rows.data(), 2, 1, ElementType::i64);
    a_.step_halo = device.move_in(halo.data(), 2, 1, ElementType::i64);
  }
  Var product(Tape& tape, int, const Var& x) const override { return spmm(tape, a_, x); }

 private:
  SparseMatrix a_;
};

/// A model with the link-prediction head on two steps of the small matrix; logits [4, 2].
class ModelWithHead {
 public:
  ModelWithHead(Device& device, const Model& model, const Task& task)
      : device_(device),
        model_(model),
        task_(task),
        layers_(model.layers(2)),
        a_(small_matrix(device)),
        x_(random_tensor(device, 10, 2, 8)),
        parameters_(device, shapes(), 3) {
    pass_.ranks = &one_rank_;
    std::vector<std::int64_t> ids(10);
    std::iota(ids.begin(), ids.end(), 0);
    cells_ = {5, 2, 0, 2, {0, 5, 10}, {}, device.move_in(ids.data(), 10, 1, ElementType::i64)};
    cells_.step_rows_on_device = device.move_in(cells_.step_rows.data(), 3, 1, ElementType::i64);
    const std::vector<std::int64_t> u = {0, 1, 7, 9}, v = {2, 3, 8, 5};
    lists_ = {device.move_in(u.data(), 4, 1, ElementType::i64), device.move_in(v.data(), 4, 1, ElementType::i64)};
  }

  const Parameters& parameters() const { return parameters_; }

  /// With `cut`, each temporal stage walks its two steps as two segments.
  Var logits(Tape& tape, bool cut) const {
    Var h = Tape::constant(x_);
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      const int layer = static_cast<int>(l);
      h = model_.spatial(tape, parameters_, layer, {h, &a_, &cells_, &pass_, Tape::constant(x_)});
      if (layers_[l].need == TemporalNeed::none || layers_[l].need == TemporalNeed::weights_only) continue;
      if (layers_[l].step_by_step) {
        h = step_by_step(tape, layer, h);
        continue;
      }
      if (!cut) {
        h = model_.temporal(tape, parameters_, layer, {h, 2, 5, 0, nullptr, false, &cells_, &pass_}).y;
        continue;
      }
      const Var first = slice_rows(tape, h, 0, 5), second = slice_rows(tape, h, 5, 5);
      const auto before = model_.temporal(tape, parameters_, layer, {first, 1, 5, 0, nullptr, true, &cells_, &pass_});
      EXPECT_EQ(before.state->value.rows(), model_.state(layer, 1).rows_per_vertex * 5);
      EXPECT_EQ(before.state->value.columns(), model_.state(layer, 1).width);
      const auto after =
          model_.temporal(tape, parameters_, layer, {second, 1, 5, 1, before.state, false, &cells_, &pass_});
      h = concat_rows(tape, {before.y, after.y});
    }
    return task_.head(tape, parameters_, gather_rows(tape, h, lists_, 4));
  }

  /// Sum of logit i times i + 1.
  double total() const {
    Tape tape(device_);
    const Var result = logits(tape, false);
    double sum = 0;
    for (std::int64_t i = 0; i < 8; ++i) sum += static_cast<double>(i + 1) * result->value.data<double>()[i];
    return sum;
  }

  Var step_by_step(Tape& tape, int layer, const Var& h) const {
    std::vector<Var> parts;
    Var state = Tape::constant(zeros(device_, device_.allocate(5, model_.state(layer, 0).width)));
    for (std::int64_t t = 0; t < 2; ++t) {
      const SmallNeighbours neighbours(device_, a_, t);
      const TemporalOutput out =
          model_.step(tape, parameters_, layer, {slice_rows(tape, h, 5 * t, 5), state, &neighbours, &pass_});
      EXPECT_EQ(out.state->value.columns(), model_.state(layer, t + 1).width);
      parts.push_back(out.y);
      state = out.state;
    }
    return concat_rows(tape, parts);
  }

  std::vector<ParameterShape> shapes() const {
    std::vector<ParameterShape> all = model_.parameters(2);
    for (const ParameterShape& shape : task_.parameters(layers_.back().temporal_width)) all.push_back(shape);
    return all;
  }

 private:
  Device& device_;
  const Model& model_;
  const Task& task_;
  std::vector<LayerShape> layers_;
  SparseMatrix a_;
  Tensor x_;
  Parameters parameters_;
  std::vector<Tensor> lists_;
  OneRank one_rank_;
  Pass pass_;
  CellRows cells_;
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
    const Var logits = subject.logits(tape, false);
    logits->gradient = device->allocate(4, 2);
    for (std::int64_t i = 0; i < 8; ++i) logits->gradient.data<double>()[i] = static_cast<double>(i + 1);
    tape.backward();
    std::vector<bool> live(static_cast<std::size_t>(parameters.count()), false);
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
      live[static_cast<std::size_t>(i)] = std::abs(expected) > 1e-6;
    }
    // Not every element: a table of positions is longer than two steps.
    auto next = live.begin();
    for (const ParameterShape& shape : subject.shapes()) {
      const auto end = next + shape.rows * shape.columns;
      EXPECT_NE(std::find(next, end, true), end) << name << ": all gradients of " << shape.name << " vanish";
      next = end;
    }
  }
}

TEST(Segments, EveryModelGivesTheWholeTimelineFromItsParts) {
  const auto device = cpu();
  const auto task = TaskRegistry::instance().find("link-prediction").value(Json::object());
  for (const auto& [name, entry] : ModelRegistry::instance().entries()) {
    const auto model = entry.value(Json::object());
    const ModelWithHead subject(*device, *model, *task);
    std::vector<std::vector<double>> results;
    for (const bool cut : {false, true}) {
      device->run(Fill{subject.parameters().gradients(), 0.0});
      Tape tape(*device);
      const Var logits = subject.logits(tape, cut);
      logits->gradient = device->allocate(4, 2);
      device->run(Fill{logits->gradient, 1.0});
      auto& values = results.emplace_back(logits->value.values<double>().begin(), logits->value.values<double>().end());
      tape.backward();
      const auto gradients = subject.parameters().gradients().values<double>();
      values.insert(values.end(), gradients.begin(), gradients.end());
    }
    for (std::size_t i = 0; i < results[0].size(); ++i) {
      EXPECT_NEAR(results[1][i], results[0][i], 1e-12 * std::max(1.0, std::abs(results[0][i])))
          << name << " value " << i;
    }
  }
}

}  // namespace
}  // namespace strobe
