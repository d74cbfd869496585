// EvolveGCN-O as ESDG trains it (SC'21 section 5.2; decisions E7, E12, M2): two layers Y_t = relu(A~_t X_t W_t) whose
// weights follow W_t = LSTM(W_{t-1}). Each column of W is a sequence; hidden state and input are both the weights of
// the step before. A is smoothed by edge life, then A~ = D^-1/2 (A + I) D^-1/2, and A~ X of the first layer is computed
// once. Every rank evolves the weights of all steps (parameters only). Each rank has a part of the gradients of W_t,
// and the backward pass is linear in them. So the gradient all-reduce is the only communication of the recurrence.
// Option cell=gru is the matrix GRU of the public code (IBM/EvolveGCN egcn_o.py); backpropagation=detached is DynaHB's
// copy. The public code's random leaky ReLU is not offered.
#include "core/names_elsewhere.hpp"
#include "models/ops/ops.hpp"
#include "models/snapshots/evolution.hpp"

namespace strobe {
namespace {

const FieldTable& evolve_gcn_o_fields() {
  static const FieldTable table = evolution_fields<EvolutionOptions>();
  return table;
}

class EvolveGcnO final : public Model {
 public:
  explicit EvolveGcnO(const EvolutionOptions& parameters) : p_(parameters) {}

  Preparation preparation() const override { return {evolution_preprocessing(p_)}; }

  std::vector<LayerShape> layers(std::int64_t feature_width) const override {
    return evolution_layers(p_, feature_width);
  }

  std::vector<ParameterShape> parameters(std::int64_t feature_width) const override {
    return evolution_parameters(p_, feature_width);
  }

  Var spatial(Tape& tape, const Parameters& parameters, int layer, const SpatialInput& input) const override {
    if (input.shared_weights != nullptr) return evolution_output(tape, p_, layer, input, input.shared_weights->front());
    return evolution_output(tape, p_, layer, input, evolved_weights(tape, parameters, p_, layer, nullptr, input));
  }

  std::vector<Var> before_rows(Tape& tape, const Parameters& parameters, int layer,
                               const SpatialInput& all) const override {
    return {evolved_weights(tape, parameters, p_, layer, nullptr, all)};
  }

  JointOutput joint(Tape& tape, const Parameters& parameters, int, const JointInput& input) const override {
    if (input.next == nullptr) return {};
    const Var weights = evolved_weights(tape, parameters, p_, 0, nullptr, input.spatial);
    return {joint_evolution_output(tape, p_, input.spatial, *input.next, weights,
                                   evolved_weights(tape, parameters, p_, 1, nullptr, *input.next)),
            2};
  }

 private:
  EvolutionOptions p_;
};

const Register<ModelTag> evolve_gcn_o_registered{{
    "evolve-gcn-o",
    "two graph convolutions whose weights evolve by a matrix LSTM",
    "Pareja et al., EvolveGCN, AAAI'20; ESDG, SC'21, section 5.2; option cell=gru: IBM/EvolveGCN egcn_o.py",
    evolve_gcn_o_fields(),
    [](const Json& parameters) -> std::unique_ptr<Model> {
      return std::make_unique<EvolveGcnO>(from_json<EvolutionOptions>(evolve_gcn_o_fields(), parameters, "/model"));
    },
    {},
}};

const RegisterNames evolve_gcn_o_elsewhere{"model",
                                           {{"evolvegcn", "evolve-gcn-o", "evolve-gcn-h is the other variant"},
                                            {"egcn", "evolve-gcn-o", "evolve-gcn-h is the other variant"},
                                            {"egcn-o", "evolve-gcn-o", ""}}};

}  // namespace
}  // namespace strobe
