// TGN with attention, as DistTGL trains it: memory by a GRU from the most recent mail of the global batch, reversed
// order against the information leak, one level of temporal attention (docs/reference/event_models.md). Where the paper
// and the released code differ the paper's reading is the default, and the other one an option.
#include <nlohmann/json.hpp>

#include "core/names_elsewhere.hpp"
#include "core/searched_values.hpp"
#include "models/events/event_parts.hpp"
#include "models/events/pieces.hpp"
#include "models/ops/ops.hpp"
#include "models/ops/ops_block.hpp"
#include "models/ops/ops_memory.hpp"
#include "models/snapshots/model.hpp"

namespace strobe {
namespace {

struct TgnParameters {
  std::int64_t memory = 100;
  std::int64_t time = 100;
  std::string time_encoding = "trained";
  std::int64_t neighbours = 10;
  std::int64_t heads = 2;
  std::int64_t embedding = 0;
  std::string attention = "neighbours";
  std::string loss = "cross_entropy";
  std::string mail_dt = "mail_minus_memory";
  std::string key_dt = "memory";
  std::string output = "plain";
  std::string sampling = "recent";
  std::string intra_batch_history = "sampler";
  double dropout = 0;
  std::string static_memory = "none";
  std::int64_t static_epochs = 10;
  double static_rate = 1e-3;
  std::string path;
};

FieldTableBuilder<TgnParameters> tgn_sizes() {
  using P = TgnParameters;
  return make_fields<P>()
      .integer("memory", &P::memory, "", "width of a vertex's memory", 1, 1 << 16)
      .searched(searched_widths)
      .integer("time", &P::time, "", "width of time encodings", 1, 1 << 16)
      .choice("time_encoding", &P::time_encoding, {"trained", "fixed"}, time_encoding_help)
      .integer("neighbours", &P::neighbours, "", "neighbours that a root looks at", 1, 1 << 12)
      .integer("heads", &P::heads, "", "heads of the attention; must divide the embedding", 1, 1 << 10)
      .integer("embedding", &P::embedding, "", "width of embeddings; 0 = that of memory", 0, 1 << 16);
}

const FieldTable& tgn_fields() {
  using P = TgnParameters;
  static const FieldTable table =
      tgn_sizes()
          .choice("attention", &P::attention, {"neighbours", "head", "leaky"},
                  "scale of scores: 1/sqrt(neighbours found), DistTGL's equation 7; 1/sqrt(width of a head), TGN; none "
                  "but LeakyReLU, the released code")
          .choice("loss", &P::loss, {"cross_entropy", "bce"},
                  "softmax over a link's candidates (DistTGL), or binary cross-entropy of each (TGN, TGL)")
          .choice("mail_dt", &P::mail_dt, {"mail_minus_memory", "event_minus_memory"},
                  "time that a mail's encoding holds: from the memory's update to the mail, or to the time of the "
                  "query (TGL)")
          .choice("key_dt", &P::key_dt, {"memory", "edge"},
                  "time that a key's encoding holds: since the neighbour's memory was updated (DistTGL), or since the "
                  "event (TGN, TGL)")
          .choice("output", &P::output, {"plain", "merge"},
                  "the attention's sum (equation 7), or merged with the root's own input and normalised (TGL)")
          .choice("sampling", &P::sampling, {"recent", "uniform", "tgl_compat"},
                  "which earlier events are neighbours: the most recent; a uniform draw; or like TGL's released "
                  "sampler, which skips some (docs/reference/event_models.md)")
          .choice("intra_batch_history", &P::intra_batch_history, {"sampler", "none"},
                  "whether earlier events of the same batch are neighbours")
          .real("dropout", &P::dropout, "", "share of coefficients and merged inputs dropped in training", 0, 0.999)
          .searched(searched_dropouts)
          .choice("static", &P::static_memory, {"none", "pretrained", "table"},
                  "vector of each vertex that no event changes: none; trained beforehand (DistTGL); a trained table")
          .integer("static_epochs", &P::static_epochs, "", "epochs of the training beforehand", 1, 1 << 20)
          .real("static_rate", &P::static_rate, "", "its learning rate", 0, 1e3)
          .text("path", &P::path, "folder with captured parts, used in place of the model's own; empty = none")
          .preset("paper", "DistTGL, SC'23, section 4: memory and neighbours; the other sizes are TGL's",
                  {{"memory", 100}, {"time", 100}, {"neighbours", 10}, {"heads", 2}})
          .preset("tgn", "defaults of the authors' code, twitter-research/tgn",
                  {{"memory", 172}, {"time", 100}, {"neighbours", 10}, {"heads", 2}, {"embedding", 100}});
  return table;
}

class TgnAttention final : public EventModel {
 public:
  explicit TgnAttention(const TgnParameters& parameters)
      : p_(parameters), parts_(read_event_parts(p_.path, p_.memory, p_.time)) {
    if (parts_.embedding)
      refuse_options_of_attention();
    else
      check_heads(p_.embedding > 0 ? "embedding" : "memory", width(), p_.heads);
    if (p_.static_memory == "pretrained") check_heads("memory", p_.memory, p_.heads);
  }

