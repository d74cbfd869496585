// MPNN-LSTM (Panagopoulos et al., AAAI'21; decisions M4): two graph convolutions, X1 = drop(norm(relu(A~ X W1 + b1)))
// and X2 in the same way from X1. Their outputs side by side are the input of two stacked LSTMs along every vertex's
// timeline. The embedding is [H1 | H2 | X], X being the features (`output=h2` gives the last LSTM alone). The state is
// carried over all steps; `state=reset` sets it to zero every `window` steps (with 1, as in the public examples,
// nothing is remembered). Batch normalisation is of each step over its vertices, in evaluation too. A test step is
// normalised by its own mean and variance. The public code instead keeps running statistics and evaluates with them.
// Dropout is off by default (DGC's code has 0.5 and no normalisation). A~ = D^-1/2 (A + I) D^-1/2; A~ X of the first
// convolution is computed once.
#include <algorithm>

#include "core/names_elsewhere.hpp"
#include "core/searched_values.hpp"
#include "models/ops/ops.hpp"
#include "models/ops/ops_block.hpp"
#include "models/ops/ops_recurrent.hpp"
#include "models/ops/ops_statistics.hpp"
#include "models/snapshots/model.hpp"

namespace strobe {
namespace {

struct MpnnLstmParameters {
  int hidden = 6;
  std::string output = "all";
  std::string state = "carried";
  int window = 1;
  bool batch_norm = true;
  double dropout = 0;
  bool precompute = true;
};

const FieldTable& mpnn_lstm_fields() {
  static const FieldTable table =
      make_fields<MpnnLstmParameters>()
          .integer("hidden", &MpnnLstmParameters::hidden, "features", "width of the convolutions and the LSTMs", 1,
                   4096)
          .searched(searched_widths)
          .choice("output", &MpnnLstmParameters::output, {"all", "h2"},
                  "embedding: both LSTMs and the features, or the second LSTM alone")
          .choice("state", &MpnnLstmParameters::state, {"carried", "reset"},
                  "whether the LSTMs' state is carried over all steps or set to zero every `window` steps")
          .integer("window", &MpnnLstmParameters::window, "steps", "steps between two resets, with state=reset", 1,
                   1000000)
          .boolean("batch_norm", &MpnnLstmParameters::batch_norm,
                   "normalise the convolutions' outputs by each step's own mean and variance, in evaluation too")
          .real("dropout", &MpnnLstmParameters::dropout, "", "share of the convolutions' outputs dropped in training",
                0, 0.99)
          .searched(searched_dropouts)
          .boolean("precompute", &MpnnLstmParameters::precompute,
                   "compute the first convolution's A~ X once, before training")
          .preset("paper", "default of the authors' code, geopanag/pandemic_tgnn", {{"hidden", 64}})
          .preset("small", "width of Strobe's tests", {{"hidden", 6}});
  return table;
}

class MpnnLstm final : public Model {
 public:
  explicit MpnnLstm(const MpnnLstmParameters& parameters) : p_(parameters), all_(parameters.output == "all") {
    if (p_.state == "carried" && p_.window != MpnnLstmParameters().window) {
      throw InvalidRequest("/model/window",
                           "with state=carried nothing is reset; leave window out, or set state=reset");
    }
  }

  Preparation preparation() const override {
    Preprocessing what;
    what.laplacian = true;
    what.precompute_first_product = p_.precompute;
    what.keep_features = all_;  // they are part of the embedding
    return {what};
  }

  std::vector<LayerShape> layers(std::int64_t feature_width) const override {
    const std::int64_t h = p_.hidden;
    std::vector<LayerShape> shapes{{feature_width, h, h, !p_.precompute, TemporalNeed::none},
                                   {h, 2 * h, all_ ? 2 * h : h, true, TemporalNeed::recurrent}};
    shapes[1].recurrent_state = {4, h};
    shapes[0].rows_alone = p_.precompute && !p_.batch_norm && p_.dropout == 0;
    if (p_.state == "reset") shapes[1].reset_every = p_.window;
    if (p_.batch_norm) shapes[0].sums.values = shapes[1].sums.values = batch_norm_sums(h);
    if (all_) shapes.push_back({2 * h, 2 * h + feature_width, 2 * h + feature_width, false, TemporalNeed::none});
    return shapes;
  }

