// JODIE on the pieces of TGN: memory by a recurrent layer from the most recent mail, embedded by a projection through
// the time since; no neighbours (docs/reference/event_models.md).
#include <nlohmann/json.hpp>

#include "core/names_elsewhere.hpp"
#include "core/searched_values.hpp"
#include "models/events/pieces.hpp"
#include "models/ops/ops.hpp"
#include "models/ops/ops_attention.hpp"
#include "models/ops/ops_block.hpp"
#include "models/ops/ops_memory.hpp"
#include "models/snapshots/model.hpp"

namespace strobe {
namespace {

struct JodieParameters {
  std::int64_t memory = 100;
  std::int64_t time = 100;
  std::string time_encoding = "trained";
  std::string loss = "cross_entropy";
  std::string mail_dt = "mail_minus_memory";
};

const FieldTable& jodie_fields() {
  using P = JodieParameters;
  static const FieldTable table =
      make_fields<P>()
          .integer("memory", &P::memory, "", "width of a vertex's memory, and of embeddings", 1, 1 << 16)
          .searched(searched_widths)
          .integer("time", &P::time, "", "width of time encodings", 1, 1 << 16)
          .choice("time_encoding", &P::time_encoding, {"trained", "fixed"}, time_encoding_help)
          .choice("loss", &P::loss, {"cross_entropy", "bce"},
                  "softmax over a link's candidates (DistTGL), or binary cross-entropy of each (TGN, TGL)")
          .choice("mail_dt", &P::mail_dt, {"mail_minus_memory", "event_minus_memory"},
                  "time that a mail's encoding holds: from the memory's update to the mail, or to the time of the "
                  "query (TGL)")
          .preset("paper", "memory: default of the authors' code, claws-lab/jodie; time encoding: TGL, VLDB'22",
                  {{"memory", 128}, {"time", 100}})
          .preset("tgl", "TGL, VLDB'22", {{"memory", 100}, {"time", 100}});
  return table;
}

class Jodie final : public EventModel {
 public:
  explicit Jodie(const JodieParameters& parameters) : p_(parameters) {}

  EventModelTraits traits() const override {
    EventModelTraits traits;
    traits.memory = traits.embedding = p_.memory;
    traits.levels = 0;
    traits.mail_dt_of_asker = p_.mail_dt == "event_minus_memory";
    traits.binary_loss = p_.loss == "bce";
    traits.fixed_time_encoding = p_.time_encoding == "fixed";
    return traits;
  }

  std::vector<ParameterShape> parameters(const EventWidths& widths) const override {
    std::vector<ParameterShape> shapes = time_encoder("memory", p_.time);
    shapes.push_back(linear("memory.weight_x", 2 * p_.memory + p_.time + widths.edge, p_.memory, p_.memory));
    shapes.push_back(linear("memory.weight_h", p_.memory, p_.memory));
    shapes.push_back(linear_bias("memory.bias", p_.memory, p_.memory));
    for (ParameterShape& shape : feature_layer(widths, p_.memory)) shapes.push_back(std::move(shape));
    shapes.push_back(linear_bias("projection.slope", p_.memory, p_.memory));
    shapes.push_back({"projection.shift", 1, p_.memory});
    return shapes;
  }

  Var update(Tape& tape, const Parameters& parameters, const MailInput& input) const override {
    std::vector<Var> mail = {Tape::constant(input.mail),
                             encode_time(tape, parameters, "memory", input.dt, p_.time_encoding == "fixed")};
    if (input.edge.defined()) mail.push_back(Tape::constant(input.edge));
    const Var from_mail = joined_dense(tape, mail, parameters.at("memory.weight_x"), parameters.at("memory.bias"));
    const Var from_state =
        dense(tape, Tape::constant(input.memory), parameters.at("memory.weight_h"), nullptr, Activation::none);
    return tanh_of(tape, sum_of(tape, from_mail, from_state));
  }

  Var embed(Tape& tape, const Parameters& parameters, const EmbedInput& input) const override {
    const Var h = vertex_input(tape, parameters, input, p_.memory);
    const Var roots = gather_rows(tape, h, {input.root_rows}, input.root_rows.rows());
    return time_projection(tape, roots, input.root_dt, parameters.at("projection.slope"),
                           parameters.at("projection.shift"));
  }

 private:
  JodieParameters p_;
};

const Register<ModelTag> jodie_listed{{
    "jodie",
    "memory of every vertex by a recurrent layer, projected through the time since",
    "Kumar et al., Predicting dynamic embedding trajectory in temporal interaction networks, KDD'19; as in TGL",
    jodie_fields(),
    ModelTag::Value("events"),
    {},
}};

const Register<EventModelTag> jodie_registered{{
    "jodie",
    "memory and projection",
    "Kumar et al., KDD'19",
    jodie_fields(),
    [](const Json& parameters) -> std::unique_ptr<EventModel> {
      return std::make_unique<Jodie>(from_json<JodieParameters>(jodie_fields(), parameters, "/model"));
    },
    {},
}};

const RegisterNames jodie_elsewhere{"model", {{"dyrep", "", "nearest are jodie and tgn-attn"}}};

}  // namespace
}  // namespace strobe
