#include "models/snapshots/evolution.hpp"

#include <cmath>

#include "models/ops/ops.hpp"

namespace strobe {

Preprocessing evolution_preprocessing(const EvolutionOptions& options) {
  Preprocessing what;
  what.smooth = "edge_life";
  what.window = options.edge_life;
  what.laplacian = true;
  what.precompute_first_product = options.precompute;
  return what;
}

std::vector<LayerShape> evolution_layers(const EvolutionOptions& options, std::int64_t feature_width) {
  const bool joint = options.precompute && cheap_to_repeat(feature_width);
  return {{feature_width, options.hidden, options.hidden, !options.precompute, TemporalNeed::weights_only, 0, false,
           false, joint},
          {options.hidden, options.output, options.output, true, TemporalNeed::weights_only, 0, false, joint}};
}

Var evolution_output(Tape& tape, const EvolutionOptions& options, int layer, const SpatialInput& input,
                     const Var& weights) {
  const Tensor& step_rows = input.cells->step_rows_on_device;
  const Activation activation = evolution_activation(options, layer);
  if (layer == 0 && options.precompute) return step_dense(tape, input.x, weights, step_rows, activation);
  return step_graph_convolution(tape, *input.a, input.x, weights, step_rows, activation);
}

Var joint_evolution_output(Tape& tape, const EvolutionOptions& options, const SpatialInput& first,
                           const SpatialInput& second, const Var& first_weights, const Var& second_weights) {
  return step_convolution_of_dense(tape, *second.a, first.x, first_weights, evolution_activation(options, 0),
                                   second_weights, first.cells->step_rows_on_device, evolution_activation(options, 1));
}

std::string layer_name(int layer) { return "layer" + std::to_string(layer + 1) + "."; }

namespace {

EvolveCell cell_of(const EvolutionOptions& options) {
  return options.cell == "lstm" ? EvolveCell::lstm : EvolveCell::gru;
}

}  // namespace

std::vector<ParameterShape> evolution_parameters(const EvolutionOptions& options, std::int64_t feature_width) {
  const std::int64_t gates = gates_of(cell_of(options)), widths[] = {feature_width, options.hidden, options.output};
  std::vector<ParameterShape> shapes;
  for (int layer = 0; layer < 2; ++layer) {
    const std::int64_t inputs = widths[layer], outputs = widths[layer + 1];
    const std::string name = layer_name(layer);
    const double square = glorot("", inputs, inputs).bound, full = glorot("", inputs, outputs).bound;
    shapes.push_back({name + "weight", inputs, outputs, full});
    shapes.push_back({name + "evolve.weight_x", gates * inputs, inputs, square});
    shapes.push_back({name + "evolve.weight_h", gates * inputs, inputs, square});
    // Drawn like a weight: without a bias the weights of an LSTM die out over many steps.
    shapes.push_back({name + "evolve.bias", gates * inputs, outputs, full});
  }
  return shapes;
}

Var evolved_weights(Tape& tape, const Parameters& parameters, const EvolutionOptions& options, int layer,
                    const Var& summary, const SpatialInput& input) {
  const std::string name = layer_name(layer);
  const EvolutionWeights leaves{parameters.at(name + "evolve.weight_x"), parameters.at(name + "evolve.weight_h"),
                                parameters.at(name + "evolve.bias"), parameters.at(name + "weight")};
  return evolve_weights(tape, leaves, summary, input.cells->steps, cell_of(options),
                        options.backpropagation == "detached", {input.weights_state, input.next_weights_state});
}

Activation evolution_activation(const EvolutionOptions& options, int layer) {
  return layer == 0 || options.last_activation == "relu" ? Activation::relu : Activation::none;
}

}  // namespace strobe
