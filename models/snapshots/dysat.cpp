// DySAT (Sankar et al., WSDM'20; decisions M6): a structural and a temporal attention. Structural: multi-head attention
// over in-neighbours and the vertex itself, logits LeakyReLU(left . W x_i + right . W x_j), ELU, heads side by side.
// Temporal: learned position vectors are added to a vertex's inputs, then multi-head scaled dot-product attention over
// its steps up to the present, o_t, and relu(o W + b) + o. Steps after the last trained one take its position vector,
// since their own never learn (the paper trains on all). The structural attention runs over the pattern of A + I of
// each step. A cut timeline hands over its inputs, from which keys and values are computed again (decisions E22). The
// inputs' positions are added after the projection, as rows of positions W: the same sum, without another pass. Options
// follow the public code (aravindsankar28/DySAT, layers.py) where it differs: scale=sqrt_T divides by the root of the
// number of steps, logits=weighted multiplies the structural logits by the entries of D^-1/2 (A + I) D^-1/2. Dropout
// applies to the coefficients of both attentions, to each edge (or pair of steps) and head separately. It is off by
// default (the public code has 0.1 and 0.5). The random-walk loss is not part of this model.
#include <cmath>

#include "core/names_elsewhere.hpp"
#include "core/searched_values.hpp"
#include "models/ops/ops.hpp"
#include "models/ops/ops_attention.hpp"
#include "models/snapshots/model.hpp"

namespace strobe {
namespace {

struct DysatParameters {
  int hidden = 6;
  int structural_heads = 2;
  int temporal_heads = 2;
  int positions = 512;
  std::string scale = "sqrt_d";
  std::string logits = "pattern";
  double structural_dropout = 0;
  double temporal_dropout = 0;
};

const FieldTable& dysat_fields() {
  static const FieldTable table =
      make_fields<DysatParameters>()
          .integer("hidden", &DysatParameters::hidden, "features", "width of both attentions, all heads together", 1,
                   4096)
          .searched(searched_widths)
          .integer("structural_heads", &DysatParameters::structural_heads, "",
                   "heads of the attention over neighbours; must divide hidden", 1, 4096)
          .integer("temporal_heads", &DysatParameters::temporal_heads, "",
                   "heads of the attention over time; must divide hidden", 1, 4096)
          .integer("positions", &DysatParameters::positions, "steps",
                   "steps that have a position vector; at least the steps trained on", 1, 1000000)
          .choice("scale", &DysatParameters::scale, {"sqrt_d", "sqrt_T"},
                  "temporal scores are divided by the root of a head's width, or of the number of steps")
          .choice("logits", &DysatParameters::logits, {"pattern", "weighted"},
                  "structural logits of A + I's pattern, or multiplied by the normalised entries")
          .real("structural_dropout", &DysatParameters::structural_dropout, "",
                "share of the coefficients over neighbours dropped in training", 0, 0.99)
          .real("temporal_dropout", &DysatParameters::temporal_dropout, "",
                "share of the coefficients over time dropped in training", 0, 0.99)
          .preset("paper", "defaults of the authors' code, aravindsankar28/DySAT flags.py",
                  {{"hidden", 128}, {"structural_heads", 16}, {"temporal_heads", 16}})
          .preset("small", "sizes of Strobe's tests", {{"hidden", 6}, {"structural_heads", 2}, {"temporal_heads", 2}});
  return table;
}

class Dysat final : public Model {
 public:
  explicit Dysat(const DysatParameters& parameters) : p_(parameters) {
    check_heads("structural_heads", p_.structural_heads);
    check_heads("temporal_heads", p_.temporal_heads);
  }

  Preparation preparation() const override {
    Preprocessing what;
    what.laplacian = true;
    what.precompute_first_product = false;
    what.feature_scale = "log1p";  // degrees of hundreds leave both softmaxes at one neighbour and one step
    return {what};
  }

  std::vector<LayerShape> layers(std::int64_t feature_width) const override {
    std::vector<LayerShape> shapes{{feature_width, p_.hidden, p_.hidden, true, TemporalNeed::all}};
    shapes[0].computes_read_rows = true;  // what the attention scores and sums
    return shapes;
  }

  std::vector<ParameterShape> parameters(std::int64_t feature_width) const override {
    const std::int64_t h = p_.hidden, depth = h / p_.structural_heads;
    const double vector = glorot("", depth, 1).bound;
    return {glorot("structural.weight", feature_width, h),
            {"structural.left", 1, h, vector},
            {"structural.right", 1, h, vector},
            {"temporal.positions", p_.positions, h, glorot("", h, h).bound},
            {"temporal.query_key_value", h, 3 * h, glorot("", h, h).bound},
            glorot("temporal.dense.weight", h, h),
            {"temporal.dense.bias", 1, h, 0.0}};
  }

  ModelTraits traits() const override {
    ModelTraits what;
    what.reads_entries = true;
    what.stochastic = p_.structural_dropout > 0 || p_.temporal_dropout > 0;
    what.reads_ids = what.stochastic;
    what.reads_column_ids = p_.structural_dropout > 0;
    what.step_vectors = {"position", "positions", p_.positions};
    return what;
  }

