// Captured models with attention over edges, evolving weights and rows that are added: law 3, built-in models, the
// simulator, and what is refused.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "core/errors.hpp"
#include "models/snapshots/captured_graph.hpp"
#include "models/snapshots/captured_shapes.hpp"
#include "models/snapshots/captured_stages.hpp"
#include "models/snapshots/model.hpp"
#include "tests/harness/laws/captured_models.hpp"

namespace strobe {
namespace {

/// A model that tests put together.
class BuiltModel {
 public:
  explicit BuiltModel(const std::string& matrix) {
    json_ = {{"format", "strobe.captured"}, {"version", 1}, {"matrices", {matrix}}, {"features", 2}};
    for (const char* part : {"states", "weights", "operations", "next"}) json_[part] = Json::array();
  }
  std::string weight(int rows, int columns) {
    const std::string name = "w" + std::to_string(json_["weights"].size());
    json_["weights"].push_back({{"name", name}, {"rows", rows}, {"columns", columns}});
    return name;
  }
  std::string add(const std::string& kind, const std::vector<std::string>& of, const Json& more = Json::object()) {
    const std::string name = "v" + std::to_string(json_["operations"].size());
    json_["operations"].push_back(operation(name, kind, of, more));
    return name;
  }
  std::string state(const Json& described) {
    json_["states"].push_back(described);
    return described.at("name");
  }
  void next(const std::string& value) { json_["next"].push_back(value); }
  Json with_output(const std::string& value) {
    json_["output"] = value;
    return json_;
  }

 private:
  Json json_;
};

/// Layers of attention of random forms, and perhaps a state that their result is mixed into.
Json random_attention(int seed) {
  std::mt19937 draw(static_cast<unsigned>(seed));
  const auto below = [&draw](int n) { return static_cast<int>(draw() % static_cast<unsigned>(n)); };
  BuiltModel model(below(2) == 0 ? "laplacian" : "sum");
  std::string x = "x";
  int width = 2;
  const int layers = 1 + below(2), state = 4;
  if (seed % 2 == 0) model.state({{"name", "h"}, {"width", state}});
  for (int layer = 0; layer < layers; ++layer) {
    const int heads = 1 << below(3), depth = heads * (1 + below(3)), values = heads * (1 + below(2));
    const bool added = below(2) == 0;
    const std::string k = model.add("dense", {x, model.weight(width, depth)}),
                      q = below(3) == 0 ? k : model.add("dense", {x, model.weight(width, depth)});
    const bool shared = depth == values && below(2) == 0;
    const std::string v = shared ? k : model.add("dense", {x, model.weight(width, values)});
    std::vector<std::string> of{q, k, v};
    if (added && below(2) == 0) of.push_back(model.weight(1, depth));
    x = model.add(added ? "added_attention" : "attention", of,
                  {{"matrix", 0}, {"heads", heads}, {"p", added ? 0.2 : 0.7}});
    x = model.add("tanh", {model.add("add_row", {x, model.weight(1, values)})});
    width = values;
  }
  if (seed % 2 != 0) return model.with_output(x);
  const std::string mixed = model.add("dense", {x, model.weight(width, state)});
  const std::string after = model.add("tanh", {model.add("combine", {mixed, "h"}, {{"p", 1}, {"q", 0.5}})});
  model.next(after);
  return model.with_output(after);
}

TEST_F(CapturedModel, WithAttentionKeepsLaw3) {
  for (int seed = 1; seed <= 12; ++seed) {
    const Json graph = random_attention(seed);
    const Json captured = model(graph);
    const CaseResult alone = train_captured(captured, "sequential", 1, seed);
    EXPECT_NE(alone.loss.per_epoch.at(0), alone.loss.per_epoch.at(2)) << graph.dump();
    for (const auto& [strategy, ranks] : {std::pair{"snapshot", 2}, {"vertex", 3}, {"pss", 3}, {"chunk", 2}}) {
      expect_equal_losses(train_captured(captured, strategy, ranks, seed), alone, 1e-10,
                          std::string(strategy) + " seed " + std::to_string(seed) + ": " + graph.dump());
    }
    expect_equal_losses(train_captured(captured, "snapshot", 1, seed, {{"nb", "3"}}), alone, 1e-10, "in blocks");
  }
}

/// EvolveGCN-O with the matrix GRU: its two layers, whose weights have the names of the built-in model.
class EvolvingAsBuiltIn {
 public:
  Json make() {
    json_ = {{"format", "strobe.captured"}, {"version", 1}, {"matrices", {"laplacian"}}, {"features", 2}};
    for (const char* part : {"states", "weights", "operations", "next"}) json_[part] = Json::array();
    add_layer("layer1.", 2);
    add_layer("layer2.", 6);
    json_["output"] = x_;
    return json_;
  }

