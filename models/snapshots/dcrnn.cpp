// DCRNN (Li et al., ICLR'18; decisions M5): a GRU whose gates read a diffusion convolution of [x_t, h_{t-1}]. The
// convolution sums K hops of a random walk along the edges and K against them, and the vertex itself once: D(z) = [z |
// S z | S^2 z | ... ] over S = D_O^-1 W and D_I^-1 W^T, times one weight matrix. The gates are r, u = sigmoid(D([x, h])
// W_g + b_g), c = tanh(D([x, r h]) W_c + b_c), h' = u h + (1 - u) c. The state is carried over all steps. `hops=0`
// reads no neighbours. `terms=chebyshev` takes z_k = 2 S z_{k-1} - z_{k-2}, each walk from z on; `directions` keeps one
// of the two walks. The authors' code (liyaguang/DCRNN, dcrnn_cell.py) differs from the paper in two more ways. Its
// second walk begins with z_{K-1} of the first walk instead of z (`terms=carried`). And it multiplies with the
// transposes of D_O^-1 W and D_I^-1 W^T (`supports=transposed`). `state=none` is DynaHB's example, which hands no state
// from step to step: h_{t-1} = 0 everywhere. A step then computes u, c and h' = (1 - u) c from its own features, and
// the weights' rows of the state get no gradient. A step reads the states of neighbours, so steps run one by one and
// every hop of a state is a separate product. Features are constants: their hops are made once, before training, and
// stored next to them.
#include "core/names_elsewhere.hpp"
#include "core/searched_values.hpp"
#include "models/ops/ops.hpp"
#include "models/ops/ops_block.hpp"
#include "models/ops/ops_gate.hpp"
#include "models/snapshots/model.hpp"

namespace strobe {
namespace {

struct DcrnnParameters {
  int hidden = 6;
  int layers = 1;
  int hops = 2;
  std::string directions = "both";
  std::string terms = "powers";
  std::string supports = "walks";
  std::string state = "carried";
  double gate_bias = 0;
  bool precompute = true;
};

const FieldTable& dcrnn_fields() {
  static const FieldTable table =
      make_fields<DcrnnParameters>()
          .integer("hidden", &DcrnnParameters::hidden, "features", "width of the state", 1, 4096)
          .searched(searched_widths)
          .integer("layers", &DcrnnParameters::layers, "", "recurrent layers, one above the other", 1, 8)
          .integer("hops", &DcrnnParameters::hops, "", "steps of each random walk, K", 0, 16)
          .choice("directions", &DcrnnParameters::directions, {"both", "out", "in"},
                  "walks along edges, against, or both")
          .choice(
              "terms", &DcrnnParameters::terms, {"powers", "chebyshev", "carried"},
              "S^k z, or 2 S z_(k-1) - z_(k-2); carried = the latter, the second walk beginning with z_(K-1) of the "
              "first, as the authors' code")
          .choice("supports", &DcrnnParameters::supports, {"walks", "transposed"},
                  "S = D^-1 W, or its transpose as in the authors' code")
          .choice("state", &DcrnnParameters::state, {"carried", "none"},
                  "whether a step reads the state of the one before; DynaHB's example has none")
          .real("gate_bias", &DcrnnParameters::gate_bias, "",
                "where the biases of r and u start; 1 in the authors' code")
          .boolean("precompute", &DcrnnParameters::precompute, "make the hops of the features once, before training")
          .preset("paper", "the authors' code, liyaguang/DCRNN dcrnn_la.yaml",
                  {{"hidden", 64}, {"layers", 2}, {"hops", 2}})
          .preset("small", "sizes of Strobe's tests", {{"hidden", 6}, {"layers", 1}, {"hops", 2}});
  return table;
}

class Dcrnn final : public Model {
 public:
  explicit Dcrnn(const DcrnnParameters& parameters) : p_(parameters) {}

