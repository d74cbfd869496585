// Model: the equations of a dynamic-graph neural network, written once against tape operations. A model knows neither
// ranks nor strategy: it declares what each layer reads, and the harness brings it there. layer_protocol.hpp describes
// how its functions are called, and in which order.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/errors.hpp"
#include "core/registry.hpp"
#include "models/ops/ops_attention.hpp"
#include "models/ops/ops_recurrent.hpp"
#include "models/tape/parameters.hpp"
#include "models/tape/pass.hpp"
#include "workloads/preparation/preprocess.hpp"

namespace strobe {

/// The part of its own vertex's timeline that a layer's temporal stage reads; placements derive communication from it.
enum class TemporalNeed {
  none,          // no temporal stage
  window,        // the last `window` steps
  recurrent,     // all earlier steps, through a state handed over
  all,           // all steps (attention)
  weights_only,  // the layer's weights evolve, vertices do not (EvolveGCN)
};

/// A state is [rows_per_vertex * rows_per_step, width]: `rows_per_vertex` blocks of one row per vertex.
struct StateShape {
  std::int64_t rows_per_vertex = 1;
  std::int64_t width = 0;
};

/// A product that Model::step requests: the support (Preparation::supports) and the columns. `stage`: the product reads
/// results of products of earlier stages, and none of its own stage or a later one. -1: it reads everything before it.
struct StepProduct {
  int support = 0;
  std::int64_t width = 0;
  int stage = -1;
};

/// Elements that all ranks together sum with RankSums in one forward pass of a layer, per step. `values` are summed
/// again in the backward pass. Constants are not; their number is per rank.
struct LayerSums {
  std::int64_t values = 0;
  std::int64_t constants_per_rank = 0;
};

/// One layer: the widths and the inputs of its stages.
struct LayerShape {
  std::int64_t input_width = 0;
  std::int64_t spatial_width = 0;   // output of the spatial stage
  std::int64_t temporal_width = 0;  // output of the temporal stage, or of a step; == spatial_width when there is none
  bool reads_neighbours = true;     // false when the aggregation was precomputed (first layer)
  TemporalNeed need = TemporalNeed::none;
  std::int64_t window = 0;    // with TemporalNeed::window
  bool step_by_step = false;  // each step reads neighbours of its own, and most read the state before: Model::step
  /// Where every neighbour is an own row, Model::joint computes the layer before again for every entry of this layer's
  /// product, which then gathers that layer's input: stored forms of A~ that serve such a product pay. The layer before
  /// has no temporal stage and reads no neighbours.
  bool joins_previous = false;
  /// Whether the spatial stage reads no neighbours and computes a row from that row of constants alone, so that a rank
  /// may also compute it for vertices of others. With joins_previous in the next layer, the joint form alone does so.
  bool rows_alone = false;
  StateShape recurrent_state = {};         // with TemporalNeed::recurrent
  std::vector<StepProduct> products = {};  // with step_by_step: all products of one call of Model::step
  LayerSums sums = {};
  std::int64_t reset_every = 0;  // with TemporalNeed::recurrent: state is zero at every so manieth step; 0 = never
  bool fades = false;            // with TemporalNeed::window: weights 1 / distance in place of a mean
  /// Whether the spatial stage computes something of every row that it reads, own or of another rank.
  bool computes_read_rows = false;
  /// Chosen by a plan for a first layer of rows_alone: ranks send this layer's input to the readers of its output,
  /// which compute that output again (strategies' halo=inputs).
  bool sends_input = false;
};

/// Whether ranks send rows of the input of layer `l` to those that read neighbours.
inline bool sends_rows(const std::vector<LayerShape>& layers, std::size_t l) {
  return layers[l].sends_input || (layers[l].reads_neighbours && (l == 0 || !layers[l - 1].sends_input));
}

/// The state that a segment of timelines beginning at `first_step` > 0 starts from: hidden and cell state of a
/// recurrence, the last min(window - 1, first_step) inputs of a window, all earlier inputs of an attention. No columns
/// where nothing is remembered.
StateShape state_shape(const LayerShape& layer, std::int64_t first_step);

/// Whether a layer with this need remembers something of a vertex between segments.
inline bool remembers(TemporalNeed need) {
  return need == TemporalNeed::window || need == TemporalNeed::recurrent || need == TemporalNeed::all;
}

/// Whether a layer has a temporal stage, which walks timelines.
inline bool walks_timelines(const LayerShape& layer) { return remembers(layer.need) && !layer.step_by_step; }

/// The input of a temporal stage in place of rectangles, where timelines are cut in many places or begin at different
/// steps. The layer's need decides which members are set.
struct PackedTimelines {
  PackedSequences sequences;  // recurrent: rows are those of bins
  PackedPast past;            // all: the same; own rows produce outputs
  /// all: [bin rows, T], a one at each row's step; rows that only fill a bin are empty.
  std::shared_ptr<const SparseMatrix> steps = nullptr;
  Tensor ids = {};  // all: i64 [bin rows, 1] the cells' numbers, of models that drop
  std::shared_ptr<const SparseMatrix> window = nullptr;  // window: [own rows, own + halo rows], the M-transform
};

/// Input of a temporal stage on one rank: timelines of `rows_per_step` vertices over the steps
/// [first_step, first_step + steps), x [steps * rows_per_step, F], time-major. `state`, of shape
/// state_shape(layer, first_step), is what the steps before handed over; null at step 0.
struct TemporalInput {
  Var x;
  std::int64_t steps = 0;
  std::int64_t rows_per_step = 0;
  std::int64_t first_step = 0;
  Var state;
  bool want_state = false;  // whether the steps after need the state
  const CellRows* cells = nullptr;
  const Pass* pass = nullptr;
  /// Packed timelines instead. x [steps * rows_per_step, F] are bins, or for a window the own and the halo rows.
  /// `state` has a row (times rows_per_vertex) for each piece that is given one; the state handed on has one for each
  /// piece that hands one on. Sequences begin within: no steps come before.
  const PackedTimelines* packed = nullptr;
};

/// Where the pieces in the bins of `input` begin and end; nothing of rectangles.
inline PackedSequences packed_sequences(const TemporalInput& input) {
  return input.packed != nullptr ? input.packed->sequences : PackedSequences();
}

/// y [steps * rows_per_step, temporal_width]; `state`, of shape state_shape(layer, first_step + steps), when wanted.
struct TemporalOutput {
  Var y;
  Var state;
};

/// The stages that a joint form may include: the spatial stage of a layer, and stages that follow it with nothing in
/// between.
struct JointInput {
  SpatialInput spatial;
  /// Input of the next layer's spatial stage, whose x is null because nobody stores it. Given where that layer
  /// joins_previous and the rows of all neighbours are in `spatial`; else null.
  const SpatialInput* next = nullptr;
  /// Whether the layer's temporal stage follows directly: the own rows are whole timelines from step 0 on, and no state
  /// is requested.
  bool whole_timelines = false;
};

/// The output of consecutive layers in a joint form, [own rows, F].
struct JointOutput {
  Var y;           // null: no joint form
  int layers = 1;  // that it took in
  /// Whether y is the output of the last layer's spatial stage alone, so that its temporal stage must still run.
  bool spatial_only = false;
};

/// A product with support `support` (Preparation::supports) of the own rows x [own rows, F].
struct SupportProduct {
  int support = 0;
  Var x;
};

/// Sparse products of one step for a recurrence that reads its neighbours' states.
class Neighbours {
 public:
  virtual ~Neighbours() = default;
  /// A_s x [own rows, F] of support `s`, from the own rows of x [own rows, F]. Every rank must call it.
  virtual Var product(Tape& tape, int support, const Var& x) const = 0;
  /// Products that do not wait for each other, which may take less time together, equally wide. Every rank must call
  /// it, and the first result must be read wherever another one is.
  virtual std::vector<Var> products(Tape& tape, std::span<const SupportProduct> wanted) const {
    std::vector<Var> results;
    for (const auto& [support, x] : wanted) results.push_back(product(tape, support, x));
    return results;
  }
};

/// One step of a layer that runs step by step: x [own rows of the step, spatial_width]; `state` of shape
/// state_shape(layer, step), zero at step 0. A rank without rows of a step is called all the same, because its
/// neighbours' products need it.
struct StepInput {
  Var x;
  Var state;
  const Neighbours* neighbours = nullptr;
  const Pass* pass = nullptr;
};

/// The matrices and features that are made of the raw graph before training.
struct Preparation {
  Preprocessing inputs;                      // A and X
  std::vector<Preprocessing> supports = {};  // the matrices that Model::step multiplies with
};

/// Vectors that a model learns, one for each step. Steps after the last trained one take its vector.
struct StepVectors {
  std::string what;        // in the singular, as in notes
  std::string option;      // of the model, that sets how many there are
  std::int64_t count = 0;  // no more steps can be trained on
};

/// The facts about a model that the harness needs in addition to its layers.
struct ModelTraits {
  /// Layers read the entries of A~ and its transpose themselves (attention) instead of multiplying with it only.
  bool reads_entries = false;
  bool reads_ids = false;         // stages read CellRows::ids
  bool reads_column_ids = false;  // spatial stages read CellRows::column_ids
  /// A pass in training differs from one in evaluation (dropout): then metrics take a pass of their own.
  bool stochastic = false;
  std::optional<StepVectors> step_vectors = {};
  /// All sums over ranks of a spatial stage are in Model::before_rows or Model::after_rows, so that Model::spatial_rows
  /// may be called for parts of a rank's rows. Ignored for models whose spatial stages sum nothing.
  bool sums_outside_rows = false;
  bool before_rows_reads_a = false;  // Model::before_rows reads the rows of A~ of all own rows
};

/// Throws InvalidRequest("/model/...") when a model with these traits cannot train on that many steps.
void check_steps(const ModelTraits& traits, std::int64_t trained_steps);

/// The note for a row about the `steps - trained_steps` steps that are tested and not trained on: what the model called
/// `name` does at them. "" where no note is needed.
std::string untrained_steps_note(const ModelTraits& traits, const std::string& name, std::int64_t trained_steps,
                                 std::int64_t steps);

class Model {
 public:
  virtual ~Model() = default;
  virtual Preparation preparation() const = 0;
  /// The layers for vertices of `feature_width` features. The last layer's output is the embedding. Where preprocessing
  /// makes terms of the features, the first layer's input has the columns of all of them.
  virtual std::vector<LayerShape> layers(std::int64_t feature_width) const = 0;
  virtual std::vector<ParameterShape> parameters(std::int64_t feature_width) const = 0;
  virtual ModelTraits traits() const { return {}; }
  /// Output [own rows, spatial_width] of layer `layer`.
  virtual Var spatial(Tape& tape, const Parameters& parameters, int layer, const SpatialInput& input) const = 0;
  /// The same in three calls, for rows that are computed part by part. First `before_rows`, once on every rank, from
  /// the input of all own rows: the evolved weights of the layer, which all parts share. Then `spatial_rows` of each
  /// part, by its own rows and those that its rows of A read. Then `after_rows`, once on every rank, from the outputs y
  /// of all own rows and the input of all.
  virtual std::vector<Var> before_rows(Tape&, const Parameters&, int /*layer*/, const SpatialInput& /*all*/) const {
    return {};
  }
  virtual Var spatial_rows(Tape& tape, const Parameters& parameters, int layer, const SpatialInput& part) const {
    return spatial(tape, parameters, layer, part);
  }
  virtual Var after_rows(Tape&, const Parameters&, int /*layer*/, const SpatialInput& /*all*/, const Var& y) const {
    return y;
  }
  /// Called only when the layer has a temporal stage. A timeline cut into segments, each starting from the state of the
  /// one before, gives the same result as the whole timeline.
  virtual TemporalOutput temporal(Tape&, const Parameters&, int /*layer*/, const TemporalInput&) const {
    throw Error("this model has no temporal stage");
  }
  /// One step of a layer with `step_by_step`; y [own rows, temporal_width] and always the state for the next step. A
  /// layer whose need is none gets and returns no state.
  virtual TemporalOutput step(Tape&, const Parameters&, int /*layer*/, const StepInput&) const {
    throw Error("this model has no layer that goes step by step");
  }
  /// Stages of layer `layer` at once, and of later layers where the model supports it. Returns the last output, or no y
  /// where the model has no such form. Called only where a stage follows directly. Given `next`, a form must be there,
  /// because A~ was stored for it. With `whole_timelines` the form may include layers after the temporal stage that
  /// neither read neighbours nor walk timelines.
  virtual JointOutput joint(Tape&, const Parameters&, int /*layer*/, const JointInput&) const { return {}; }
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

/// Parameters of models that are widths. They decide what an epoch costs.
inline constexpr std::array model_widths{"hidden", "output", "memory", "embedding"};

/// The name of the first preset whose values a complete model has; "" if there is none.
std::string preset_of(const Json& model);

}  // namespace strobe
