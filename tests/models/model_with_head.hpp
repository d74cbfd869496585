// A model with a task's head on a small graph: two steps of five vertices. The gradients of its parameters are checked
// against finite differences.
#pragma once

#include <numeric>

#include "models/ops/ops.hpp"
#include "models/snapshots/model.hpp"
#include "models/tasks/task.hpp"
#include "tests/models/differences.hpp"

namespace strobe {

/// Two steps of 5 vertices as one block matrix, with an empty row.
inline SparseMatrix small_matrix(Device& device) {
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

/// How the stages are called: one after the other, with each timeline in two segments, or in the model's joint forms.
enum class StageWalk { stages, cut, joint };

/// A model with the link-prediction head on two steps of the small matrix; logits [4, 2].
class ModelWithHead {
 public:
  ModelWithHead(Device& device, const Model& model, const Task& task)
      : device_(device),
        model_(model),
        task_(task),
        layers_(model.layers(2)),
        a_(small_matrix(device)),
        x_(random_tensor(device, 10, layers_[0].input_width, 8)),
        parameters_(device, shapes(), 3) {
    pass_.ranks = &one_rank_;
    std::vector<std::int64_t> ids(10);
    std::iota(ids.begin(), ids.end(), 0);
    cells_ = {5, 2, 0, 2, {0, 5, 10}, {}, device.move_in(ids.data(), 10, 1, ElementType::i64)};
    const std::vector<std::int32_t> columns = {0, 1, 2, 3, 4, 0, 1, 2, 3, 4};
    cells_.trained_steps = 2;
    cells_.column_ids = device.move_in(columns.data(), 10, 1, ElementType::i32);
    cells_.step_rows_on_device = device.move_in(cells_.step_rows.data(), 3, 1, ElementType::i64);
    const std::vector<std::int64_t> u = {0, 1, 7, 9}, v = {2, 3, 8, 5};
    lists_ = {device.move_in(u.data(), 4, 1, ElementType::i64), device.move_in(v.data(), 4, 1, ElementType::i64)};
  }

  const Parameters& parameters() const { return parameters_; }

  Var logits(Tape& tape, StageWalk walk) const {
    Var h = Tape::constant(x_);
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      if (walk == StageWalk::joint && joined(tape, l, h)) continue;
      const int layer = static_cast<int>(l);
      if (walk == StageWalk::joint && l + 1 < layers_.size() && layers_[l + 1].repeats_input) {
        h = model_.two_spatial(tape, parameters_, layer, input(h), input(nullptr));
        ++joint_forms_;
        ++l;
      } else {
        h = model_.spatial(tape, parameters_, layer, input(h));
      }
      if (layers_[l].step_by_step) {
        h = step_by_step(tape, static_cast<int>(l), h, layers_[l].need != TemporalNeed::none);
        continue;
      }
      if (layers_[l].need == TemporalNeed::none || layers_[l].need == TemporalNeed::weights_only) continue;
      h = temporal(tape, static_cast<int>(l), h, walk == StageWalk::cut);
    }
    return task_.head(tape, parameters_, h, lists_, 4);
  }

  /// Joint forms that the model gave so far.
  int joint_forms() const { return joint_forms_; }

  /// Sum of logit i times i + 1.
  double total() const {
    Tape tape(device_);
    const Var result = logits(tape, StageWalk::joint);
    double sum = 0;
    for (std::int64_t i = 0; i < 8; ++i) sum += static_cast<double>(i + 1) * result->value.data<double>()[i];
    return sum;
  }

  Var step_by_step(Tape& tape, int layer, const Var& h, bool remembers) const {
    std::vector<Var> parts;
    Var state;
    if (remembers) state = Tape::constant(zeros(device_, device_.allocate(5, model_.state(layer, 0).width)));
    for (std::int64_t t = 0; t < 2; ++t) {
      const SmallNeighbours neighbours(device_, a_, t);
      const TemporalOutput out =
          model_.step(tape, parameters_, layer, {slice_rows(tape, h, 5 * t, 5), state, &neighbours, &pass_});
      EXPECT_EQ(out.state != nullptr, remembers);
      if (remembers) {
        EXPECT_EQ(out.state->value.columns(), model_.state(layer, t + 1).width);
      }
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
  SpatialInput input(const Var& x) const { return {x, &a_, &cells_, &pass_, Tape::constant(x_)}; }

  /// Layers from `layer` on in one piece: h becomes their output and `layer` the last of them.
  bool joined(Tape& tape, std::size_t& layer, Var& h) const {
    if (layers_[layer].need == TemporalNeed::none || layers_[layer].need == TemporalNeed::weights_only) return false;
    const JointOutput joint = model_.whole_layers(tape, parameters_, static_cast<int>(layer), input(h));
    if (!joint.y) return false;
    ++joint_forms_;
    h = joint.y;
    layer += static_cast<std::size_t>(joint.layers) - 1;
    return true;
  }

  Var temporal(Tape& tape, int layer, const Var& h, bool cut) const {
    if (!cut) return model_.temporal(tape, parameters_, layer, {h, 2, 5, 0, nullptr, false, &cells_, &pass_}).y;
    const Var first = slice_rows(tape, h, 0, 5), second = slice_rows(tape, h, 5, 5);
    const auto before = model_.temporal(tape, parameters_, layer, {first, 1, 5, 0, nullptr, true, &cells_, &pass_});
    EXPECT_EQ(before.state->value.rows(), model_.state(layer, 1).rows_per_vertex * 5);
    EXPECT_EQ(before.state->value.columns(), model_.state(layer, 1).width);
    const auto after =
        model_.temporal(tape, parameters_, layer, {second, 1, 5, 1, before.state, false, &cells_, &pass_});
    return concat_rows(tape, {before.y, after.y});
  }

  mutable int joint_forms_ = 0;
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

}  // namespace strobe