 private:
  void add(const std::string& name, const std::string& kind, const std::vector<std::string>& of,
           const Json& more = Json::object()) {
    std::vector<std::string> reads;
    for (const std::string& read : of) reads.push_back(read == x_ ? read : layer_ + read);
    json_["operations"].push_back(operation(layer_ + name, kind, reads, more));
  }
  void weight(const std::string& name, int rows, int columns, double bound) {
    json_["weights"].push_back({{"name", layer_ + name}, {"rows", rows}, {"columns", columns}, {"bound", bound}});
  }
  void gate(const std::string& name, int number, int f, const std::string& hidden, const std::string& curve) {
    for (const char* part : {"weight_x", "weight_h", "bias"})
      add(name + part, "rows", {std::string("evolve.") + part}, {{"first", number * f}, {"count", f}});
    add(name + "i", "dense", {name + "weight_x", "w"});
    add(name + "h", "dense", {name + "weight_h", hidden});
    add(name + "s", "combine", {name + "i", name + "h"});
    add(name + "b", "combine", {name + "s", name + "bias"});
    add(name, curve, {name + "b"});
  }
  void add_layer(const std::string& layer, int f) {
    layer_ = layer;
    const double square = std::sqrt(6.0 / (f + f)), full = std::sqrt(6.0 / (f + 6));
    weight("weight", f, 6, full);
    weight("evolve.weight_x", 3 * f, f, square);
    weight("evolve.weight_h", 3 * f, f, square);
    weight("evolve.bias", 3 * f, 6, full);
    json_["states"].push_back({{"name", layer + "w"}, {"start", layer + "weight"}});
    gate("u", 0, f, "w", "sigmoid");
    gate("r", 1, f, "w", "sigmoid");
    add("rw", "multiply", {"r", "w"});
    gate("n", 2, f, "rw", "tanh");
    add("un", "multiply", {"u", "n"});
    add("open", "affine", {"u"}, {{"p", -1}, {"q", 1}});
    add("kept", "multiply", {"open", "w"});
    add("next", "combine", {"un", "kept"});
    add("ax", "product", {x_}, {{"matrix", 0}});
    add("y", "dense", {"ax", "next"}, {{"activation", "relu"}});
    json_["next"].push_back(layer + "next");
    x_ = layer + "y";
  }

