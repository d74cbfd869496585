// The protocol of calling a model, on a model that computes nothing and notes what it is asked.
#include "models/snapshots/layer_protocol.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/models/differences.hpp"

namespace strobe {
namespace {

using Notes = std::vector<std::string>;

Var rows_of(Tape& tape, std::int64_t rows, std::int64_t width) {
  return Tape::constant(random_tensor(tape.device(), rows, width, 7));
}

std::string with_state(const Var& state) {
  return state ? " from " + std::to_string(state->value.rows()) + "x" + std::to_string(state->value.columns()) : "";
}

/// Gives outputs of the declared widths, and joint forms of `forms` (by layer) where it has them.
class NotingModel final : public Model {
 public:
  NotingModel(std::vector<LayerShape> layers, Notes& notes) : shapes(std::move(layers)), notes_(notes) {}

  Preparation preparation() const override { return {}; }
  std::vector<LayerShape> layers(std::int64_t) const override { return shapes; }
  std::vector<ParameterShape> parameters(std::int64_t) const override { return {{"none", 1, 1, 0}}; }
  Var spatial(Tape& tape, const Parameters&, int layer, const SpatialInput& input) const override {
    notes_.push_back("spatial " + std::to_string(layer));
    return rows_of(tape, input.cells->step_rows.back(), at(layer).spatial_width);
  }
  TemporalOutput temporal(Tape& tape, const Parameters&, int layer, const TemporalInput& input) const override {
    notes_.push_back("temporal " + std::to_string(layer) + " steps " + std::to_string(input.first_step) + "+" +
                     std::to_string(input.steps) + with_state(input.state) + (input.want_state ? " wanted" : ""));
    EXPECT_EQ(input.x->value.rows(), input.steps * input.rows_per_step);
    const StateShape state = state_shape(at(layer), input.first_step + input.steps);
    return {rows_of(tape, input.x->value.rows(), at(layer).temporal_width),
            input.want_state ? rows_of(tape, state.rows_per_vertex * input.rows_per_step, state.width) : nullptr};
  }
  TemporalOutput step(Tape& tape, const Parameters&, int layer, const StepInput& input) const override {
    notes_.push_back("step " + std::to_string(layer) + " rows " + std::to_string(input.x->value.rows()) +
                     with_state(input.state));
    EXPECT_NE(input.neighbours, nullptr);
    return {rows_of(tape, input.x->value.rows(), at(layer).temporal_width), input.state};
  }
  JointOutput joint(Tape& tape, const Parameters&, int layer, const JointInput& input) const override {
    notes_.push_back("joint " + std::to_string(layer) + (input.next != nullptr ? " next" : "") +
                     (input.whole_timelines ? " whole" : ""));
    if (input.next != nullptr) {
      EXPECT_EQ(input.next->x, nullptr);
    }
    const auto form = forms.find(layer);
    if (form == forms.end()) return {};
    return {rows_of(tape, input.spatial.cells->step_rows.back(), 3), form->second.layers, form->second.spatial_only};
  }

  std::vector<LayerShape> shapes;
  std::map<int, JointOutput> forms;

 private:
  const LayerShape& at(int layer) const { return shapes[layer]; }
  Notes& notes_;
};

class NoNeighbours final : public Neighbours {
 public:
  Var product(Tape&, int, const Var& x) const override { return x; }
};

/// Three steps of two vertices, everything on this rank unless a test says otherwise.
class NotingStages final : public LayerStages {
 public:
  explicit NotingStages(Notes& notes) : notes_(notes) {
    cells.steps = cells.all_steps = 3;
    cells.vertices = 2;
    cells.step_rows = {0, 2, 4, 6};
  }
  SpatialInput spatial_input(int, const Var& x) override {
    SpatialInput input;
    input.x = x;
    input.cells = &cells;
    return input;
  }
  Var with_halo(int, const Var& x) override { return noted("halo", x); }
  bool own_neighbours() const override { return neighbours_here; }
  Timelines timelines() const override { return {&cells, segments}; }
  Var to_temporal(const Var& x) override { return noted("to temporal", x); }
  Var to_spatial(const Var& y) override { return noted("to spatial", y); }
  bool own_timelines() const override { return timelines_here; }
  const Neighbours& neighbours(std::int64_t) override { return none_; }
  LayerMemory* memory(int) override { return remembered ? &memory_ : nullptr; }
  bool last() const override { return is_last; }
  Var hand_over(int layer, std::size_t segment, const Var& state) override {
    return noted("hand over " + std::to_string(layer) + " to " + std::to_string(segment) + with_state(state), state);
  }

  CellRows cells;
  std::vector<TemporalSegment> segments{{0, 3}};
  bool neighbours_here = true, timelines_here = true, is_last = true, remembered = false;
  LayerMemory memory_;

