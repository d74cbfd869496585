// The declarations of models (data, products, sums over ranks, states, traits) compared with the work of their stages.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/models/every_model.hpp"
#include "tests/models/small_case.hpp"

namespace strobe {
namespace {

/// Rank 1 of three; the others have nothing to add. Counts the elements of sums by layer.
class CountedSums final : public RankSums {
 public:
  explicit CountedSums(std::size_t layers) : values_(layers), constants_(layers) {}
  int ranks() const override { return 3; }
  int rank() const override { return 1; }
  Var sum(Tape&, const Var& part) const override {
    (part->needs_gradient ? values_ : constants_)[*at] += part->value.elements();
    return part;
  }
  const std::vector<std::int64_t>& values() const { return values_; }
  const std::vector<std::int64_t>& constants() const { return constants_; }

  const int* at = nullptr;  // the layer that sums

 private:
  mutable std::vector<std::int64_t> values_, constants_;
};

/// A model on the small case, walked forward once.
struct Walked {
  std::unique_ptr<Device> device = cpu();
  std::vector<LayerShape> layers;
  CountedSums sums;
  SmallCase small;
  Parameters parameters;
  Var features;
  SmallStages stages;
  Tape tape;
  Var y;

  Walked(const Model& model, StageWalk walk, bool training = true)
      : layers(model.layers(2)),
        sums(layers.size()),
        small(*device, model.traits(), sums),
        parameters(*device, model.parameters(2), 3),
        features(Tape::constant(random_tensor(*device, 10, layers[0].input_width, 8))),
        stages(*device, small, layers, features, walk),
        tape(*device) {
    sums.at = &stages.layer();
    small.pass.training = training;
    y = walk_layers({tape, model, layers, parameters, small.pass}, stages, features);
  }
};

std::int64_t total(const std::vector<std::int64_t>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), std::int64_t{0});
}

TEST(DeclaredData, SumsOfEveryLayerAreThoseThatItMakes) {
  bool any_values = false, any_constants = false;
  for (const auto& [model, name] : every_model()) {
    const Walked stages(*model, StageWalk::stages), joint(*model, StageWalk::joint);
    std::int64_t values = 0, constants = 0;
    for (std::size_t l = 0; l < stages.layers.size(); ++l) {
      const LayerSums& declared = stages.layers[l].sums;
      EXPECT_EQ(stages.sums.values()[l], 2 * declared.values) << name << " layer " << l;
      EXPECT_EQ(stages.sums.constants()[l], 2 * 3 * declared.constants_per_rank) << name << " layer " << l;
      values += 2 * declared.values;
      constants += 2 * 3 * declared.constants_per_rank;
    }
    EXPECT_EQ(total(joint.sums.values()), values) << name << " in joint forms";
    EXPECT_EQ(total(joint.sums.constants()), constants) << name << " in joint forms";
    any_values = any_values || values > 0;
    any_constants = any_constants || constants > 0;
  }
  EXPECT_TRUE(any_values && any_constants);
}

