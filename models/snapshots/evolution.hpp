// Shared parts of the two EvolveGCN models: their options, their layers, and the evolution of a layer's weights.
#pragma once

#include <string>

#include "core/searched_values.hpp"
#include "models/ops/ops_evolve.hpp"
#include "models/snapshots/model.hpp"

namespace strobe {

/// Options of both models; the defaults are the paper's reading of the variant.
struct EvolutionOptions {
  int hidden = 6;
  int output = 6;
  int edge_life = 5;
  std::string cell = "lstm";
  std::string backpropagation = "full";
  std::string last_activation = "relu";
  bool precompute = true;
};

/// Adds the shared options to the field table of a struct derived from EvolutionOptions.
template <class S>
auto evolution_fields() {
  using Number = int S::*;
  using Text = std::string S::*;
  using Flag = bool S::*;
  return make_fields<S>()
      .integer("hidden", Number(&S::hidden), "features", "width of the first layer", 1, 4096)
      .searched(searched_widths)
      .integer("output", Number(&S::output), "features", "width of the embedding", 1, 4096)
      .searched(searched_widths)
      .integer("edge_life", Number(&S::edge_life), "steps",
               "snapshots that an edge stays in, its own included (the paper prints none); 1 = no smoothing", 1,
               1000000)
      .choice("cell", Text(&S::cell), {"lstm", "gru"},
              "recurrence of the weights: matrix LSTM, or the public code's matrix GRU")
      .choice("backpropagation", Text(&S::backpropagation), {"full", "detached"},
              "full: through all steps; detached: a step's weights count as constants for the next step")
      .choice("last_activation", Text(&S::last_activation), {"relu", "none"}, "activation of the second layer")
      .boolean("precompute", Flag(&S::precompute), "compute the first layer's A~ X once, before training")
      .preset("paper", "the authors' code, IBM/EvolveGCN, parameters of UCI messages",
              {{"hidden", 100}, {"output", 100}})
      .preset("small", "sizes of Strobe's tests, and of ESDG, SC'21, section 6.1", {{"hidden", 6}, {"output", 6}});
}

/// Edge life, then D^-1/2 (A + I) D^-1/2.
Preprocessing evolution_preprocessing(const EvolutionOptions& options);

/// Two layers whose weights evolve; the first reads neighbours unless its product was precomputed.
std::vector<LayerShape> evolution_layers(const EvolutionOptions& options, std::int64_t feature_width);

/// The layer's output with the weights of all steps [T * F, G]. It is computed from the layer's input, or from A~ X
/// where the first layer is given that.
Var evolution_output(Tape& tape, const EvolutionOptions& options, int layer, const SpatialInput& input,
                     const Var& weights);

/// The second layer's output from A~ X, with the weights of all steps of both layers: what evolution_output gives
/// twice.
Var joint_evolution_output(Tape& tape, const EvolutionOptions& options, const SpatialInput& first,
                           const SpatialInput& second, const Var& first_weights, const Var& second_weights);

/// layerN.weight [F, G] at the start, layerN.evolve.weight_x and weight_h [gates * F, F], layerN.evolve.bias
/// [gates * F, G], for both layers.
std::vector<ParameterShape> evolution_parameters(const EvolutionOptions& options, std::int64_t feature_width);

/// "layer1." for layer 0: the prefix of its parameters.
std::string layer_name(int layer);

/// Weights of all steps [S * F, G] of the input's block for layer `layer`, from `summary` [S * G, F] or from themselves
/// (null).
Var evolved_weights(Tape& tape, const Parameters& parameters, const EvolutionOptions& options, int layer,
                    const Var& summary, const SpatialInput& input);

/// Activation of layer `layer`.
Activation evolution_activation(const EvolutionOptions& options, int layer);

}  // namespace strobe