  Json json_;
  std::string layer_, x_ = "x";
};

TEST_F(CapturedModel, OfEvolveGcnTrainsAsEvolveGcn) {
  const Json captured = model(EvolvingAsBuiltIn().make());
  const Json built_in{{"name", "evolve-gcn-o"}, {"cell", "gru"}, {"edge_life", 1}};
  for (const auto& [strategy, ranks] : {std::pair{"sequential", 1}, {"snapshot", 2}, {"vertex", 3}, {"chunk", 2}})
    expect_equal_losses(train_captured(captured, strategy, ranks), train_captured(built_in, strategy, ranks), 1e-12,
                        strategy);
}

/// Two states of weights of different widths in the first layer, a bias, a second layer, and a state of vertices.
Json random_evolution(int seed) {
  BuiltModel model(seed % 2 == 0 ? "laplacian" : "mean");
  const int h = 3 + seed % 3;
  const std::string start = model.weight(2, h), mix_start = model.weight(2, 2), second_start = model.weight(h, 4);
  const std::string w = model.state({{"name", "w"}, {"start", start}}),
                    mix = model.state({{"name", "mix"}, {"start", mix_start}}),
                    second = model.state({{"name", "second"}, {"start", second_start}}),
                    s = model.state({{"name", "s"}, {"width", 4}});
  const std::string w_next = model.add("tanh", {model.add("dense", {mix, w})});
  model.next(w_next);
  model.next(model.add("combine", {model.add("sigmoid", {mix}), mix}, {{"p", 0.3}, {"q", 0.9}}));
  const std::string second_next = model.add("combine", {second, model.weight(h, 4)}, {{"p", 0.8}, {"q", 0.3}});
  model.next(second_next);
  const std::string read = seed % 3 == 0 ? w : w_next;  // the weights before or after the step
  const std::string y = model.add("dense", {model.add("product", {"x"}, {{"matrix", 0}}), read, model.weight(1, h)},
                                  {{"activation", "relu"}});
  const std::string z = model.add("dense", {model.add("product", {y}, {{"matrix", 0}}), second_next});
  const std::string after = model.add("tanh", {model.add("combine", {z, s}, {{"q", 0.5}})});
  model.next(after);
  return model.with_output(after);
}

/// A layer that reads two evolving weights. One of them evolves by tanh.
Json two_evolving_weights(int seed) {
  BuiltModel model(seed % 2 == 0 ? "laplacian" : "mean");
  const int h = 2 + seed;
  const std::string start = model.weight(2, h), other_start = model.weight(2, h), change = model.weight(2, 2);
  const std::string w = model.state({{"name", "w"}, {"start", start}}),
                    v = model.state({{"name", "v"}, {"start", other_start}});
  const std::string w_next = model.add("tanh", {model.add("dense", {change, w})});
  model.next(w_next);
  const std::string v_next = model.add("combine", {v, w}, {{"p", 0.7}, {"q", 0.4}});
  model.next(v_next);
  const std::string read = model.add("product", {"x"}, {{"matrix", 0}});
  const std::string left = model.add("dense", {read, w_next}, {{"activation", "relu"}});
  const std::string right = model.add("sigmoid", {model.add("dense", {read, seed % 3 == 0 ? v : v_next})});
  return model.with_output(model.add("combine", {left, right}, {{"p", 0.6}, {"q", 0.9}}));
}

TEST_F(CapturedModel, WithEvolvingWeightsKeepsLaw3) {
  for (int seed = 1; seed <= 6; ++seed) {
    const Json captured = model(random_evolution(seed));
    const CaseResult alone = train_captured(captured, "sequential", 1, seed);
    EXPECT_NE(alone.loss.per_epoch.at(0), alone.loss.per_epoch.at(2));
    for (const auto& [strategy, ranks] : {std::pair{"snapshot", 2}, {"vertex", 3}, {"pss", 3}, {"chunk", 2}})
      expect_equal_losses(train_captured(captured, strategy, ranks, seed), alone, 1e-10,
                          std::string(strategy) + " seed " + std::to_string(seed));
    for (const char* strategy : {"snapshot", "vertex"})
      expect_equal_losses(train_captured(captured, strategy, 2, seed, {{"nb", "3"}}), alone, 1e-10,
                          std::string(strategy) + " in blocks, seed " + std::to_string(seed));
  }
}

double flops_of(const CaseResult& result, std::string_view operation) {
  double sum = 0;
  for (const EpochSample& sample : result.samples) {
    for (const OperationTotals& totals : sample.operations) sum += totals.name == operation ? totals.flops : 0.0;
  }
  return sum;
}

/// Chunks that are walked one by one load rows of their own. Only the evolution has operations tanh here.
TEST_F(CapturedModel, IsWalkedChunkByChunkAndItsWeightsEvolveOnce) {
  const auto walked = [](const std::string& fusion) {
    return Json{{"strategy", {{"name", "chunk"}, {"max_cells", "12"}, {"fusion", fusion}}}};
  };
  std::vector<Json> graphs{random_attention(1), random_attention(3), EvolvingAsBuiltIn().make()};
  for (int seed = 1; seed <= 4; ++seed) graphs.push_back(two_evolving_weights(seed));
  for (const Json& graph : graphs) {
    const Json captured = model(graph);
    const CaseResult alone = train_captured(captured, "sequential", 1);
    for (const int ranks : {1, 3}) {
      Json in_blocks = walked("none");
      in_blocks["nb"] = 3;
      expect_equal_losses(train_captured(captured, "chunk", ranks, 1, in_blocks), alone, 1e-10, graph.dump());
      const CaseResult units = train_captured(captured, "chunk", ranks, 1, walked("none"));
      const CaseResult whole = train_captured(captured, "chunk", ranks, 1, walked("both"));
      expect_equal_losses(units, alone, 1e-10, graph.dump());
      if (graph["states"].empty()) continue;
      EXPECT_GT(flops_of(whole, "tanh"), 0);
      EXPECT_EQ(flops_of(units, "tanh"), flops_of(whole, "tanh")) << ranks;
    }
  }
}

/// A run fails where it sends other bytes than its plan says. With numerics, a simulated run also computes.
TEST_F(CapturedModel, WithNewKindsRunsInTheSimulator) {
  for (const Json& graph : {random_attention(2), random_attention(3), random_evolution(1)}) {
    const Json captured = model(graph);
    for (const auto& [strategy, ranks] : {std::pair{"snapshot", 2}, {"vertex", 3}}) {
      train_captured(captured, strategy, ranks, 1, {{"device", "sim"}});
      expect_equal_losses(train_captured(captured, strategy, ranks, 1, {{"device", "sim"}, {"numerics", "cpu"}}),
                          train_captured(captured, strategy, ranks), 1e-10, graph.dump());
    }
  }
}

void expect_refused(const Json& model, const std::string& words) {
  try {
    ModelRegistry::instance().find("captured").value(model);
    ADD_FAILURE() << "accepted; expected: " << words;
  } catch (const InvalidInput& error) {
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  }
}

TEST_F(CapturedModel, RefusesWhatNoStageComputes) {
  BuiltModel late("laplacian");
  late.state({{"name", "h"}, {"width", 2}});
  const std::string attended = late.add("attention", {"h", "x", "x"}, {{"matrix", 0}});
  late.next(attended);
  expect_refused(model(late.with_output(attended)), "operation 1, an attention that reads a state");

  Json other = random_attention(5);
  other["matrices"].push_back("mean");
  other["operations"].push_back(
      operation("again", "attention", {other["output"], other["output"], other["output"]}, {{"matrix", 1}}));
  other["output"] = "again";
  expect_refused(model(other), "or another matrix than the attention before it");

  for (const std::string kind : {"multiply", "add_row"}) {
    BuiltModel wrong("laplacian");
    const std::string start = wrong.weight(1, 2);
    wrong.state({{"name", "w"}, {"start", start}});
    wrong.next("w");
    expect_refused(model(wrong.with_output(wrong.add(kind, {"x", "w"}))), "reads an evolving weight other than");
  }
}

TEST(CapturedFiles, OfNewKindsAreRefusedWhereTheyAreMalformed) {
  const auto refused = [&](const Json& good, const std::string& what, const std::function<void(Json&)>& change) {
    EXPECT_NO_THROW(captured_shapes(read_captured_graph(good.dump(), "file"), 2, "file"));
    Json bad = good;
    change(bad);
    EXPECT_THROW(captured_shapes(read_captured_graph(bad.dump(), "file"), 2, "file"), InvalidInput) << what;
  };
  BuiltModel built("sum");
  const std::string q = built.add("dense", {"x", built.weight(2, 4)}), w = built.weight(1, 4);
  const Json attention = built.with_output(built.add("added_attention", {q, q, "x", w}, {{"matrix", 0}, {"heads", 2}}));
  refused(attention, "heads that do not divide", [](Json& json) { json["operations"][1]["heads"] = 3; });
  refused(attention, "no heads", [](Json& json) { json["operations"][1]["heads"] = 0; });
  refused(attention, "values narrower than heads", [](Json& json) { json["operations"][1]["heads"] = 4; });
  refused(attention, "a matrix that is not there", [](Json& json) { json["operations"][1]["matrix"] = 1; });
  refused(attention, "keys of another width", [](Json& json) { json["operations"][1]["of"][1] = "x"; });
  refused(attention, "values that are weights", [](Json& json) { json["operations"][1]["of"][2] = "w0"; });
  refused(attention, "a weight of products", [](Json& json) { json["operations"][1]["kind"] = "attention"; });
  const Json evolution = random_evolution(1);
  refused(evolution, "a start that is no weight", [](Json& json) { json["states"][0]["start"] = "x"; });
  refused(evolution, "a start that is not there", [](Json& json) { json["states"][0]["start"] = "nowhere"; });
  refused(evolution, "a width and a start", [](Json& json) { json["states"][0]["width"] = 3; });
  refused(evolution, "another shape after the step", [](Json& json) { json["next"][0] = json["next"][1]; });
}

}  // namespace
}  // namespace strobe
