#include "harness/calibration/chunks/staged_model.hpp"

#include <utility>

namespace strobe {
namespace {

class StagedModel final : public Model {
 public:
  StagedModel(std::shared_ptr<const Model> model, std::vector<LayerShape> layers, StageMarks& marks)
      : model_(std::move(model)), layers_(std::move(layers)), marks_(marks) {}

  Preparation preparation() const override { return model_->preparation(); }
  std::vector<LayerShape> layers(std::int64_t width) const override { return model_->layers(width); }
  std::vector<ParameterShape> parameters(std::int64_t width) const override { return model_->parameters(width); }
  ModelTraits traits() const override { return model_->traits(); }
  Var spatial(Tape& tape, const Parameters& parameters, int layer, const SpatialInput& input) const override {
    change(tape, false);
    Var y = model_->spatial(tape, parameters, layer, input);
    if (has_time(layer)) change(tape, true);
    return y;
  }
  TemporalOutput temporal(Tape& tape, const Parameters& parameters, int layer,
                          const TemporalInput& input) const override {
    return model_->temporal(tape, parameters, layer, input);
  }
  TemporalOutput step(Tape& tape, const Parameters& parameters, int layer, const StepInput& input) const override {
    return model_->step(tape, parameters, layer, input);
  }
  JointOutput joint(Tape& tape, const Parameters& parameters, int layer, const JointInput& input) const override {
    change(tape, false);
    JointOutput output = model_->joint(tape, parameters, layer, input);
    if (output.y && output.spatial_only && has_time(layer + output.layers - 1)) change(tape, true);
    return output;
  }

 private:
  bool has_time(int layer) const {
    const LayerShape& shape = layers_[layer];
    return walks_timelines(shape) || shape.step_by_step;
  }

  /// In the backward pass, a mark returns to the stage that it ended. It records an empty matrix. One operation fills
  /// its gradient, and `skipped` leaves it out.
  void change(Tape& tape, bool time) const {
    Device& device = tape.device();
    const bool before = marks_.in_time();
    marks_.change(device, time);
    tape.record_collective(device.allocate(0, 1),
                           [this, &device, before](const Variable&) { marks_.change(device, before, 1); });
  }

  std::shared_ptr<const Model> model_;
  std::vector<LayerShape> layers_;
  StageMarks& marks_;
};

}  // namespace

void StageMarks::begin(Device& device) {
  device.spans().clear();
  marks_.assign(1, {0, 0, false});
}

void StageMarks::change(Device& device, bool time, std::size_t skipped) {
  const std::size_t from = device.spans().size();
  marks_.push_back({from - skipped, from, time});
}

StageSeconds StageMarks::seconds(Device& device) const {
  const std::vector<Span>& spans = device.spans().spans();
  StageSeconds seconds;
  for (std::size_t m = 0; m < marks_.size(); ++m) {
    const std::size_t end = m + 1 < marks_.size() ? marks_[m + 1].before : spans.size();
    for (std::size_t i = marks_[m].from; i < end; ++i) {
      if (spans[i].stream != Stream::compute || spans[i].phase != Phase::compute) continue;
      (marks_[m].time ? seconds.time : seconds.structure) += spans[i].end_seconds - spans[i].begin_seconds;
    }
  }
  return seconds;
}

std::shared_ptr<const Model> staged_model(std::shared_ptr<const Model> model, std::vector<LayerShape> layers,
                                          StageMarks& marks) {
  return std::make_shared<const StagedModel>(std::move(model), std::move(layers), marks);
}

}  // namespace strobe
