// CD-GCN as ESDG trains it (SC'21 section 5.1; decisions E4, E19, M8): layers of a graph convolution with a skip
// connection, Y0 = A~ X, Y = relu([Y0 | Y0 W]), and an LSTM along every vertex's timeline. Manessi et al.'s original
// has one such layer, ESDG two. The text concatenates "the input features", the formula the aggregated ones: the
// formula is the default, `concat=input` the other. A~ = D^-1/2 (A + I) D^-1/2 of the raw snapshots; A~ X of the first
// layer is computed once. Redistributed widths at F = 2 and width 6: 8, 6, 12, 6.
#include "core/names_elsewhere.hpp"
#include "core/searched_values.hpp"
#include "models/ops/ops.hpp"
#include "models/ops/ops_block.hpp"
#include "models/ops/ops_recurrent.hpp"
#include "models/snapshots/model.hpp"

namespace strobe {
namespace {

struct CdGcnParameters {
  int hidden = 6;
  int output = 6;
  int layers = 2;
  std::string concat = "aggregated";
  bool precompute = true;
};

const FieldTable& cd_gcn_fields() {
  static const FieldTable table =
      make_fields<CdGcnParameters>()
          .integer("hidden", &CdGcnParameters::hidden, "features",
                   "width of the convolutions, and of the LSTM of all layers but the last", 1, 4096)
          .searched(searched_widths)
          .integer("output", &CdGcnParameters::output, "features", "width of the embedding (the last LSTM)", 1, 4096)
          .searched(searched_widths)
          .integer("layers", &CdGcnParameters::layers, "", "pairs of convolution and LSTM (the original has 1)", 1, 8)
          .choice("concat", &CdGcnParameters::concat, {"aggregated", "input"},
                  "the columns next to the convolution: the aggregated features (the paper's formula) or the layer's "
                  "input (its text)")
          .boolean("precompute", &CdGcnParameters::precompute, "compute the first layer's A~ X once, before training")
          .preset("paper", "ESDG, SC'21, section 6.1: intermediate feature lengths of 6",
                  {{"hidden", 6}, {"output", 6}, {"layers", 2}});
  return table;
}

class CdGcn final : public Model {
 public:
  explicit CdGcn(const CdGcnParameters& parameters) : p_(parameters) {}

  Preparation preparation() const override {
    Preprocessing what;
    what.laplacian = true;
    what.precompute_first_product = p_.precompute;
    what.keep_features = p_.concat == "input";
    return {what};
  }

  std::vector<LayerShape> layers(std::int64_t feature_width) const override {
    std::vector<LayerShape> shapes;
    for (int l = 0; l < p_.layers; ++l) {
      const std::int64_t input = l == 0 ? feature_width : p_.hidden;
      shapes.push_back({input, input + p_.hidden, lstm_width(l), l > 0 || !p_.precompute, TemporalNeed::recurrent});
      shapes.back().recurrent_state = {2, lstm_width(l)};
    }
    return shapes;
  }

  std::vector<ParameterShape> parameters(std::int64_t feature_width) const override {
    std::vector<ParameterShape> shapes;
    for (int l = 0; l < p_.layers; ++l) {
      const std::int64_t input = l == 0 ? feature_width : p_.hidden, h = lstm_width(l);
      shapes.push_back(glorot(name(l, "gcn.weight"), input, p_.hidden));
      const double bound = glorot("", input + p_.hidden + h, h).bound;  // per gate
      shapes.push_back({name(l, "lstm.input_weight"), input + p_.hidden, 4 * h, bound});
      shapes.push_back({name(l, "lstm.hidden_weight"), h, 4 * h, bound});
      shapes.push_back({name(l, "lstm.bias"), 1, 4 * h, 0});
    }
    return shapes;
  }

  Var spatial(Tape& tape, const Parameters& parameters, int layer, const SpatialInput& input) const override {
    const Var& weight = parameters.at(name(layer, "gcn.weight"));
    const Var whole = aggregated(tape, layer, input);
    if (p_.concat == "aggregated") return skip_dense(tape, whole, whole, weight, Activation::relu);
    const bool ready = layer == 0 && p_.precompute;
    const Var own = ready ? input.features : slice_rows(tape, input.x, 0, input.a->rows);
    return skip_dense(tape, own, whole, weight, Activation::relu);
  }

  /// The formula's skip connection as part of the LSTM that reads it.
  JointOutput joint(Tape& tape, const Parameters& parameters, int layer, const JointInput& input) const override {
    if (!input.whole_timelines || p_.concat != "aggregated") return {};
    return {skip_lstm_sequence(tape, aggregated(tape, layer, input.spatial), parameters.at(name(layer, "gcn.weight")),
                               parameters.at(name(layer, "lstm.input_weight")),
                               parameters.at(name(layer, "lstm.hidden_weight")),
                               parameters.at(name(layer, "lstm.bias")), input.spatial.cells->steps, nullptr, false)
                .y};
  }

  TemporalOutput temporal(Tape& tape, const Parameters& parameters, int layer,
                          const TemporalInput& input) const override {
    const Recurrence lstm =
        lstm_sequence(tape, {input.x}, parameters.at(name(layer, "lstm.input_weight")),
                      parameters.at(name(layer, "lstm.hidden_weight")), parameters.at(name(layer, "lstm.bias")),
                      input.steps, input.state, input.want_state, packed_sequences(input));
    return {lstm.y, lstm.state};
  }

 private:
  std::int64_t lstm_width(int layer) const { return layer + 1 == p_.layers ? p_.output : p_.hidden; }

  /// Y0 = A~ X of a layer.
  Var aggregated(Tape& tape, int layer, const SpatialInput& input) const {
    return layer == 0 && p_.precompute ? input.x : spmm(tape, *input.a, input.x);
  }

  static std::string name(int layer, const std::string& what) {
    return "layer" + std::to_string(layer + 1) + "." + what;
  }

  CdGcnParameters p_;
};

const Register<ModelTag> cd_gcn_registered{{
    "cd-gcn",
    "graph convolutions with skip connections, each followed by an LSTM along the timelines",
    "ESDG, SC'21, section 5.1; Manessi et al., Dynamic graph convolutional networks, Pattern Recognition 2020",
    cd_gcn_fields(),
    [](const Json& parameters) -> std::unique_ptr<Model> {
      return std::make_unique<CdGcn>(from_json<CdGcnParameters>(cd_gcn_fields(), parameters, "/model"));
    },
    {},
}};

const RegisterNames cd_gcn_elsewhere{"model",
                                     {{"gc-lstm", "", "nearest is cd-gcn"}, {"wd-gcn", "", "nearest is cd-gcn"}}};

}  // namespace
}  // namespace strobe
