// TM-GCN as ESDG trains it (SC'21 section 5.3; decisions E2, E6, M1): two layers Y = relu(A~ X W), with the
// parameter-free M-transform (row mean over the last `window` steps) as temporal stage. A and X are smoothed by the
// same M-transform beforehand, then A~ = D^-1/2 (A + I) D^-1/2, and A~ X of the first layer is computed once.
// Redistribution pairs: 1 = only the first layer has a temporal stage (this reproduces the volumes of Table 2);
// 2 = the second layer's output is M-transformed too (section 4.2's general description).
#include <algorithm>

#include "models/model.hpp"
#include "models/ops.hpp"
#include "models/windowed.hpp"

namespace strobe {
namespace {

struct TmGcnParameters {
  int hidden = 6;
  int output = 6;
  int window = 5;
  int pairs = 1;
  std::string last_activation = "relu";
  bool precompute = true;
};

const FieldTable& tm_gcn_fields() {
  static const FieldTable table =
      make_fields<TmGcnParameters>()
          .integer("hidden", &TmGcnParameters::hidden, "features", "width of the first layer", 1, 4096)
          .integer("output", &TmGcnParameters::output, "features", "width of the embedding", 1, 4096)
          .integer("window", &TmGcnParameters::window, "steps",
                   "w of the M-transform, for smoothing and for the temporal stage (the paper prints none)", 1, 1000000)
          .integer("pairs", &TmGcnParameters::pairs, "", "redistribution pairs in one forward pass", 1, 2)
          .choice("last_activation", &TmGcnParameters::last_activation, {"relu", "none"},
                  "activation of the second layer")
          .boolean("precompute", &TmGcnParameters::precompute, "compute the first layer's A~ X once, before training");
  return table;
}

class TmGcn final : public Model {
 public:
  explicit TmGcn(const TmGcnParameters& parameters) : p_(parameters) {}

  Preprocessing preprocessing() const override {
    Preprocessing what;
    what.smooth = "m_product";
    what.window = p_.window;
    what.smooth_features = true;
    what.laplacian = true;
    what.precompute_first_product = p_.precompute;
    return what;
  }

  std::vector<LayerShape> layers(std::int64_t feature_width) const override {
    const TemporalNeed second = p_.pairs == 2 ? TemporalNeed::window : TemporalNeed::none;
    return {{feature_width, p_.hidden, p_.hidden, !p_.precompute, TemporalNeed::window, p_.window},
            {p_.hidden, p_.output, p_.output, true, second, p_.window}};
  }

  std::vector<ParameterShape> parameters(std::int64_t feature_width) const override {
    return {glorot("layer1.weight", feature_width, p_.hidden), glorot("layer2.weight", p_.hidden, p_.output)};
  }

  Var spatial(Tape& tape, const Parameters& parameters, int layer, const SpatialInput& input) const override {
    if (layer == 0 && p_.precompute) {
      return dense(tape, input.x, parameters.at("layer1.weight"), nullptr, Activation::relu);
    }
    const Activation activation = layer == 0 || p_.last_activation == "relu" ? Activation::relu : Activation::none;
    const Var& weight = parameters.at(layer == 0 ? "layer1.weight" : "layer2.weight");
    return graph_convolution(tape, *input.a, input.x, weight, activation);
  }

  Var whole_layer(Tape& tape, const Parameters& parameters, int layer, const SpatialInput& input) const override {
    if (layer != 0 || !p_.precompute) return nullptr;
    return dense_m_transform(tape, input.x, parameters.at("layer1.weight"), Activation::relu, input.cells->steps,
                             p_.window);
  }

  TemporalOutput temporal(Tape& tape, const Parameters&, int, const TemporalInput& input) const override {
    return windowed_m_transform(tape, input, p_.window);
  }

  StateShape state(int layer, std::int64_t first_step) const override {
    return {std::min<std::int64_t>(p_.window - 1, first_step), layer == 0 ? p_.hidden : p_.output};
  }

 private:
  TmGcnParameters p_;
};

const Register<ModelTag> registered{{
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