  ModelTraits traits() const override {
    ModelTraits what;
    what.stochastic = what.reads_ids = p_.dropout > 0;
    what.sums_outside_rows = true;
    return what;
  }

  std::vector<ParameterShape> parameters(std::int64_t feature_width) const override {
    const std::int64_t h = p_.hidden;
    std::vector<ParameterShape> shapes;
    for (const int layer : {0, 1}) {
      shapes.push_back(glorot(name("gcn", layer, "weight"), layer == 0 ? feature_width : h, h));
      // Not zero: a vertex without features and neighbours would start on the kink of relu.
      shapes.push_back({name("gcn", layer, "bias"), 1, h, shapes.back().bound, 0});
      if (!p_.batch_norm) continue;
      shapes.push_back({name("norm", layer, "gain"), 1, h, 0, 1});
      shapes.push_back({name("norm", layer, "shift"), 1, h, 0, 0});
    }
    for (const int layer : {0, 1}) {
      const std::int64_t inputs = layer == 0 ? 2 * h : h;
      const double bound = glorot("", inputs + h, h).bound;  // per gate
      shapes.push_back({name("lstm", layer, "input_weight"), inputs, 4 * h, bound, 0});
      shapes.push_back({name("lstm", layer, "hidden_weight"), h, 4 * h, bound, 0});
      shapes.push_back({name("lstm", layer, "bias"), 1, 4 * h, 0, 0});
    }
    return shapes;
  }

  Var spatial(Tape& tape, const Parameters& parameters, int layer, const SpatialInput& input) const override {
    return after_rows(tape, parameters, layer, input, spatial_rows(tape, parameters, layer, input));
  }

  Var spatial_rows(Tape& tape, const Parameters& parameters, int layer, const SpatialInput& part) const override {
    if (layer == 2) return concat_columns(tape, {part.x, part.features});
    const Var aggregated = layer == 0 && p_.precompute ? part.x : spmm(tape, *part.a, part.x);
    return dense(tape, aggregated, parameters.at(name("gcn", layer, "weight")),
                 parameters.at(name("gcn", layer, "bias")), Activation::relu);
  }

  /// Means and variances are those of all vertices of a step.
  Var after_rows(Tape& tape, const Parameters& parameters, int layer, const SpatialInput& all,
                 const Var& y) const override {
    if (layer == 2) return y;
    const Var regular = regularised(tape, parameters, layer, all, y);
    return layer == 0 ? regular : concat_columns(tape, {slice_rows(tape, all.x, 0, y->value.rows()), regular});
  }

  /// The second convolution, the LSTMs and the embedding, without the matrices [X1 | X2] and [H1 | H2] in between.
  JointOutput joint(Tape& tape, const Parameters& parameters, int layer, const JointInput& input) const override {
    if (!input.whole_timelines || p_.state != "carried") return {};
    const SpatialInput& here = input.spatial;
    const std::int64_t rows = here.a->rows;
    const Var y = convolution(tape, parameters, layer, here);
    TemporalInput whole;
    whole.steps = here.cells->steps;
    whole.rows_per_step = rows / whole.steps;
    const Recurrence first = lstm(tape, parameters, 0, whole, {slice_rows(tape, here.x, 0, rows), y}, nullptr);
    const Recurrence second = lstm(tape, parameters, 1, whole, {first.y}, nullptr);
    if (!all_) return {second.y};
    return {concat_columns(tape, {first.y, second.y, here.features}), 2};
  }