 private:
  Var noted(const std::string& what, const Var& x) {
    notes_.push_back(what);
    return x;
  }
  Notes& notes_;
  NoNeighbours none_;
};

LayerShape recurrent(bool reads_neighbours) {
  LayerShape layer{3, 3, 3, reads_neighbours, TemporalNeed::recurrent};
  layer.recurrent_state = {2, 4};
  return layer;
}

LayerShape spatial_only(bool reads_neighbours) { return {3, 3, 3, reads_neighbours, TemporalNeed::none}; }

LayerShape joining(LayerShape layer) {
  layer.joins_previous = true;
  return layer;
}

LayerShape stepping(TemporalNeed need) {
  LayerShape layer{3, 3, 3, false, need, 0, true};
  layer.recurrent_state = {1, 5};
  return layer;
}

class LayerProtocol : public testing::Test {
 protected:
  /// Walks the layers; gives what was noted.
  const Notes& walk(const std::vector<LayerShape>& layers) {
    notes_.clear();
    model_.shapes = layers;
    Tape tape(*device_);
    const Var y = walk_layers({tape, model_, model_.shapes, parameters_, pass_}, stages_, rows_of(tape, rows(), 3));
    EXPECT_EQ(y->value.rows(), rows());
    return notes_;
  }
  std::int64_t rows() const { return stages_.cells.step_rows.back(); }
  bool asked_for_joint_forms(const std::vector<LayerShape>& layers) {
    const Notes& notes = walk(layers);
    return std::any_of(notes.begin(), notes.end(), [](const std::string& note) { return note.rfind("joint", 0) == 0; });
  }