  Preparation preparation() const override {
    Preparation what;
    what.inputs.laplacian = false;
    what.inputs.precompute_first_product = false;
    if (p_.precompute) what.inputs.feature_terms = {walk_names(), p_.hops, p_.terms};
    if (p_.precompute && p_.layers == 1 && !carried()) return what;  // nothing is left to multiply
    for (const std::string& walk : walk_names()) {
      what.supports.push_back({.laplacian = false, .walk = walk, .precompute_first_product = false});
    }
    return what;
  }

  std::vector<LayerShape> layers(std::int64_t feature_width) const override {
    std::vector<LayerShape> shapes;
    for (int l = 0; l < p_.layers; ++l) {
      const std::int64_t columns = p_.precompute ? terms() * feature_width : feature_width;
      const std::int64_t inputs = l == 0 ? columns : p_.hidden;
      const TemporalNeed need = carried() ? TemporalNeed::recurrent : TemporalNeed::none;
      shapes.push_back({inputs, inputs, p_.hidden, false, need, 0, true});
      shapes.back().recurrent_state = {1, p_.hidden};
      shapes.back().products = products(l, feature_width);
    }
    return shapes;
  }

  std::vector<ParameterShape> parameters(std::int64_t feature_width) const override {
    std::vector<ParameterShape> shapes;
    for (int l = 0; l < p_.layers; ++l) {
      const std::int64_t rows = terms() * ((l == 0 ? feature_width : p_.hidden) + p_.hidden);
      shapes.push_back(glorot(name(l, "gate.weight"), rows, 2 * p_.hidden));
      shapes.push_back({name(l, "gate.bias"), 1, 2 * p_.hidden, 0});
      shapes.back().centre = p_.gate_bias;
      shapes.push_back(glorot(name(l, "candidate.weight"), rows, p_.hidden));
      shapes.push_back({name(l, "candidate.bias"), 1, p_.hidden, 0});
    }
    return shapes;
  }

  Var spatial(Tape&, const Parameters&, int, const SpatialInput& input) const override { return input.x; }

  /// Weight rows: the terms of x in order (z, then the hops of each walk), then those of the state.
  TemporalOutput step(Tape& tape, const Parameters& parameters, int layer, const StepInput& input) const override {
    const Var state = carried() ? input.state : zeros(tape, input.x);
    const std::vector<Var> of_x =
        layer == 0 && p_.precompute ? std::vector<Var>{input.x} : diffuse(tape, *input.neighbours, input.x);
    const Var opening =
        joined_dense(tape, beside(of_x, of_state(tape, *input.neighbours, state)),
                     parameters.at(name(layer, "gate.weight")), parameters.at(name(layer, "gate.bias")));
    const GruGateVars gates = gru_gates(tape, opening, state);
    const Var reset = carried() ? gates.reset : state;
    const Var candidate =
        joined_dense(tape, beside(of_x, of_state(tape, *input.neighbours, reset)),
                     parameters.at(name(layer, "candidate.weight")), parameters.at(name(layer, "candidate.bias")));
    const Var next = blend_state(tape, gates.update, state, candidate);
    return {next, carried() ? next : nullptr};
  }

 private:
  /// All products of one step of a layer.
  std::vector<StepProduct> products(int layer, std::int64_t feature_width) const {
    // Walks run side by side, unless the second begins with the result of the last but one hop of the first. The gates'
    // and the features' walks do not wait for each other. The candidate's walks begin with the state after the reset
    // gate.
    const int second = walks() == 2 && p_.terms == "carried" ? p_.hops - 1 : 0;
    std::vector<StepProduct> all;
    const auto add = [&](std::int64_t width, int first_stage) {
      for (int support = 0; support < walks(); ++support) {
        for (int hop = 0; hop < p_.hops; ++hop)
          all.push_back({support, width, first_stage + hop + (support == 1 ? second : 0)});
      }
    };
    if (layer > 0 || !p_.precompute) add(layer == 0 ? feature_width : p_.hidden, 0);
    if (carried()) add(p_.hidden, 0), add(p_.hidden, p_.hops + second);
    return all;
  }

