// TM-GCN as ESDG trains it (SC'21 section 5.3; decisions E2, E6, M1): two layers Y = relu(A~ X W), with the
// parameter-free M-transform (row mean over the last `window` steps) as temporal stage. A and X are first smoothed by
// the same M-transform. Then A~ = D^-1/2 (A + I) D^-1/2, and A~ X of the first layer is computed once. Redistribution
// pairs: 1 = only the first layer has a temporal stage (this reproduces the volumes of Table 2). 2 = the second layer's
// output is M-transformed too (section 4.2's general description). Other networks are those of the public code
// (IBM/TM-GCN, embedding_help_functions.py), whose M smooths A and X only: network=linear, Z = A~ X W, and
// network=selu, Z = A~ selu(A~ X W1) W2. There M need not be a mean: with m=inverse_distance M[t, s] = 1 / (t - s + 1)
// (read_data.m), here wherever M is used. That code normalises A before M smooths it; here it is after (decision E12).
// Its edge life of 10 steps before M is the workload's edge_life=10.
#include "core/searched_values.hpp"
#include "models/ops/ops.hpp"
#include "models/ops/ops_fading.hpp"
#include "models/snapshots/model.hpp"
#include "models/snapshots/windowed.hpp"

namespace strobe {
namespace {

struct TmGcnParameters {
  std::string network = "esdg";
  int hidden = 6;
  int output = 6;
  int window = 5;
  int pairs = 1;
  std::string m = "row_mean";
  std::string last_activation = "relu";
  bool precompute = true;
};

const FieldTable& tm_gcn_fields() {
  static const FieldTable table =
      make_fields<TmGcnParameters>()
          .choice("network", &TmGcnParameters::network, {"esdg", "linear", "selu"},
                  "ESDG's two layers with M between them; or the public code's one linear layer, or two with SELU")
          .integer("hidden", &TmGcnParameters::hidden, "features", "width of the first layer", 1, 4096)
          .searched(searched_widths)
          .integer("output", &TmGcnParameters::output, "features", "width of the embedding", 1, 4096)
          .searched(searched_widths)
          .integer("window", &TmGcnParameters::window, "steps",
                   "w of the M-transform, for smoothing and for the temporal stage (the paper prints none)", 1, 1000000)
          .integer("pairs", &TmGcnParameters::pairs, "", "redistribution pairs in one forward pass, with network=esdg",
                   1, 2)
          .choice("m", &TmGcnParameters::m, {"row_mean", "inverse_distance"},
                  "M-transform over a window: the mean, or the sum with weights 1 / (t - s + 1)")
          .choice("last_activation", &TmGcnParameters::last_activation, {"relu", "none"},
                  "activation of the second layer, with network=esdg")
          .boolean("precompute", &TmGcnParameters::precompute, "compute the first layer's A~ X once, before training")
          .preset("paper", "ESDG, SC'21, section 6.1, and the authors' code, IBM/TM-GCN: lengths of 6",
                  {{"hidden", 6}, {"output", 6}});
  return table;
}

class TmGcn final : public Model {
 public:
  explicit TmGcn(const TmGcnParameters& parameters)
      : p_(parameters), esdg_(p_.network == "esdg"), fades_(p_.m == "inverse_distance") {
    if (!esdg_ && p_.pairs != 1) {
      throw InvalidRequest("/model/pairs", "network=" + p_.network +
                                               " transforms nothing between or after its layers; " +
                                               "leave pairs out, or set network=esdg");
    }
    if (!esdg_ && p_.last_activation != TmGcnParameters().last_activation) {
      throw InvalidRequest("/model/last_activation", "network=" + p_.network +
                                                         " has no activation after its last layer; leave "
                                                         "last_activation out, or set network=esdg");
    }
    if (is_linear() && p_.hidden != TmGcnParameters().hidden) {
      throw InvalidRequest(
          "/model/hidden",
          "network=linear has one layer, whose width is output; leave hidden out, or set network=selu");
    }
  }

  Preparation preparation() const override {
    Preprocessing what;
    what.smooth = "m_product";
    what.window = p_.window;
    what.m = p_.m;
    what.smooth_features = true;
    what.laplacian = true;
    what.precompute_first_product = p_.precompute;
    return {what};
  }

  std::vector<LayerShape> layers(std::int64_t feature_width) const override {
    const std::int64_t width = is_linear() ? p_.output : p_.hidden;
    const TemporalNeed first = esdg_ ? TemporalNeed::window : TemporalNeed::none;
    const TemporalNeed second = p_.pairs == 2 ? TemporalNeed::window : TemporalNeed::none;
    std::vector<LayerShape> shapes{{feature_width, width, width, !p_.precompute, first, p_.window}};
    if (!is_linear()) shapes.push_back({p_.hidden, p_.output, p_.output, true, second, p_.window});
    shapes[0].rows_alone = shapes.size() > 1 && p_.precompute && first == TemporalNeed::none;
    for (LayerShape& shape : shapes) shape.fades = fades_;
    return shapes;
  }

  std::vector<ParameterShape> parameters(std::int64_t feature_width) const override {
    if (is_linear()) return {glorot("layer1.weight", feature_width, p_.output)};
    return {glorot("layer1.weight", feature_width, p_.hidden), glorot("layer2.weight", p_.hidden, p_.output)};
  }

  Var spatial(Tape& tape, const Parameters& parameters, int layer, const SpatialInput& input) const override {
    const bool relu = esdg_ && (layer == 0 || p_.last_activation == "relu");
    const Activation activation = relu ? Activation::relu : Activation::none;
    const Var& weight = parameters.at(layer == 0 ? "layer1.weight" : "layer2.weight");
    const Var y = layer == 0 && p_.precompute ? dense(tape, input.x, weight, nullptr, activation)
                                              : graph_convolution(tape, *input.a, input.x, weight, activation);
    return layer == 0 && p_.network == "selu" ? selu(tape, y) : y;
  }

  JointOutput joint(Tape& tape, const Parameters& parameters, int layer, const JointInput& input) const override {
    if (!input.whole_timelines || layer != 0 || !p_.precompute || fades_) return {};
    return {dense_m_transform(tape, input.spatial.x, parameters.at("layer1.weight"), Activation::relu,
                              input.spatial.cells->steps, p_.window)};
  }

  TemporalOutput temporal(Tape& tape, const Parameters&, int, const TemporalInput& input) const override {
    return windowed_m_transform(tape, input, p_.window, fades_);
  }

 private:
  bool is_linear() const { return p_.network == "linear"; }

  TmGcnParameters p_;
  bool esdg_, fades_;
};

const Register<ModelTag> tm_gcn_registered{{
    "tm-gcn",
    "two graph convolutions with an M-transform over time between them",
    "ESDG, SC'21, section 5.3; Malik et al., Dynamic graph convolutional networks using the tensor M-product, SDM'21",
    tm_gcn_fields(),
    [](const Json& parameters) -> std::unique_ptr<Model> {
      return std::make_unique<TmGcn>(from_json<TmGcnParameters>(tm_gcn_fields(), parameters, "/model"));
    },
    {},
}};

}  // namespace
}  // namespace strobe