  EventModelTraits traits() const override {
    EventModelTraits traits;
    traits.memory = p_.memory;
    traits.embedding = width();
    traits.neighbours = p_.neighbours;
    traits.sampling = sampling_of(p_.sampling);
    traits.sees_own_batch = p_.intra_batch_history == "sampler";
    traits.mail_dt_of_asker = p_.mail_dt == "event_minus_memory";
    traits.key_dt_of_memory = p_.key_dt == "memory";
    traits.binary_loss = p_.loss == "bce";
    traits.stochastic = p_.dropout > 0;
    traits.lists_slots = parts_.embedding.has_value();
    traits.static_memory = static_memory();
    traits.fixed_time_encoding = p_.time_encoding == "fixed";
    return traits;
  }

  std::vector<ParameterShape> parameters(const EventWidths& widths) const override {
    if (!p_.path.empty() && parts_.edge_features != widths.edge)
      throw InvalidRequest("/model/path", "the parts read " + std::to_string(parts_.edge_features) +
                                              " features of an event, and an event of the workload has " +
                                              std::to_string(widths.edge));
    std::vector<ParameterShape> shapes = time_encoder("memory", p_.time);
    if (parts_.message) add_weights(*parts_.message, shapes);
    if (parts_.updater)
      add_weights(*parts_.updater, shapes);
    else
      add_gru(parts_.message ? parts_.message->output_width() : 2 * p_.memory + p_.time + widths.edge, shapes);
    for (ParameterShape& shape : feature_layer(widths, p_.memory, static_memory())) shapes.push_back(std::move(shape));
    if (parts_.embedding) {
      for (ParameterShape& shape : time_encoder("attention", p_.time)) shapes.push_back(std::move(shape));
      add_weights(*parts_.embedding, shapes);
    } else {
      for (ParameterShape& shape : layer().parameters(widths.edge)) shapes.push_back(std::move(shape));
    }
    start_from(parts_, shapes);
    return shapes;
  }

  Var update(Tape& tape, const Parameters& parameters, const MailInput& input) const override {
    const std::vector<Var> message = messages(tape, parameters, input);
    const Var state = Tape::constant(input.memory);
    if (parts_.updater) {
      const auto read = [&](const std::string& name) {
        return name == "memory" ? state : message.size() == 1 ? message.front() : concat_columns(tape, message);
      };
      return run_part(tape, parameters, *parts_.updater, read);
    }
    const Var gi = joined_dense(tape, message, parameters.at("memory.weight_x"), parameters.at("memory.bias_x"));
    const Var gh =
        dense(tape, state, parameters.at("memory.weight_h"), parameters.at("memory.bias_h"), Activation::none);
    return gru_cell(tape, gi, gh, state);
  }

  Var embed(Tape& tape, const Parameters& parameters, const EmbedInput& input) const override {
    const Var h = vertex_input(tape, parameters, input, p_.memory, static_memory());
    if (parts_.embedding) return embed_by_part(tape, parameters, h, input.levels.front());
    return layer().embed(tape, parameters, h, input.levels.front(), input.pass);
  }

 private:
  /// The GRU's weights for messages of `width` columns. PyTorch starts all of them by the width of the state.
  void add_gru(std::int64_t width, std::vector<ParameterShape>& shapes) const {
    for (const auto& [name, rows] : {std::pair{"memory.weight_x", width},
                                     {"memory.weight_h", p_.memory},
                                     {"memory.bias_x", std::int64_t{1}},
                                     {"memory.bias_h", std::int64_t{1}}})
      shapes.push_back(linear(name, rows, 3 * p_.memory, p_.memory));
  }