  std::unique_ptr<Device> device_ = cpu();
  Notes notes_;
  NotingModel model_{{}, notes_};
  NotingStages stages_{notes_};
  Parameters parameters_{*device_, model_.parameters(1), 1};
  Pass pass_;
};

TEST_F(LayerProtocol, StagesFollowEachOtherWithExchangesInBetween) {
  stages_.neighbours_here = stages_.timelines_here = false;
  EXPECT_EQ(walk({recurrent(false), spatial_only(true), recurrent(true)}),
            (Notes{"spatial 0", "to temporal", "temporal 0 steps 0+3", "to spatial", "halo", "spatial 1", "halo",
                   "spatial 2", "to temporal", "temporal 2 steps 0+3", "to spatial"}));
  LayerShape evolving = spatial_only(true);
  evolving.need = TemporalNeed::weights_only;
  EXPECT_EQ(walk({spatial_only(false), evolving}), (Notes{"spatial 0", "halo", "spatial 1"}));
}

TEST_F(LayerProtocol, AJointFormOfWholeTimelinesIsUsedOnlyWhereTheyAreWhole) {
  const std::vector<LayerShape> layers{recurrent(false)};
  EXPECT_EQ(walk(layers), (Notes{"joint 0 whole", "spatial 0", "to temporal", "temporal 0 steps 0+3", "to spatial"}));
  EXPECT_FALSE(asked_for_joint_forms({spatial_only(true)}));
  EXPECT_FALSE(asked_for_joint_forms({stepping(TemporalNeed::recurrent)}));
  stages_.timelines_here = false;
  EXPECT_FALSE(asked_for_joint_forms(layers)) << "rows are redistributed";
  stages_.timelines_here = true;
  stages_.segments = {{0, 2}, {2, 1}};
  EXPECT_FALSE(asked_for_joint_forms(layers)) << "timelines are cut";
  stages_.segments = {{0, 3}};
  stages_.is_last = false;
  EXPECT_FALSE(asked_for_joint_forms(layers)) << "a state is wanted";
  stages_.is_last = true;
  stages_.cells.first_step = 4;
  EXPECT_FALSE(asked_for_joint_forms(layers)) << "steps lie before";
  stages_.cells.first_step = 0;
  stages_.cells.step_rows = {0, 0, 0, 0};
  EXPECT_FALSE(asked_for_joint_forms(layers)) << "no rows";
}

TEST_F(LayerProtocol, AFormOfWholeTimelinesReplacesItsLayersAndTheirExchanges) {
  model_.forms[0] = {nullptr, 2, false};
  EXPECT_EQ(walk({recurrent(false), spatial_only(false), spatial_only(true)}),
            (Notes{"joint 0 whole", "halo", "spatial 2"}));
  model_.forms[0] = {nullptr, 1, false};
  EXPECT_EQ(walk({recurrent(true), spatial_only(false)}), (Notes{"halo", "joint 0 whole", "spatial 1"}));
}

TEST_F(LayerProtocol, AFormOfTwoSpatialStagesIsUsedWhereEveryNeighbourIsAnOwnRow) {
  const std::vector<LayerShape> layers{spatial_only(false), joining(recurrent(true))};
  model_.forms[0] = {nullptr, 2, true};
  EXPECT_EQ(walk(layers), (Notes{"joint 0 next", "to temporal", "temporal 1 steps 0+3", "to spatial"}));
  stages_.neighbours_here = false;
  stages_.timelines_here = false;
  EXPECT_EQ(walk(layers),
            (Notes{"spatial 0", "halo", "spatial 1", "to temporal", "temporal 1 steps 0+3", "to spatial"}));
  stages_.neighbours_here = true;
  EXPECT_FALSE(asked_for_joint_forms({spatial_only(false), recurrent(true)}));
}

TEST_F(LayerProtocol, ALayerThatJoinsThePreviousOneMustHaveAForm) {
  EXPECT_THROW(walk({spatial_only(false), joining(spatial_only(true))}), Error);
}

TEST_F(LayerProtocol, StatesGoFromSegmentToSegmentAndAroundTheBlock) {
  stages_.segments = {{0, 2}, {2, 1}};
  EXPECT_EQ(walk({recurrent(false)}),
            (Notes{"spatial 0", "to temporal", "temporal 0 steps 0+2 wanted", "hand over 0 to 1 from 4x4",
                   "temporal 0 steps 2+1 from 4x4", "to spatial"}));
  stages_.remembered = true;
  stages_.is_last = false;
  stages_.cells.first_step = 5;
  Tape tape(*device_);
  stages_.memory_.before = rows_of(tape, 4, 4);
  EXPECT_EQ(walk({recurrent(false)}),
            (Notes{"spatial 0", "to temporal", "temporal 0 steps 5+2 from 4x4 wanted", "hand over 0 to 1 from 4x4",
                   "temporal 0 steps 7+1 from 4x4 wanted", "to spatial"}));
  ASSERT_TRUE(stages_.memory_.after);
  EXPECT_EQ(stages_.memory_.after->value.rows(), 4);
  stages_.is_last = true;
  walk({recurrent(false)});
  EXPECT_FALSE(stages_.memory_.after) << "nothing is remembered after the last block";
}

TEST_F(LayerProtocol, ARankWithoutRowsOfASegmentHandsNothingOn) {
  stages_.segments = {{0, 1}, {1, 1}, {2, 1}};
  stages_.cells.step_rows = {0, 2, 2, 4};
  EXPECT_EQ(walk({recurrent(false)}),
            (Notes{"spatial 0", "to temporal", "temporal 0 steps 0+1 wanted", "hand over 0 to 1 from 4x4",
                   "hand over 0 to 2 from 0x4", "temporal 0 steps 2+1 from 0x4", "to spatial"}));
  stages_.cells.step_rows = {0, 0, 0, 0};
  EXPECT_EQ(walk({recurrent(false)}), (Notes{"spatial 0", "to temporal", "hand over 0 to 1 from 0x4",
                                             "hand over 0 to 2 from 0x4", "to spatial"}));
}

TEST_F(LayerProtocol, StepsGoOneByOneFromAStateOfZeros) {
  stages_.segments = {{0, 2}, {2, 1}};
  stages_.cells.step_rows = {0, 2, 2, 4};
  EXPECT_EQ(walk({stepping(TemporalNeed::recurrent)}),
            (Notes{"spatial 0", "step 0 rows 2 from 2x5", "step 0 rows 0 from 2x5", "hand over 0 to 1 from 2x5",
                   "step 0 rows 2 from 2x5"}));
  EXPECT_EQ(walk({stepping(TemporalNeed::none)}),
            (Notes{"spatial 0", "step 0 rows 2", "step 0 rows 0", "step 0 rows 2"}));
  stages_.remembered = true;
  Tape tape(*device_);
  stages_.memory_.before = rows_of(tape, 7, 5);
  EXPECT_EQ(walk({stepping(TemporalNeed::recurrent)})[1], "step 0 rows 2 from 7x5");
  EXPECT_FALSE(stages_.memory_.after);
  stages_.is_last = false;
  walk({stepping(TemporalNeed::recurrent)});
  EXPECT_EQ(stages_.memory_.after, stages_.memory_.before);
}

TEST_F(LayerProtocol, SpatialStagesStopInFrontOfTheNextTemporalStage) {
  stages_.timelines_here = false;
  model_.shapes = {recurrent(false), spatial_only(true), recurrent(true), spatial_only(false)};
  Tape tape(*device_);
  const ModelCall call{tape, model_, model_.shapes, parameters_, pass_};
  Var x = rows_of(tape, 6, 3);
  EXPECT_EQ(spatial_stages(call, stages_, 0, x), 0u);
  EXPECT_EQ(spatial_stages(call, stages_, 1, x), 2u);
  EXPECT_EQ(spatial_stages(call, stages_, 3, x), 4u);
  EXPECT_EQ(spatial_stages(call, stages_, 4, x), 4u);
  EXPECT_EQ(notes_, (Notes{"spatial 0", "halo", "spatial 1", "halo", "spatial 2", "spatial 3"}));
}

TEST_F(LayerProtocol, NeighboursOfSingleStepsMustBeBrought) {
  class NoSteps final : public LayerStages {
   public:
    explicit NoSteps(NotingStages& other) : other_(other) {}
    SpatialInput spatial_input(int layer, const Var& x) override { return other_.spatial_input(layer, x); }
    Timelines timelines() const override { return other_.timelines(); }

   private:
    NotingStages& other_;
  } stages(stages_);
  model_.shapes = {stepping(TemporalNeed::recurrent)};
  Tape tape(*device_);
  EXPECT_THROW(walk_layers({tape, model_, model_.shapes, parameters_, pass_}, stages, rows_of(tape, 6, 3)), Error);
}

}  // namespace
}  // namespace strobe
