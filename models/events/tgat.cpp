// TGAT: no memory; two levels of attention over neighbours of neighbours, each at the moment of the event that makes it
// one (docs/reference/event_models.md).
#include <nlohmann/json.hpp>

#include "core/names_elsewhere.hpp"
#include "core/searched_values.hpp"
#include "models/events/pieces.hpp"
#include "models/snapshots/model.hpp"

namespace strobe {
namespace {

struct TgatParameters {
  std::int64_t hidden = 100;
  std::int64_t time = 100;
  std::string time_encoding = "trained";
  std::int64_t neighbours = 10;
  std::int64_t heads = 2;
  std::string attention = "head";
  std::string loss = "bce";
  std::string sampling = "recent";
  std::string intra_batch_history = "sampler";
  double dropout = 0;
};

const FieldTable& tgat_fields() {
  using P = TgatParameters;
  static const FieldTable table =
      make_fields<P>()
          .integer("hidden", &P::hidden, "", "width of embeddings, and of vertices' inputs", 1, 1 << 16)
          .searched(searched_widths)
          .integer("time", &P::time, "", "width of time encodings", 1, 1 << 16)
          .choice("time_encoding", &P::time_encoding, {"trained", "fixed"}, time_encoding_help)
          .integer("neighbours", &P::neighbours, "", "neighbours that a root looks at, on each level", 1, 1 << 12)
          .integer("heads", &P::heads, "", "heads of the attention; must divide the width", 1, 1 << 10)
          .choice("attention", &P::attention, {"neighbours", "head", "leaky"},
                  "scale of scores: 1/sqrt(neighbours found), 1/sqrt(width of a head), or none but LeakyReLU")
          .choice("loss", &P::loss, {"cross_entropy", "bce"},
                  "softmax over a link's candidates, or binary cross-entropy of each (TGAT)")
          .choice("sampling", &P::sampling, {"recent", "uniform", "tgl_compat"},
                  "which earlier events are neighbours: the most recent; a uniform draw; or like TGL's released "
                  "sampler, which skips some (docs/reference/event_models.md)")
          .choice("intra_batch_history", &P::intra_batch_history, {"sampler", "none"},
                  "whether earlier events of the same batch are neighbours")
          .real("dropout", &P::dropout, "", "share of coefficients, and of merged inputs, dropped in training", 0,
                0.999)
          .searched(searched_dropouts)
          .preset("paper", "defaults of the authors' code, StatsXu/TGAT learn_edge.py",
                  {{"hidden", 100}, {"time", 100}, {"neighbours", 20}, {"heads", 2}})
          .preset("tgl", "TGL, VLDB'22", {{"hidden", 100}, {"time", 100}, {"neighbours", 10}, {"heads", 2}});
  return table;
}

class Tgat final : public EventModel {
 public:
  explicit Tgat(const TgatParameters& parameters) : p_(parameters) { check_heads("hidden", p_.hidden, p_.heads); }

  EventModelTraits traits() const override {
    EventModelTraits traits;
    traits.embedding = p_.hidden;
    traits.levels = 2;
    traits.neighbours = p_.neighbours;
    traits.sampling = sampling_of(p_.sampling);
    traits.sees_own_batch = p_.intra_batch_history == "sampler";
    traits.key_dt_of_memory = false;
    traits.binary_loss = p_.loss == "bce";
    traits.stochastic = p_.dropout > 0;
    traits.fixed_time_encoding = p_.time_encoding == "fixed";
    return traits;
  }

  std::vector<ParameterShape> parameters(const EventWidths& widths) const override {
    std::vector<ParameterShape> shapes = feature_layer(widths, p_.hidden);
    for (const int level : {1, 2}) {
      for (ParameterShape& shape : layer(level).parameters(widths.edge)) shapes.push_back(std::move(shape));
    }
    return shapes;
  }

  Var embed(Tape& tape, const Parameters& parameters, const EmbedInput& input) const override {
    Var h = vertex_input(tape, parameters, input, p_.hidden);
    for (const int level : {1, 2}) h = layer(level).embed(tape, parameters, h, input.levels[level - 1], input.pass);
    return h;
  }

 private:
  AttentionLayer layer(int level) const {
    AttentionLayer layer;
    layer.prefix = layer.merge = "layer" + std::to_string(level);
    layer.input = layer.output = p_.hidden, layer.time = p_.time, layer.heads = p_.heads;
    layer.scale = attention_scale(p_.attention);
    layer.dropout = p_.dropout;
    layer.fixed_time = p_.time_encoding == "fixed";
    layer.level = static_cast<std::uint32_t>(level);
    return layer;
  }

  TgatParameters p_;
};

const Register<ModelTag> tgat_listed{{
    "tgat",
    "two levels of attention over neighbours in time, no memory",
    "Xu et al., Inductive representation learning on temporal graphs, ICLR'20",
    tgat_fields(),
    ModelTag::Value("events"),
    {},
}};

const Register<EventModelTag> tgat_registered{{
    "tgat",
    "two levels of attention",
    "Xu et al., ICLR'20",
    tgat_fields(),
    [](const Json& parameters) -> std::unique_ptr<EventModel> {
      return std::make_unique<Tgat>(from_json<TgatParameters>(tgat_fields(), parameters, "/model"));
    },
    {},
}};

const RegisterNames tgat_elsewhere{"model",
                                   {{"graphmixer", "", "nearest is tgat, which has no memory either"},
                                    {"dygformer", "", "nearest is tgat"},
                                    {"cawn", "", "nearest is tgat"},
                                    {"tcl", "", "nearest is tgat"}}};

}  // namespace
}  // namespace strobe