/// Products in an order that does not matter.
std::vector<std::pair<int, std::int64_t>> sorted_products(const std::vector<StepProduct>& products, int times) {
  std::vector<std::pair<int, std::int64_t>> sorted;
  for (const StepProduct& product : products)
    sorted.insert(sorted.end(), static_cast<std::size_t>(times), {product.support, product.width});
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

TEST(DeclaredData, ProductsOfEveryLayerAreThoseThatItsStepsAskFor) {
  int models = 0;
  for (const auto& [model, name] : every_model()) {
    const Walked walked(*model, StageWalk::stages);
    std::vector<StepProduct> declared;
    for (const LayerShape& layer : walked.layers)
      declared.insert(declared.end(), layer.products.begin(), layer.products.end());
    EXPECT_EQ(sorted_products(walked.stages.asked(), 1), sorted_products(declared, 2)) << name;
    const auto supports = static_cast<int>(model->preparation().supports.size());
    for (const StepProduct& product : declared) EXPECT_LT(product.support, supports) << name;
    if (!declared.empty()) ++models;
  }
  EXPECT_GT(models, 0);
}

/// Cells of `steps` steps of five vertices, for temporal stages.
CellRows long_cells(Device& device, std::int64_t steps, const ModelTraits& traits) {
  CellRows cells;
  cells.vertices = 5;
  cells.all_steps = cells.steps = cells.trained_steps = steps;
  for (std::int64_t t = 0; t <= steps; ++t) cells.step_rows.push_back(5 * t);
  std::vector<std::int64_t> ids(5 * steps);
  std::iota(ids.begin(), ids.end(), 0);
  if (traits.reads_ids) cells.ids = device.move_in(ids.data(), 5 * steps, 1, ElementType::i64);
  return cells;
}

TEST(DeclaredData, StatesOfEveryLayerHaveTheShapeThatItsTimelinesLeave) {
  const auto device = cpu();
  constexpr std::int64_t steps = 8;
  const SumsOfOneRank one;
  Pass pass;
  pass.ranks = &one;
  std::vector<int> layers_of_need(5);
  for (const auto& [model, name] : every_model()) {
    const std::vector<LayerShape> layers = model->layers(2);
    const Parameters parameters(*device, model->parameters(2), 3);
    const CellRows cells = long_cells(*device, steps, model->traits());
    for (std::size_t l = 0; l < layers.size(); ++l) {
      if (!walks_timelines(layers[l])) continue;
      ++layers_of_need[static_cast<std::size_t>(layers[l].need)];
      for (std::int64_t cut = 1; cut < steps; ++cut) {
        Tape tape(*device);
        const Var x = Tape::constant(random_tensor(*device, 5 * cut, layers[l].spatial_width, 8));
        const TemporalOutput output =
            model->temporal(tape, parameters, static_cast<int>(l), {x, cut, 5, 0, nullptr, true, &cells, &pass});
        const StateShape declared = state_shape(layers[l], cut);
        ASSERT_TRUE(output.state) << name << " layer " << l;
        EXPECT_EQ(output.state->value.rows(), 5 * declared.rows_per_vertex) << name << " layer " << l << " at " << cut;
        EXPECT_EQ(output.state->value.columns(), declared.width) << name << " layer " << l << " at " << cut;
        EXPECT_EQ(output.y->value.columns(), layers[l].temporal_width) << name << " layer " << l;
      }
    }
  }
  for (const TemporalNeed need : {TemporalNeed::window, TemporalNeed::recurrent, TemporalNeed::all})
    EXPECT_GT(layers_of_need[static_cast<std::size_t>(need)], 0);
}

TEST(DeclaredData, OnlyStochasticModelsDifferInTraining) {
  for (const auto& [model, name] : every_model()) {
    const Walked training(*model, StageWalk::joint), evaluation(*model, StageWalk::joint, false);
    const auto a = training.y->value.values<double>(), b = evaluation.y->value.values<double>();
    EXPECT_EQ(!std::equal(a.begin(), a.end(), b.begin(), b.end()), model->traits().stochastic) << name;
  }
}

TEST(DeclaredData, VectorsOfStepsLimitTheStepsThatAreTrainedOn) {
  int models = 0;
  for (const auto& [model, name] : every_model()) {
    const ModelTraits traits = model->traits();
    if (!traits.step_vectors) {
      EXPECT_NO_THROW(check_steps(traits, std::int64_t{1} << 60)) << name;
      EXPECT_EQ(untrained_steps_note(traits, name, 3, 5), "") << name;
      continue;
    }
    ++models;
    EXPECT_NO_THROW(check_steps(traits, traits.step_vectors->count)) << name;
    EXPECT_THROW(check_steps(traits, traits.step_vectors->count + 1), InvalidRequest) << name;
    const std::string plain = name.substr(0, name.find('{'));
    const Json options{{traits.step_vectors->option, 17}};
    EXPECT_EQ(ModelRegistry::instance().find(plain).value(options)->traits().step_vectors->count, 17) << name;
  }
  EXPECT_GT(models, 0);
}

TEST(StepVectors, NameTheOptionAndTheStepsThatTakeTheLastOne) {
  ModelTraits traits;
  traits.step_vectors = {"position", "positions", 4};
  try {
    check_steps(traits, 6);
    ADD_FAILURE() << "six steps were accepted with four positions";
  } catch (const InvalidRequest& error) {
    EXPECT_EQ(error.where(), "/model/positions");
    EXPECT_EQ(error.message(), "4 positions, but 6 steps are trained on; set positions to at least that");
  }
  EXPECT_EQ(untrained_steps_note(traits, "dysat", 3, 6),
            "dysat reads steps 3 to 5, which are not trained on, with the position of step 2");
}

TEST(StateShapes, FollowFromTheInputsOfALayer) {
  LayerShape layer{3, 4, 6, true, TemporalNeed::recurrent};
  layer.recurrent_state = {2, 7};
  layer.window = 5;
  const auto shape = [&](TemporalNeed need, std::int64_t first_step) {
    layer.need = need;
    const StateShape state = state_shape(layer, first_step);
    return std::pair(state.rows_per_vertex, state.width);
  };
  using Shape = std::pair<std::int64_t, std::int64_t>;
  EXPECT_EQ(shape(TemporalNeed::recurrent, 0), Shape(2, 7));
  EXPECT_EQ(shape(TemporalNeed::recurrent, 9), Shape(2, 7));
  EXPECT_EQ(shape(TemporalNeed::window, 3), Shape(3, 4));
  EXPECT_EQ(shape(TemporalNeed::window, 4), Shape(4, 4));
  EXPECT_EQ(shape(TemporalNeed::window, 9), Shape(4, 4));
  EXPECT_EQ(shape(TemporalNeed::all, 9), Shape(9, 4));
  EXPECT_EQ(shape(TemporalNeed::none, 9).second, 0);
  EXPECT_EQ(shape(TemporalNeed::weights_only, 9).second, 0);
}

}  // namespace
}  // namespace strobe