  static std::string name(int layer, const std::string& what) {
    return "layer" + std::to_string(layer + 1) + "." + what;
  }
  bool carried() const { return p_.state == "carried"; }
  int walks() const { return p_.directions == "both" ? 2 : 1; }
  std::vector<std::string> walk_names() const {
    std::vector<std::string> names;
    for (const std::string walk : {"out", "in"}) {
      if (p_.directions == "both" || p_.directions == walk)
        names.push_back(p_.supports == "transposed" ? walk + "_transposed" : walk);
    }
    return names;
  }
  std::int64_t terms() const { return 1 + std::int64_t{walks()} * p_.hops; }

  /// z and its hops, [rows, F] each: those of the first walk, then those of the second.
  std::vector<Var> diffuse(Tape& tape, const Neighbours& neighbours, const Var& z) const {
    if (walks() == 2 && p_.terms != "carried") return diffuse_both(tape, neighbours, z);
    std::vector<Var> parts = {z};
    Var start = z;
    for (int support = 0; support < walks(); ++support) {
      Var last = start, before;
      for (int hop = 1; hop <= p_.hops; ++hop) {
        const Var next = term(tape, neighbours.product(tape, support, last), before);
        before = last;
        parts.push_back(last = next);
      }
      if (p_.terms == "carried" && before) start = before;
    }
    return parts;
  }

  /// The same hop by hop: neither walk waits for the other.
  std::vector<Var> diffuse_both(Tape& tape, const Neighbours& neighbours, const Var& z) const {
    std::array<SupportProduct, 2> last = {{{0, z}, {1, z}}};
    std::array<Var, 2> before;
    std::array<std::vector<Var>, 2> hops;
    for (int hop = 1; hop <= p_.hops; ++hop) {
      const std::vector<Var> products = neighbours.products(tape, last);
      for (std::size_t walk = 0; walk < 2; ++walk) {
        const Var next = term(tape, products[walk], before[walk]);
        before[walk] = last[walk].x;
        hops[walk].push_back(last[walk].x = next);
      }
    }
    return beside(beside({z}, hops[0]), hops[1]);
  }

  /// A hop's term from the product with the term before it and from the one before that, which the first hop lacks.
  Var term(Tape& tape, const Var& product, const Var& before) const {
    return p_.terms == "powers" || !before ? product : combine(tape, product, 2.0, before, -1.0);
  }

  /// The terms of a state; without a state they are zeros that are never multiplied.
  std::vector<Var> of_state(Tape& tape, const Neighbours& neighbours, const Var& state) const {
    if (carried()) return diffuse(tape, neighbours, state);
    return std::vector<Var>(terms(), state);
  }

  Var zeros(Tape& tape, const Var& x) const {
    const Tensor zero = tape.device().allocate(x->value.rows(), p_.hidden);
    tape.device().run(Fill{zero, 0.0});
    return Tape::constant(zero);
  }

  static std::vector<Var> beside(std::vector<Var> left, const std::vector<Var>& right) {
    left.insert(left.end(), right.begin(), right.end());
    return left;
  }

  DcrnnParameters p_;
};

const Register<ModelTag> dcrnn_registered{{
    "dcrnn",
    "a GRU whose gates read random walks of several hops over features and states, in both directions",
    "Li et al., Diffusion convolutional recurrent neural network, ICLR'18; as in DynaHB, VLDB'24",
    dcrnn_fields(),
    [](const Json& parameters) -> std::unique_ptr<Model> {
      return std::make_unique<Dcrnn>(from_json<DcrnnParameters>(dcrnn_fields(), parameters, "/model"));
    },
    {},
}};

const RegisterNames dcrnn_elsewhere{"model", {{"dcgru", "dcrnn", "the cell of DCRNN"}}};

}  // namespace
}  // namespace strobe
