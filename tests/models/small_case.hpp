// A small graph on one rank, two steps of five vertices, and how the stages of a model are carried out on it.
#pragma once

#include <numeric>
#include <optional>

#include "models/ops/ops.hpp"
#include "models/snapshots/layer_protocol.hpp"
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
class SumsOfOneRank : public RankSums {
 public:
  int ranks() const override { return 1; }
  int rank() const override { return 0; }
  Var sum(Tape&, const Var& part) const override { return part; }
};

/// Every support is the small matrix, a step of 5 vertices at a time. Notes the products that are `asked` for.
class SmallNeighbours final : public Neighbours {
 public:
  SmallNeighbours(Device& device, const SparseMatrix& both, std::int64_t step, std::vector<StepProduct>* asked)
      : a_(both), asked_(asked) {
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
  Var product(Tape& tape, int support, const Var& x) const override {
    if (asked_ != nullptr) asked_->push_back({support, x->value.columns()});
    return spmm(tape, a_, x);
  }

 private:
  SparseMatrix a_;
  std::vector<StepProduct>* asked_;
};

/// How the stages are called: one after the other, with each timeline in two segments, or in the model's joint forms.
enum class StageWalk { stages, cut, joint };

/// The small matrix with what a model of these traits reads of its cells, and nothing else.
struct SmallCase {
  SparseMatrix a;
  CellRows cells;
  Pass pass;

  SmallCase(Device& device, const ModelTraits& traits, const RankSums& ranks) : a(small_matrix(device)) {
    cells.vertices = 5;
    cells.all_steps = cells.steps = cells.trained_steps = 2;
    const std::vector<std::int64_t> step_rows = {0, 5, 10};
    cells.step_rows = step_rows;
    cells.step_rows_on_device = device.move_in(step_rows.data(), 3, 1, ElementType::i64);
    std::vector<std::int64_t> ids(10);
    std::iota(ids.begin(), ids.end(), 0);
    const std::vector<std::int32_t> columns = {0, 1, 2, 3, 4, 0, 1, 2, 3, 4};
    if (traits.reads_ids) cells.ids = device.move_in(ids.data(), 10, 1, ElementType::i64);
    if (traits.reads_column_ids) cells.column_ids = device.move_in(columns.data(), 10, 1, ElementType::i32);
    pass.ranks = &ranks;
  }
};

/// The stages of a model on the small case. States that are handed over must have the shape that the layers declare.
class SmallStages : public LayerStages {
 public:
  SmallStages(Device& device, const SmallCase& small, const std::vector<LayerShape>& layers, const Var& features,
              StageWalk walk)
      : device_(device), small_(small), layers_(layers), features_(features), walk_(walk) {}

  SpatialInput spatial_input(int layer, const Var& x) override {
    at_ = layer;
    return {x, &small_.a, &small_.cells, &small_.pass, features_};
  }
  bool own_neighbours() const override { return walk_ == StageWalk::joint; }
  bool own_timelines() const override { return walk_ == StageWalk::joint; }
  Timelines timelines() const override { return {&small_.cells, walk_ == StageWalk::cut ? halves_ : whole_}; }
  Timelines steps() const override { return {&small_.cells, halves_}; }
  const Neighbours& neighbours(std::int64_t step) override {
    return neighbours_.emplace(device_, small_.a, step, &asked_);
  }
  Var hand_over(int layer, std::size_t segment, const Var& state) override {
    const StateShape shape = state_shape(layers_[layer], static_cast<std::int64_t>(segment));
    EXPECT_EQ(state->value.rows(), shape.rows_per_vertex * 5) << "layer " << layer;
    EXPECT_EQ(state->value.columns(), shape.width) << "layer " << layer;
    return state;
  }

  /// The layer whose stages were begun last.
  const int& layer() const { return at_; }
  /// Products that steps have asked for so far.
  const std::vector<StepProduct>& asked() const { return asked_; }

 private:
  Device& device_;
  const SmallCase& small_;
  const std::vector<LayerShape>& layers_;
  Var features_;
  StageWalk walk_;
  std::vector<TemporalSegment> whole_{{0, 2}}, halves_{{0, 1}, {1, 1}};
  std::optional<SmallNeighbours> neighbours_;
  std::vector<StepProduct> asked_;
  int at_ = 0;
};

}  // namespace strobe