  /// The message of each mail, as parts side by side.
  std::vector<Var> messages(Tape& tape, const Parameters& parameters, const MailInput& input) const {
    const Var mail = Tape::constant(input.mail);
    if (parts_.message) {
      const auto read = [&](const std::string& name) {
        if (name == "time_encoding") return encode_time(tape, parameters, "memory", input.dt, fixed_time());
        if (name == "edge_features") return Tape::constant(input.edge);
        return slice_columns(tape, mail, name == "memory" ? 0 : p_.memory, p_.memory);
      };
      return {run_part(tape, parameters, *parts_.message, read)};
    }
    std::vector<Var> parts = {mail, encode_time(tape, parameters, "memory", input.dt, fixed_time())};
    if (input.edge.defined()) parts.push_back(Tape::constant(input.edge));
    return parts;
  }

  Var embed_by_part(Tape& tape, const Parameters& parameters, const Var& h, const NeighbourLevel& level) const {
    const auto read = [&](const std::string& name) {
      if (name == "memory") return gather_rows(tape, h, {level.root_rows}, level.roots);
      if (name == "neighbours") return gather_rows(tape, h, {level.slots.rows}, level.slots.rows.rows());
      if (name == "edge_features") return Tape::constant(level.edge);
      if (name == "neighbour_times") return encode_time(tape, parameters, "attention", level.dt, fixed_time());
      const Tensor none = tape.device().allocate(level.roots, 1);
      tape.device().run(Fill{none, 0.0});
      return encode_time(tape, parameters, "attention", none, fixed_time());
    };
    return run_embedding(tape, parameters, *parts_.embedding, read, level);
  }

  /// Throws InvalidRequest for options that say how the model's own attention works.
  void refuse_options_of_attention() const {
    for (const auto& [option, set] : {std::pair{"embedding", p_.embedding != 0},
                                      {"dropout", p_.dropout > 0},
                                      {"output", p_.output != "plain"},
                                      {"attention", p_.attention != TgnParameters().attention}}) {
      if (set)
        throw InvalidRequest(std::string("/model/") + option,
                             "the embedding comes from '" + parts_.source + "'; leave " + option + " out");
    }
  }

  bool fixed_time() const { return p_.time_encoding == "fixed"; }

  std::int64_t width() const {
    if (parts_.embedding) return parts_.embedding->output_width();
    return p_.embedding > 0 ? p_.embedding : p_.memory;
  }

  StaticMemoryRequest static_memory() const {
    StaticMemoryRequest request;
    request.kind = static_memory_kind(p_.static_memory);
    request.width = p_.memory;
    request.epochs = p_.static_epochs, request.rate = p_.static_rate;
    request.neighbours = p_.neighbours, request.heads = p_.heads;
    request.scale = attention_scale(p_.attention);
    request.merges = p_.output == "merge";
    return request;
  }

  AttentionLayer layer() const {
    AttentionLayer layer;
    layer.prefix = "attention";
    layer.merge = p_.output == "merge" ? "merge" : "";
    layer.input = p_.memory, layer.time = p_.time, layer.output = width(), layer.heads = p_.heads;
    layer.scale = attention_scale(p_.attention);
    layer.dropout = p_.dropout;
    layer.fixed_time = fixed_time();
    return layer;
  }

  TgnParameters p_;
  EventParts parts_;
};

const Register<ModelTag> tgn_listed{{
    "tgn-attn",
    "memory of every vertex by a GRU from its mails, attention over recent neighbours",
    "Rossi et al., Temporal graph networks, 2020; Zhou et al., DistTGL, SC'23, equations 1 to 8",
    tgn_fields(),
    ModelTag::Value("events"),
    {},
}};

const Register<EventModelTag> tgn_registered{{
    "tgn-attn",
    "memory and attention",
    "Zhou et al., DistTGL, SC'23",
    tgn_fields(),
    [](const Json& parameters) -> std::unique_ptr<EventModel> {
      return std::make_unique<TgnAttention>(from_json<TgnParameters>(tgn_fields(), parameters, "/model"));
    },
    {},
}};

const RegisterNames tgn_attn_elsewhere{
    "model",
    {{"tgn", "tgn-attn", "TGN with attention over neighbours; its other forms are not here"},
     {"apan", "", "nearest is tgn-attn"}}};

}  // namespace
}  // namespace strobe
