#include "models/snapshots/unit_stages.hpp"

#include <algorithm>
#include <utility>

#include "models/ops/ops.hpp"

namespace strobe {
namespace {

/// Measures the stage of one unit while it lives.
class MeteredStage {
 public:
  MeteredStage(UnitMeter* meter, Device& device, std::size_t unit) : meter_(meter), device_(device), unit_(unit) {
    if (meter_ != nullptr) meter_->begin_stage(device_);
  }
  ~MeteredStage() {
    if (meter_ != nullptr) meter_->end_stage(device_, unit_);
  }
  MeteredStage(const MeteredStage&) = delete;
  MeteredStage& operator=(const MeteredStage&) = delete;

 private:
  UnitMeter* meter_;
  Device& device_;
  std::size_t unit_;
};

/// The spatial stage of one layer, in units. Copies serve the backward pass, where the walk's own objects are gone.
class UnitStage {
 public:
  UnitStage(const ModelCall& call, LayerStages& stages, std::size_t layer, const std::vector<RowUnit>& units, Var x,
            std::vector<Var> shared)
      : model_(call.model),
        layers_(call.layers),
        parameters_(call.parameters),
        pass_(call.pass),
        meter_(stages.unit_meter()),
        layer_(layer),
        units_(units),
        x_(std::move(x)),
        shared_(std::move(shared)) {}

  /// All units on one tape.
  Var kept(Tape& tape) const {
    CollectedRows outputs;
    for (std::size_t u = 0; u < units_.size(); ++u) {
      const MeteredStage metered(meter_, tape.device(), u);
      outputs.add(output(tape, u), units_[u].own);
    }
    return collect_rows(tape, outputs.parts, outputs.lists, rows(), outputs.parts.front()->value.columns());
  }

  /// Each unit on a tape of its own, in the backward pass again.
  Var rerun(Tape& tape) const {
    Device& device = tape.device();
    Tensor all;
    const Var any = std::make_shared<Variable>();  // needs a gradient if any unit's output does
    for (std::size_t u = 0; u < units_.size(); ++u) {
      const Var y = passing_output(device, tape.recording(), u);
      const std::int64_t width = y->value.columns();
      if (!all.defined()) all = device.allocate(rows(), width, y->value.type());
      const PackedRows& own = units_[u].own;
      device.run(CopyRows{y->value, all, own.places, own.rows, own.count, 0, 0, width, false});
      any->needs_gradient = any->needs_gradient || y->needs_gradient;
    }
    return tape.record(all, {any}, [&device, stage = *this](const Variable& result) {
      for (std::size_t u = stage.units_.size(); u-- > 0;) stage.differentiate(device, u, result.gradient);
    });
  }

 private:
  Var output(Tape& tape, std::size_t u) const {
    const RowUnit& unit = units_[u];
    const PackedRows& loaded = layers_[layer_].reads_neighbours ? unit.read : unit.own;
    SpatialInput part{pack_rows(tape, x_, loaded, loaded.count), &unit.a, &unit.cells, &pass_,
                      Tape::constant(unit.features)};
    part.shared_weights = &shared_;
    count_loaded(tape.device(), layers_, layer_, &unit.a);
    return model_.spatial_rows(tape, parameters_, static_cast<int>(layer_), part);
  }

  /// The output of a unit without the results that led to it. They count in the unit's memory, unlike the rows of all
  /// units.
  Var passing_output(Device& device, bool recording, std::size_t u) const {
    const MeteredStage metered(meter_, device, u);
    Tape passing(device, recording);
    return output(passing, u);
  }

  /// Adds unit `u`'s part of the gradients of x, the shared weights and the parameters, from those of all outputs.
  void differentiate(Device& device, std::size_t u, const Tensor& gradients) const {
    Tape again(device);
    const Var y = output(again, u);
    if (!y->needs_gradient) return;
    const PackedRows& own = units_[u].own;
    y->gradient = device.allocate(own.count, gradients.columns(), gradients.type());
    device.run(CopyRows{gradients, y->gradient, own.rows, own.places, own.count, 0, 0, gradients.columns(), false});
    again.backward();
  }

  std::int64_t rows() const {
    std::int64_t sum = 0;
    for (const RowUnit& unit : units_) sum += unit.own.count;
    return sum;
  }

  const Model& model_;
  const std::vector<LayerShape>& layers_;
  const Parameters& parameters_;
  const Pass& pass_;
  UnitMeter* meter_;
  std::size_t layer_;
  const std::vector<RowUnit>& units_;
  Var x_;
  std::vector<Var> shared_;
};

}  // namespace

void count_loaded(Device& device, const std::vector<LayerShape>& layers, std::size_t layer, const SparseMatrix* a) {
  const LayerShape& shape = layers[layer];
  if (!shape.reads_neighbours || a == nullptr) return;
  const auto first =
      std::find_if(layers.begin(), layers.end(), [](const LayerShape& one) { return one.reads_neighbours; });
  const std::uint64_t row = static_cast<std::uint64_t>(shape.input_width) * element_bytes(device.precision());
  device.stage_rows().loaded_bytes += static_cast<std::uint64_t>(a->columns) * row;
  if (&*first == &shape) device.stage_rows().loaded_bytes += a->bytes();
}

Var spatial_by_units(const ModelCall& call, LayerStages& stages, std::size_t layer, const std::vector<RowUnit>& units,
                     const Var& x) {
  const int number = static_cast<int>(layer);
  const SpatialInput all = stages.spatial_input(number, x);
  const UnitStage stage(call, stages, layer, units, x, call.model.before_rows(call.tape, call.parameters, number, all));
  const Var y = stages.reruns_units() ? stage.rerun(call.tape) : stage.kept(call.tape);
  return call.model.after_rows(call.tape, call.parameters, number, all, y);
}

}  // namespace strobe
