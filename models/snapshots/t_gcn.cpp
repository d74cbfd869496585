// T-GCN as DGC trains it (section 7.1; decisions M3): a GRU along every vertex's timeline. Its three gates r, z, n each
// read their own graph convolution of the features. A convolution has two layers, with an activation between them only:
// C^g = A~ relu(A~ X W1^g + b1^g) W2^g + b2^g; r = sigmoid(C^r V^r + H U^r + b^r), z in the same way, n = tanh(C^n V^n
// + (r H) U^n + b^n), H' = z H + (1 - z) n. Nothing lies between W2 and V, so the gates read the aggregated rows with
// the matrices' product: C^g V^g + b^g = S^g (W2^g V^g) + (b2^g V^g + b^g), S^g = A~ relu(...). `gcn_layers=1` is the
// form of PyTorch Geometric Temporal, C^g = A~ X W^g + b^g. `gates=shared` is the form of Zhao et al.: one convolution
// for all gates. `conv=xh` lets the gates convolve features and state together, which runs step by step
// (t_gcn_joint.hpp). A~ = D^-1/2 (A + I) D^-1/2; A~ X of the first layer is computed once.
#include "core/names_elsewhere.hpp"
#include "core/searched_values.hpp"
#include "models/ops/ops.hpp"
#include "models/ops/ops_block.hpp"
#include "models/ops/ops_evolve.hpp"
#include "models/ops/ops_recurrent.hpp"
#include "models/snapshots/model.hpp"
#include "models/snapshots/t_gcn_joint.hpp"

namespace strobe {
namespace {

struct TGcnParameters {
  int hidden = 6;
  int gcn_layers = 2;
  std::string gates = "own";
  bool precompute = true;
  std::string conv = "x";
  double gate_bias = 1.0;
};

const FieldTable& t_gcn_fields() {
  static const FieldTable table =
      make_fields<TGcnParameters>()
          .integer("hidden", &TGcnParameters::hidden, "features", "width of the state and of every convolution", 1,
                   4096)
          .searched(searched_widths)
          .integer("gcn_layers", &TGcnParameters::gcn_layers, "", "graph convolutions before each gate", 1, 8)
          .choice("gates", &TGcnParameters::gates, {"own", "shared"},
                  "whether each gate has graph convolutions of its own or all read the same")
          .boolean("precompute", &TGcnParameters::precompute, "compute the first layer's A~ X once, before training")
          .choice(
              "conv", &TGcnParameters::conv, {"x", "xh"},
              "what the gates' convolutions read: the features, or features and state together, as the authors' code")
          .real("gate_bias", &TGcnParameters::gate_bias, "", "with conv=xh: where the biases of r and u start")
          .preset("paper",
                  "width: default of the authors' code, lehaifeng/T-GCN; convolutions: DGC, SIGMOD'23, section 7.1",
                  {{"hidden", 64}, {"gcn_layers", 2}})
          .preset("small", "sizes of Strobe's tests", {{"hidden", 6}, {"gcn_layers", 2}});
  return table;
}

class TGcn final : public Model {
 public:
  explicit TGcn(const TGcnParameters& parameters) : p_(parameters), blocks_(parameters.gates == "own" ? 3 : 1) {}

  Preparation preparation() const override {
    Preprocessing what;
    what.laplacian = true;
    what.precompute_first_product = p_.precompute;
    return {what};
  }

  std::vector<LayerShape> layers(std::int64_t feature_width) const override {
    std::vector<LayerShape> shapes;
    const std::int64_t width = blocks_ * p_.hidden;
    const bool joint = p_.gcn_layers == 2 && p_.precompute && cheap_to_repeat(feature_width);
    for (int l = 0; l < p_.gcn_layers; ++l) {
      const bool last = l + 1 == p_.gcn_layers;
      shapes.push_back({l == 0 ? feature_width : width, width, last ? p_.hidden : width, l > 0 || !p_.precompute,
                        last ? TemporalNeed::recurrent : TemporalNeed::none, 0, false, l == 1 && joint,
                        l == 0 && !last && p_.precompute});
    }
    shapes.back().recurrent_state = {1, p_.hidden};
    return shapes;
  }

  std::vector<ParameterShape> parameters(std::int64_t feature_width) const override {
    const std::int64_t h = p_.hidden;
    std::vector<ParameterShape> shapes;
    for (int l = 0; l < p_.gcn_layers; ++l) {
      // The first layer's matrices lie side by side, since all read x. The others lie one below the other, one for each
      // gate.
      const std::int64_t inputs = l == 0 ? feature_width : h;
      const double bound = glorot("", inputs, h).bound;
      shapes.push_back({name(l, "gcn.weight"), l == 0 ? inputs : blocks_ * h, l == 0 ? blocks_ * h : h, bound});
      // Not zero: a vertex without features and neighbours would start on the kink of relu.
      shapes.push_back({name(l, "gcn.bias"), l == 0 ? 1 : blocks_, l == 0 ? blocks_ * h : h, bound});
    }
    const double bound = glorot("", 2 * h, h).bound;
    shapes.push_back({"gru.input_weight", 3 * h, h, bound});
    shapes.push_back({"gru.hidden_weight", 3 * h, h, bound});
    shapes.push_back({"gru.bias", 3, h, 0});
    return shapes;
  }

