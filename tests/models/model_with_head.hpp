// A model with a task's head on the small graph. The gradients of its parameters are checked against finite
// differences.
#pragma once

#include "models/tasks/task.hpp"
#include "tests/models/small_case.hpp"

namespace strobe {

/// Another model that counts its joint forms.
class CountedForms final : public Model {
 public:
  explicit CountedForms(const Model& model) : model_(model) {}
  Preparation preparation() const override { return model_.preparation(); }
  std::vector<LayerShape> layers(std::int64_t width) const override { return model_.layers(width); }
  std::vector<ParameterShape> parameters(std::int64_t width) const override { return model_.parameters(width); }
  ModelTraits traits() const override { return model_.traits(); }
  Var spatial(Tape& tape, const Parameters& p, int layer, const SpatialInput& input) const override {
    return model_.spatial(tape, p, layer, input);
  }
  TemporalOutput temporal(Tape& tape, const Parameters& p, int layer, const TemporalInput& input) const override {
    return model_.temporal(tape, p, layer, input);
  }
  TemporalOutput step(Tape& tape, const Parameters& p, int layer, const StepInput& input) const override {
    const TemporalOutput output = model_.step(tape, p, layer, input);
    EXPECT_EQ(output.state != nullptr, input.state != nullptr);
    return output;
  }
  JointOutput joint(Tape& tape, const Parameters& p, int layer, const JointInput& input) const override {
    JointOutput output = model_.joint(tape, p, layer, input);
    if (output.y) ++forms_;
    return output;
  }
  int forms() const { return forms_; }

 private:
  const Model& model_;
  mutable int forms_ = 0;
};

/// A model with the link-prediction head on two steps of the small matrix; logits [4, 2].
class ModelWithHead {
 public:
  ModelWithHead(Device& device, const Model& model, const Task& task)
      : device_(device),
        model_(model),
        task_(task),
        layers_(model.layers(2)),
        small_(device, model.traits(), one_rank_),
        x_(random_tensor(device, 10, layers_[0].input_width, 8)),
        parameters_(device, shapes(), 3) {
    const std::vector<std::int64_t> u = {0, 1, 7, 9}, v = {2, 3, 8, 5};
    lists_ = {device.move_in(u.data(), 4, 1, ElementType::i64), device.move_in(v.data(), 4, 1, ElementType::i64)};
  }

  const Parameters& parameters() const { return parameters_; }

  Var logits(Tape& tape, StageWalk walk) const {
    const Var x = Tape::constant(x_);
    SmallStages stages(device_, small_, layers_, x, walk);
    const Var h = walk_layers({tape, model_, layers_, parameters_, small_.pass}, stages, x);
    return task_.head(tape, parameters_, h, lists_, 4);
  }

  /// Joint forms that the model gave so far.
  int joint_forms() const { return model_.forms(); }

  /// Sum of logit i times i + 1.
  double total() const {
    Tape tape(device_);
    const Var result = logits(tape, StageWalk::joint);
    double sum = 0;
    for (std::int64_t i = 0; i < 8; ++i) sum += static_cast<double>(i + 1) * result->value.data<double>()[i];
    return sum;
  }

  std::vector<ParameterShape> shapes() const {
    std::vector<ParameterShape> all = model_.parameters(2);
    for (const ParameterShape& shape : task_.parameters(layers_.back().temporal_width)) all.push_back(shape);
    return all;
  }

 private:
  Device& device_;
  CountedForms model_;
  const Task& task_;
  std::vector<LayerShape> layers_;
  SumsOfOneRank one_rank_;
  SmallCase small_;
  Tensor x_;
  Parameters parameters_;
  std::vector<Tensor> lists_;
};

}  // namespace strobe
