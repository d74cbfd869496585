// EvolveGCN-H (Pareja et al., AAAI'20, section 3.2; decisions E7, E12, M2): two layers Y_t = relu(A~_t X_t W_t) whose
// weights follow a matrix GRU, W_t = GRU(Z_t, W_{t-1}). Its input Z_t [F, G] summarises the layer's input X_t: the G
// vertices with the largest score s = X_t p / |p| (ties to the smaller vertex; repeated when there are fewer), each row
// times tanh(s), transposed. A~ X of the first layer is computed once; its summary reads X. The option `mask` says
// which vertices may be chosen; the paper has no mask. mask=connected, the default, leaves out vertices without an
// incoming edge. This keeps vertices that are not there yet out of the summary, and reads only a rank's own rows.
// mask=linked leaves out only vertices without an edge at either end. The public code does this too (IBM/EvolveGCN
// taskers_utils.py), but there self-loops count as edges and here they do not. A row must then also list the edges that
// leave its vertex, as zeros, and halos grow with them. mask=none lets every vertex take part. Every rank offers its
// own best rows in its own slots, and the offers of all ranks are summed. So every rank makes the same choice. The
// chosen rows are summed from their owners, and their gradients flow back to the owners. Options: cell=lstm feeds the
// same summary to a matrix LSTM; gate=none drops the tanh factor, as TM-GCN's public code does.
#include "core/names_elsewhere.hpp"
#include "models/ops/ops.hpp"
#include "models/snapshots/evolution.hpp"

namespace strobe {
namespace {

struct EvolveGcnHParameters : EvolutionOptions {
  std::string gate = "tanh";
  std::string mask = "connected";
  EvolveGcnHParameters() { cell = "gru"; }
};

const FieldTable& evolve_gcn_h_fields() {
  static const FieldTable table = evolution_fields<EvolveGcnHParameters>()
                                      .choice("gate", &EvolveGcnHParameters::gate, {"tanh", "none"},
                                              "factor of a chosen vertex: tanh of its score, or one")
                                      .choice("mask", &EvolveGcnHParameters::mask, {"connected", "linked", "none"},
                                              "which vertices may be chosen: those with an incoming edge, with an edge "
                                              "at either end as in the public code, or all");
  return table;
}

class EvolveGcnH final : public Model {
 public:
  explicit EvolveGcnH(const EvolveGcnHParameters& parameters) : p_(parameters) {}

  /// The first layer's summary reads X itself.
  Preparation preparation() const override {
    Preprocessing what = evolution_preprocessing(p_);
    what.keep_features = true;
    what.symmetric_pattern = p_.mask == "linked";
    return {what};
  }

  std::vector<LayerShape> layers(std::int64_t feature_width) const override {
    std::vector<LayerShape> shapes = evolution_layers(p_, feature_width);
    shapes[0].rows_alone = false;  // the second layer's weights follow from this one's own rows
    for (LayerShape& layer : shapes) {
      // As many rows as the weights have columns; the offers of all ranks for them, then the rows themselves.
      layer.sums.constants_per_rank = layer.spatial_width * candidate_numbers;
      layer.sums.values = layer.spatial_width * layer.input_width;
    }
    return shapes;
  }

  std::vector<ParameterShape> parameters(std::int64_t feature_width) const override {
    std::vector<ParameterShape> shapes = evolution_parameters(p_, feature_width);
    shapes.push_back(glorot(layer_name(0) + "score", feature_width, 1));
    shapes.push_back(glorot(layer_name(1) + "score", p_.hidden, 1));
    return shapes;
  }

  ModelTraits traits() const override {
    ModelTraits what;
    what.reads_ids = true;
    what.sums_outside_rows = what.before_rows_reads_a = true;
    return what;
  }

  Var spatial(Tape& tape, const Parameters& parameters, int layer, const SpatialInput& input) const override {
    if (input.shared_weights != nullptr) return evolution_output(tape, p_, layer, input, input.shared_weights->front());
    return evolution_output(tape, p_, layer, input, before_rows(tape, parameters, layer, input).front());
  }

  /// The best rows are chosen among all own rows, so the weights are made before any part.
  std::vector<Var> before_rows(Tape& tape, const Parameters& parameters, int layer,
                               const SpatialInput& all) const override {
    return {weights_of(tape, parameters, layer, all, {layer == 0 ? all.features : all.x})};
  }

  /// Neither the product with A~ nor the second layer's summary reads a stored output of the first.
  JointOutput joint(Tape& tape, const Parameters& parameters, int, const JointInput& input) const override {
    if (input.next == nullptr) return {};
    const SpatialInput &first = input.spatial, &second = *input.next;
    const Var weights = weights_of(tape, parameters, 0, first, {first.features});
    const ChoiceRows hidden{first.x, weights, evolution_activation(p_, 0)};
    return {joint_evolution_output(tape, p_, first, second, weights, weights_of(tape, parameters, 1, second, hidden)),
            2};
  }

 private:
  /// The layer's weights of all steps, by the best of its input rows.
  Var weights_of(Tape& tape, const Parameters& parameters, int layer, const SpatialInput& input,
                 const ChoiceRows& from) const {
    const Var& direction = parameters.at(layer_name(layer) + "score");
    const Tensor chosen = choose_rows(tape, input, from, direction->value, width(layer), p_.mask != "none");
    const Var own = summarise_rows(tape, from, direction, chosen, p_.gate == "tanh");
    const Var summary = input.pass->ranks->sum(tape, own);
    return evolved_weights(tape, parameters, p_, layer, summary, input);
  }

  std::int64_t width(int layer) const { return layer == 0 ? p_.hidden : p_.output; }

  EvolveGcnHParameters p_;
};

const Register<ModelTag> evolve_gcn_h_registered{{
    "evolve-gcn-h",
    "two graph convolutions whose weights evolve by a matrix GRU that reads the best-scored vertices",
    "Pareja et al., EvolveGCN, AAAI'20, section 3.2; IBM/EvolveGCN egcn_h.py",
    evolve_gcn_h_fields(),
    [](const Json& parameters) -> std::unique_ptr<Model> {
      return std::make_unique<EvolveGcnH>(from_json<EvolveGcnHParameters>(evolve_gcn_h_fields(), parameters, "/model"));
    },
    {},
}};

const RegisterNames evolve_gcn_h_elsewhere{"model", {{"egcn-h", "evolve-gcn-h", ""}}};

}  // namespace
}  // namespace strobe
