#include "models/snapshots/t_gcn_joint.hpp"

#include "models/ops/ops.hpp"
#include "models/ops/ops_block.hpp"
#include "models/ops/ops_gate.hpp"

namespace strobe {
namespace {

class JointTGcn final : public Model {
 public:
  JointTGcn(std::int64_t hidden, double bias) : hidden_(hidden), bias_(bias) {}

  Preparation preparation() const override {
    Preprocessing of_features, of_states;
    of_features.precompute_first_product = true;  // A~ x needs no state: every step finds it ready
    of_states.precompute_first_product = false;
    return {of_features, {of_states}};
  }

  std::vector<LayerShape> layers(std::int64_t feature_width) const override {
    LayerShape layer{feature_width, feature_width, hidden_, false, TemporalNeed::recurrent, 0, true};
    layer.recurrent_state = {1, hidden_};
    layer.products = {{0, hidden_}, {0, hidden_}};
    return {layer};
  }

  std::vector<ParameterShape> parameters(std::int64_t feature_width) const override {
    ParameterShape gate_bias{"gate.bias", 1, 2 * hidden_, 0};
    gate_bias.centre = bias_;
    return {glorot("gate.weight", feature_width + hidden_, 2 * hidden_),
            gate_bias,
            glorot("candidate.weight", feature_width + hidden_, hidden_),
            {"candidate.bias", 1, hidden_, 0}};
  }

  Var spatial(Tape&, const Parameters&, int, const SpatialInput& input) const override { return input.x; }

  TemporalOutput step(Tape& tape, const Parameters& parameters, int, const StepInput& input) const override {
    const Var& state = input.state;
    const std::vector<Var> read = {input.x, input.neighbours->product(tape, 0, state)};
    const GruGateVars gates =
        gru_gates(tape, joined_dense(tape, read, parameters.at("gate.weight"), parameters.at("gate.bias")), state);
    const Var reset = input.neighbours->product(tape, 0, gates.reset);
    const Var candidate =
        joined_dense(tape, {input.x, reset}, parameters.at("candidate.weight"), parameters.at("candidate.bias"));
    const Var next = blend_state(tape, gates.update, state, candidate);
    return {next, next};
  }

 private:
  std::int64_t hidden_;
  double bias_;
};

}  // namespace

std::unique_ptr<Model> make_joint_t_gcn(std::int64_t hidden, double bias) {
  return std::make_unique<JointTGcn>(hidden, bias);
}

}  // namespace strobe