  Var spatial(Tape& tape, const Parameters& parameters, int layer, const SpatialInput& input) const override {
    const Activation activation = layer + 1 < p_.gcn_layers ? Activation::relu : Activation::none;
    const Var& weight = parameters.at(name(layer, "gcn.weight"));
    const Var& bias = parameters.at(name(layer, "gcn.bias"));
    const bool aggregated = layer == 0 && p_.precompute;
    const Var x = aggregated ? input.x : spmm(tape, *input.a, input.x);
    if (layer == 0) return dense(tape, x, weight, bias, activation);
    if (layer + 1 == p_.gcn_layers) return x;
    return block_dense(tape, x, weight, bias, blocks_, activation);
  }

  /// Both convolutions: the second is the gates'.
  JointOutput joint(Tape& tape, const Parameters& parameters, int, const JointInput& input) const override {
    if (input.next == nullptr) return {};
    return {spmm_of_dense(tape, *input.next->a, input.spatial.x, parameters.at(name(0, "gcn.weight")),
                          parameters.at(name(0, "gcn.bias")), Tensor(), Activation::relu),
            2, true};
  }

  TemporalOutput temporal(Tape& tape, const Parameters& parameters, int, const TemporalInput& input) const override {
    const GateInput gates = gate_input(tape, parameters);
    const Recurrence gru = gru_sequence(tape, input.x, gates.weight, parameters.at("gru.hidden_weight"), gates.bias,
                                        input.steps, input.state, input.want_state, packed_sequences(input));
    return {gru.y, gru.state};
  }

 private:
  static std::string name(int layer, const std::string& what) {
    return "layer" + std::to_string(layer + 1) + "." + what;
  }

  /// The weight and bias of the gates' input: weight [3 F, h], bias [3, h].
  struct GateInput {
    Var weight, bias;
  };

  /// W2^g V^g and b2^g V^g + b^g of every gate; V and b themselves after a convolution that is dense already.
  GateInput gate_input(Tape& tape, const Parameters& parameters) const {
    const Var &v = parameters.at("gru.input_weight"), &b = parameters.at("gru.bias");
    if (p_.gcn_layers == 1) return {v, b};
    const std::int64_t h = p_.hidden;
    const Var& w = parameters.at(name(p_.gcn_layers - 1, "gcn.weight"));
    const Var& b2 = parameters.at(name(p_.gcn_layers - 1, "gcn.bias"));
    std::vector<Var> weights, biases;
    for (std::int64_t gate = 0; gate < 3; ++gate) {
      const std::int64_t block = blocks_ == 1 ? 0 : gate;
      const Var own = slice_rows(tape, v, gate * h, h);
      weights.push_back(dense(tape, slice_rows(tape, w, block * h, h), own, nullptr, Activation::none));
      biases.push_back(
          dense(tape, slice_rows(tape, b2, block, 1), own, slice_rows(tape, b, gate, 1), Activation::none));
    }
    return {concat_rows(tape, weights), concat_rows(tape, biases)};
  }

  TGcnParameters p_;
  std::int64_t blocks_;
};

std::unique_ptr<Model> make(const TGcnParameters& parameters) {
  const TGcnParameters defaults;
  if (parameters.conv == "x") {
    if (parameters.gate_bias == defaults.gate_bias) return std::make_unique<TGcn>(parameters);
    throw InvalidRequest("/model/gate_bias", "with conv=x biases start at 0; leave gate_bias out, or set conv=xh");
  }
  if (parameters.precompute != defaults.precompute) {
    throw InvalidRequest("/model/precompute",
                         "conv=xh convolves features and state together, so nothing can be computed before; leave "
                         "precompute out, or set conv=x");
  }
  if (parameters.gcn_layers != defaults.gcn_layers || parameters.gates != defaults.gates) {
    throw InvalidRequest("/model/conv",
                         "conv=xh has one convolution a gate, so gcn_layers and gates do not go with it");
  }
  return make_joint_t_gcn(parameters.hidden, parameters.gate_bias);
}

const Register<ModelTag> t_gcn_registered{{
    "t-gcn",
    "a GRU along the timelines whose gates read graph convolutions of the features",
    "Zhao et al., T-GCN, IEEE T-ITS 2020; as in DGC, SIGMOD'23, section 7.1",
    t_gcn_fields(),
    [](const Json& parameters) -> std::unique_ptr<Model> {
      return make(from_json<TGcnParameters>(t_gcn_fields(), parameters, "/model"));
    },
    {},
}};

const RegisterNames t_gcn_elsewhere{"model",
                                    {{"roland", "", "nearest are t-gcn and evolve-gcn-o"},
                                     {"gconvgru", "", "nearest is t-gcn"},
                                     {"a3tgcn", "", "nearest is t-gcn"},
                                     {"stgcn", "", "nearest is t-gcn"},
                                     {"graphsage", "", "it has no time; nearest is t-gcn"}}};

}  // namespace
}  // namespace strobe