  TemporalOutput temporal(Tape& tape, const Parameters& parameters, int, const TemporalInput& input) const override {
    const auto state = [&](int layer) {
      const std::int64_t half = input.state ? input.state->value.rows() / 2 : 0;
      return input.state ? slice_rows(tape, input.state, half * layer, half) : nullptr;
    };
    const Recurrence first = lstm(tape, parameters, 0, input, {input.x}, state(0));
    const Recurrence second = lstm(tape, parameters, 1, input, {first.y}, state(1));
    TemporalOutput output;
    output.y = all_ ? concat_columns(tape, {first.y, second.y}) : second.y;
    if (input.want_state) output.state = concat_rows(tape, {first.state, second.state});
    return output;
  }

 private:
  static std::string name(const char* part, int layer, const char* what) {
    return part + std::to_string(layer + 1) + "." + what;
  }

  /// drop(norm(relu(A~ x W + b))) of a layer.
  Var convolution(Tape& tape, const Parameters& parameters, int layer, const SpatialInput& input) const {
    return regularised(tape, parameters, layer, input, spatial_rows(tape, parameters, layer, input));
  }

  /// drop(norm(y)) of a layer.
  Var regularised(Tape& tape, const Parameters& parameters, int layer, const SpatialInput& input, Var y) const {
    if (p_.batch_norm) {
      y = batch_norm(tape, y, parameters.at(name("norm", layer, "gain")), parameters.at(name("norm", layer, "shift")),
                     *input.cells, *input.pass);
    }
    if (p_.dropout > 0) y = dropout(tape, y, p_.dropout, layer, *input.cells, *input.pass);
    return y;
  }

  /// One LSTM over the segment, in pieces that begin where the state is reset.
  Recurrence lstm(Tape& tape, const Parameters& parameters, int layer, const TemporalInput& input,
                  const std::vector<Var>& x, const Var& start) const {
    const auto run = [&](const std::vector<Var>& rows, std::int64_t steps, const Var& from, bool want_state) {
      return lstm_sequence(tape, rows, parameters.at(name("lstm", layer, "input_weight")),
                           parameters.at(name("lstm", layer, "hidden_weight")),
                           parameters.at(name("lstm", layer, "bias")), steps, from, want_state,
                           packed_sequences(input));
    };
    const std::int64_t n = input.rows_per_step, end = input.first_step + input.steps;
    // Packed sequences restart where the state is reset.
    if (p_.state == "carried" || input.packed != nullptr) return run(x, input.steps, start, input.want_state);
    if (p_.window == 1 && !input.want_state) return run(x, 1, nullptr, false);  // every cell is a timeline of its own
    std::vector<Var> parts;
    Var state;
    for (std::int64_t t = input.first_step; t < end;) {
      const std::int64_t next = std::min<std::int64_t>(end, t / p_.window * p_.window + p_.window);
      const Var from = t % p_.window != 0 ? start : nullptr;  // only the first piece can begin inside a window
      const Recurrence piece = run({slice_rows(tape, x.at(0), (t - input.first_step) * n, (next - t) * n)}, next - t,
                                   from, input.want_state && next == end);
      parts.push_back(piece.y);
      state = piece.state;
      t = next;
    }
    return {concat_rows(tape, parts), state};
  }

  MpnnLstmParameters p_;
  bool all_;
};

const Register<ModelTag> mpnn_lstm_registered{{
    "mpnn-lstm",
    "two graph convolutions with batch normalisation, two LSTMs along the timelines, features passed on",
    "Panagopoulos et al., Transfer graph neural networks for pandemic forecasting, AAAI'21; as in DGC, SIGMOD'23",
    mpnn_lstm_fields(),
    [](const Json& parameters) -> std::unique_ptr<Model> {
      return std::make_unique<MpnnLstm>(from_json<MpnnLstmParameters>(mpnn_lstm_fields(), parameters, "/model"));
    },
    {},
}};

const RegisterNames mpnn_lstm_elsewhere{
    "model", {{"gconvlstm", "", "nearest is mpnn-lstm"}, {"gcrn", "", "nearest is mpnn-lstm"}}};

}  // namespace
}  // namespace strobe
