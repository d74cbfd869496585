// Model: the equations of a dynamic-graph neural network, written once against tape operations. A model knows neither
// ranks nor strategy: it declares what each layer reads, and the harness brings it there.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/registry.hpp"
#include "models/parameters.hpp"
#include "workloads/preprocess.hpp"

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
  std::int64_t temporal_width = 0;  // output of the temporal stage; == spatial_width when there is none
  bool reads_neighbours = true;     // false when the aggregation was precomputed (first layer)
  TemporalNeed need = TemporalNeed::none;
  std::int64_t window = 0;          // with TemporalNeed::window
};

/// Input of a spatial stage on one rank: x [own rows + halo rows, F]; a [own rows, own + halo rows].
struct SpatialInput {
  Var x;
  const SparseMatrix* a = nullptr;
};

/// Input of a temporal stage on one rank: whole timelines of `rows_per_step` vertices, x [steps * rows_per_step, F],
/// time-major.
struct TemporalInput {
  Var x;
  std::int64_t steps = 0;
  std::int64_t rows_per_step = 0;
};

class Model {
 public:
  virtual ~Model() = default;
  /// What must be done to A and X before training.
  virtual Preprocessing preprocessing() const = 0;
  /// The layers for inputs of `feature_width`. The last layer's output is the embedding.
  virtual std::vector<LayerShape> layers(std::int64_t feature_width) const = 0;
  virtual std::vector<ParameterShape> parameters(std::int64_t feature_width) const = 0;
  /// Output [own rows, spatial_width] of layer `layer`.
  virtual Var spatial(Tape& tape, const Parameters& parameters, int layer, const SpatialInput& input) const = 0;
  /// Output [steps * rows_per_step, temporal_width]; called only when the layer has a temporal stage.
  virtual Var temporal(Tape& tape, const Parameters& parameters, int layer, const TemporalInput& input) const = 0;
};

struct ModelTag {
  static constexpr const char* kind = "model";
  using Value = std::unique_ptr<Model> (*)(const Json& parameters);
};
using ModelRegistry = Registry<ModelTag>;

}  // namespace strobe