  Var spatial(Tape& tape, const Parameters& parameters, int, const SpatialInput& input) const override {
    const Var f = dense(tape, input.x, parameters.at("structural.weight"), nullptr, Activation::none);
    return graph_attention(tape, *input.a, f, parameters.at("structural.left"), parameters.at("structural.right"),
                           p_.structural_heads, p_.logits == "weighted",
                           dropout(p_.structural_dropout, *input.cells, *input.pass, input.cells->ids));
  }

  TemporalOutput temporal(Tape& tape, const Parameters& parameters, int, const TemporalInput& input) const override {
    if (input.packed != nullptr) return packed_temporal(tape, parameters, input);
    const Var all = input.state ? concat_rows(tape, {input.state, input.x}) : input.x;
    const Var& weight = parameters.at("temporal.query_key_value");
    const Var positions = positions_of(tape, parameters.at("temporal.positions"), input.first_step + input.steps,
                                       input.cells->trained_steps);
    const Var projected = dense(tape, all, weight, nullptr, Activation::none);
    const Var offsets = dense(tape, positions, weight, nullptr, Activation::none);
    Tensor ids;
    if (p_.temporal_dropout > 0) {
      const CellRows& cells = *input.cells;
      const std::int64_t row = cells.step_rows[input.first_step - cells.first_step];
      ids = cells.ids.slice_rows(row, input.rows_per_step);
    }
    const Var o =
        temporal_attention(tape, projected, offsets, input.first_step, input.steps, p_.temporal_heads,
                           score_scale(*input.cells), dropout(p_.temporal_dropout, *input.cells, *input.pass, ids));
    return {behind_attention(tape, parameters, o), input.want_state ? all : nullptr};
  }

 private:
  /// The same over sequences in bins: positions are the cells' own, added before the projection.
  TemporalOutput packed_temporal(Tape& tape, const Parameters& parameters, const TemporalInput& input) const {
    const PackedTimelines& packed = *input.packed;
    const Var positions =
        positions_of(tape, parameters.at("temporal.positions"), packed.steps->columns, input.cells->trained_steps);
    const Var x = sum_of(tape, spmm(tape, *packed.steps, positions), input.x);
    const Var projected = dense(tape, x, parameters.at("temporal.query_key_value"), nullptr, Activation::none);
    return {behind_attention(tape, parameters,
                             packed_temporal_attention(
                                 tape, projected, input.steps, p_.temporal_heads, score_scale(*input.cells),
                                 packed.past, dropout(p_.temporal_dropout, *input.cells, *input.pass, packed.ids))),
            nullptr};
  }

  /// Factor of temporal scores.
  double score_scale(const CellRows& cells) const {
    const std::int64_t width = p_.hidden / p_.temporal_heads;  // of a head
    return 1 / std::sqrt(static_cast<double>(p_.scale == "sqrt_d" ? width : cells.all_steps));
  }

  /// relu(o W + b) + o.
  static Var behind_attention(Tape& tape, const Parameters& parameters, const Var& o) {
    const Var dense_part =
        dense(tape, o, parameters.at("temporal.dense.weight"), parameters.at("temporal.dense.bias"), Activation::relu);
    return sum_of(tape, dense_part, o);
  }

  void check_heads(const char* option, int heads) const {
    if (p_.hidden % heads == 0) return;
    throw InvalidRequest(std::string("/model/") + option,
                         std::to_string(heads) + " heads do not divide hidden = " + std::to_string(p_.hidden));
  }

  /// Position vectors of the first `steps` steps. The first `trained` of them learn; the others repeat the last of
  /// these.
  static Var positions_of(Tape& tape, const Var& vectors, std::int64_t steps, std::int64_t trained) {
    if (steps <= trained) return slice_rows(tape, vectors, 0, steps);
    Var last = slice_rows(tape, vectors, trained - 1, 1);
    std::int64_t copies = 1;
    for (; copies < steps - trained; copies *= 2) last = concat_rows(tape, {last, last});
    return concat_rows(tape, {slice_rows(tape, vectors, 0, trained), slice_rows(tape, last, 0, steps - trained)});
  }

  static AttentionDropout dropout(double rate, const CellRows& cells, const Pass& pass, const Tensor& ids) {
    if (rate == 0 || !pass.training) return {};
    const auto key = static_cast<std::uint32_t>(pass.epoch) * 64;  // of layer 0
    return {rate, pass.seed, key, ids, cells.column_ids, cells.vertices};
  }

  DysatParameters p_;
};

const Register<ModelTag> dysat_registered{{
    "dysat",
    "attention over neighbours, then over each vertex's own past",
    "Sankar et al., DySAT, WSDM'20; Velickovic et al., Graph attention networks, ICLR'18; options: "
    "aravindsankar28/DySAT",
    dysat_fields(),
    [](const Json& parameters) -> std::unique_ptr<Model> {
      return std::make_unique<Dysat>(from_json<DysatParameters>(dysat_fields(), parameters, "/model"));
    },
    {},
}};

const RegisterNames dysat_elsewhere{"model", {{"gat", "", "it has no time; nearest is dysat"}}};

}  // namespace
}  // namespace strobe
