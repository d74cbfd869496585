// Model: the equations of a dynamic-graph neural network, written once against tape operations. A model knows neither
// ranks nor strategy: it declares what each layer reads, and the harness brings it there.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/errors.hpp"
#include "core/registry.hpp"
#include "models/tape/parameters.hpp"
#include "models/tape/pass.hpp"
#include "workloads/preparation/preprocess.hpp"

namespace strobe {

/// What a layer's temporal stage reads of its own vertex's timeline; placements derive communication from it.
enum class TemporalNeed {
  none,          // no temporal stage
  window,        // the last `window` steps
  recurrent,     // all earlier steps, through a state handed over
  all,           // all steps (attention)
  weights_only,  // the layer's weights evolve, vertices do not (EvolveGCN)
};

/// One layer: widths of its stages and what they read.
struct LayerShape {
  std::int64_t input_width = 0;
  std::int64_t spatial_width = 0;   // output of the spatial stage
  std::int64_t temporal_width = 0;  // output of the temporal stage, or of a step; == spatial_width when there is none
  bool reads_neighbours = true;     // false when the aggregation was precomputed (first layer)
  TemporalNeed need = TemporalNeed::none;
  std::int64_t window = 0;    // with TemporalNeed::window
  bool step_by_step = false;  // each step reads neighbours of its own, and most read the state before: Model::step
  /// Its product may gather the input of the layer before and compute that layer again for every entry
  /// (Model::two_spatial); the layer before then has no temporal stage and reads no neighbours.
  bool repeats_input = false;
};

/// Input of a temporal stage on one rank: timelines of `rows_per_step` vertices over the steps
/// [first_step, first_step + steps), x [steps * rows_per_step, F], time-major. `state`, of shape
/// Model::state(layer, first_step), is what the steps before handed over; null at step 0.
struct TemporalInput {
  Var x;
  std::int64_t steps = 0;
  std::int64_t rows_per_step = 0;
  std::int64_t first_step = 0;
  Var state;
  bool want_state = false;  // whether the steps behind need the state
  const CellRows* cells = nullptr;
  const Pass* pass = nullptr;
};

/// A state is [rows_per_vertex * rows_per_step, width]: `rows_per_vertex` blocks of one row per vertex.
struct StateShape {
  std::int64_t rows_per_vertex = 1;
  std::int64_t width = 0;
};

/// y [steps * rows_per_step, temporal_width]; `state`, of shape Model::state(layer, first_step + steps), when wanted.
struct TemporalOutput {
  Var y;
  Var state;
};

/// What consecutive layers give in a joint form: the output of the last of them, [own rows, its temporal_width].
struct JointOutput {
  Var y;  // null: no joint form
  int layers = 0;
};

/// Elements that a selection sums over ranks in one forward pass: `constants` cross ranks in the forward pass only,
/// `values` in the backward pass too.
struct SelectionSums {
  std::int64_t constants = 0, values = 0;
};

/// Sparse products of one step for a recurrence that reads its neighbours' states.
class Neighbours {
 public:
  virtual ~Neighbours() = default;
  /// A_s x [own rows, F] of support `s` of Model::supports, from the own rows of x [own rows, F]. Every rank must call
  /// it.
  virtual Var product(Tape& tape, int support, const Var& x) const = 0;
  /// A_0 x[0] and A_1 x[1], [own rows, F] each, of a model with two supports: what may take less time together. Every
  /// rank must call it, and the first result must be read wherever the second one is.
  virtual std::array<Var, 2> both_products(Tape& tape, const std::array<Var, 2>& x) const {
    return {product(tape, 0, x[0]), product(tape, 1, x[1])};
  }
};

/// One step of a layer that goes step by step: x [own rows of the step, spatial_width]; `state` of shape
/// Model::state(layer, step), zero at step 0. A rank may own no rows of a step; it is called all the same, because its
/// neighbours' products need it.
struct StepInput {
  Var x;
  Var state;
  const Neighbours* neighbours = nullptr;
  const Pass* pass = nullptr;
};

/// A product that Model::step asks for, in columns.
struct StepProduct {
  int support = 0;
  std::int64_t width = 0;
};

class Model {
 public:
  virtual ~Model() = default;
  /// Throws InvalidRequest("/model/...") when the model cannot train on so many steps.
  virtual void check_steps(std::int64_t /*trained_steps*/) const {}
  /// What the model does at `steps - trained_steps` steps that are tested and not trained on, where that needs saying
  /// in a row; else "".
  virtual std::string untrained_steps_note(std::int64_t /*trained_steps*/, std::int64_t /*steps*/) const { return ""; }
  /// What must be done to A and X before training.
  virtual Preprocessing preprocessing() const = 0;
  /// The layers for vertices of `feature_width` features. The last layer's output is the embedding. Where preprocessing
  /// makes terms of the features, the first layer's input has the columns of all of them.
  virtual std::vector<LayerShape> layers(std::int64_t feature_width) const = 0;
  virtual std::vector<ParameterShape> parameters(std::int64_t feature_width) const = 0;
  /// Output [own rows, spatial_width] of layer `layer`.
  virtual Var spatial(Tape& tape, const Parameters& parameters, int layer, const SpatialInput& input) const = 0;
  /// Called only when the layer has a temporal stage. A timeline cut into segments, each starting from the state of the
  /// one before, gives what the whole timeline gives.
  virtual TemporalOutput temporal(Tape&, const Parameters&, int /*layer*/, const TemporalInput&) const {
    throw Error("this model has no temporal stage");
  }
  /// Spatial stages of `layer` and of the layer behind it, which `repeats_input`, at once: the output of the second.
  /// Called where every neighbour is an own row; elsewhere the stages are called one after the other. `second` is the
  /// input of the second stage, whose x is null: nobody stores the first stage's output.
  virtual Var two_spatial(Tape&, const Parameters&, int /*layer*/, const SpatialInput& /*first*/,
                          const SpatialInput& /*second*/) const {
    throw Error("this model has no layer that repeats its input");
  }
  /// Both stages of layer `layer` at once, and where the model likes all of the layers behind it that neither read
  /// neighbours nor walk timelines. Called where the own rows are whole timelines from step 0 on and no state is
  /// wanted; without a joint form stages are called one after the other.
  virtual JointOutput whole_layers(Tape&, const Parameters&, int /*layer*/, const SpatialInput&) const { return {}; }
  /// The state that a segment beginning at `first_step` > 0 starts from: hidden and cell state of a recurrence, the
  /// last min(w - 1, first_step) rows of a window, all earlier keys and values of an attention.
  virtual StateShape state(int /*layer*/, std::int64_t /*first_step*/) const { return {}; }
  /// One step of a layer with `step_by_step`; y [own rows, temporal_width] and the state handed to the next step,
  /// always, unless the layer's need is none: it is given no state then.
  virtual TemporalOutput step(Tape&, const Parameters&, int /*layer*/, const StepInput&) const {
    throw Error("this model has no layer that goes step by step");
  }
  /// The matrices that `step` multiplies with, each from the raw graph.
  virtual std::vector<Preprocessing> supports() const { return {}; }
  /// All products of one call of `step`.
  virtual std::vector<StepProduct> step_products(int /*layer*/, std::int64_t /*feature_width*/) const { return {}; }
  /// Whether layers read the entries of A~ and its transpose themselves (attention) instead of multiplying with it
  /// only.
  virtual bool reads_entries() const { return false; }
  /// Whether stages read CellRows::ids.
  virtual bool reads_ids() const { return false; }
  /// Whether spatial stages read CellRows::column_ids.
  virtual bool reads_column_ids() const { return false; }
  /// Whether a pass in training differs from one in evaluation (dropout): then metrics take a pass of their own.
  virtual bool stochastic() const { return false; }
  /// Elements that all ranks together sum with RankSums in one forward pass of `layer`, for the planned bytes.
  virtual std::int64_t summed_elements(int /*layer*/, std::int64_t /*steps*/) const { return 0; }
  /// The same for a layer that selects vertices among those of all ranks, on top of summed_elements.
  virtual SelectionSums selection_sums(const LayerShape& /*layer*/, std::int64_t /*steps*/, int /*ranks*/) const {
    return {};
  }
};

struct ModelTag {
  static constexpr const char* kind = "model";
  using Make = std::unique_ptr<Model> (*)(const Json& parameters);
  /// A model of snapshots is given as the function that makes it. One of another family is given by the family's name,
  /// and has a registry of its own.
  struct Value {
    Value() = default;
    template <class Maker>
    requires std::is_convertible_v<Maker, Make> Value(Maker makes) : make(makes) {}
    explicit Value(std::string other) : family(std::move(other)) {}
    std::unique_ptr<Model> operator()(const Json& parameters) const { return make(parameters); }
    Make make = nullptr;  // null for other families
    std::string family = "snapshots";
  };
};
using ModelRegistry = Registry<ModelTag>;

}  // namespace strobe
