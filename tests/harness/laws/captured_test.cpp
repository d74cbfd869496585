// Captured models: the files of built-in models train as those do, random models keep law 3, and malformed files are
// refused by name.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "core/errors.hpp"
#include "harness/files/checkpoint.hpp"
#include "harness/files/model_files.hpp"
#include "harness/request/suite.hpp"
#include "models/snapshots/captured_graph.hpp"
#include "models/snapshots/captured_shapes.hpp"
#include "models/snapshots/captured_stages.hpp"
#include "models/snapshots/model.hpp"
#include "tests/harness/laws/captured_models.hpp"

namespace strobe {
namespace {

/// A GRU whose gates read `terms_of` the features and the state.
Json joint_gru(const std::string& matrix, int terms, const std::string& prefix,
               const std::function<Json(const std::string& of, const std::string& to)>& terms_of) {
  Json json{{"format", "strobe.captured"}, {"version", 1}, {"matrices", {matrix}}, {"output", "next"}};
  json["features"] = 2;
  json["states"] = Json::array({{{"name", "h"}, {"width", 6}}});
  json["next"] = {"next"};
  const int rows = terms * (2 + 6);
  json["weights"] = Json::array({{{"name", prefix + "gate.weight"}, {"rows", rows}, {"columns", 12}},
                                 {{"name", prefix + "gate.bias"}, {"rows", 1}, {"columns", 12}, {"bound", 0}},
                                 {{"name", prefix + "candidate.weight"}, {"rows", rows}, {"columns", 6}},
                                 {{"name", prefix + "candidate.bias"}, {"rows", 1}, {"columns", 6}, {"bound", 0}}});
  Json& all = json["operations"] = Json::array();
  const auto append = [&](const Json& more) { all.insert(all.end(), more.begin(), more.end()); };
  append(terms_of("x", "tx"));
  append(terms_of("h", "th"));
  append({operation("tc", "concat", {"tx", "th"}),
          operation("o", "dense", {"tc", prefix + "gate.weight", prefix + "gate.bias"}),
          operation("g", "sigmoid", {"o"}), operation("r", "columns", {"g"}, {{"first", 0}, {"count", 6}}),
          operation("u", "columns", {"g"}, {{"first", 6}, {"count", 6}}), operation("rh", "multiply", {"r", "h"})});
  append(terms_of("rh", "trh"));
  append({operation("tr", "concat", {"tx", "trh"}),
          operation("n", "dense", {"tr", prefix + "candidate.weight", prefix + "candidate.bias"}),
          operation("c", "tanh", {"n"}), operation("uh", "multiply", {"u", "h"}),
          operation("w", "affine", {"u"}, {{"p", -1}, {"q", 1}}), operation("wc", "multiply", {"w", "c"}),
          operation("next", "combine", {"uh", "wc"})});
  return json;
}

TEST_F(CapturedModel, OfTGcnTrainsAsTGcn) {
  const Json captured = model(joint_gru("laplacian", 1, "", [](const std::string& of, const std::string& to) {
    return Json::array({operation(to, "product", {of}, {{"matrix", 0}})});
  }));
  const Json built_in{{"name", "t-gcn"}, {"conv", "xh"}, {"gate_bias", 0}};
  for (const auto& [strategy, ranks] : {std::pair{"sequential", 1}, {"snapshot", 2}, {"vertex", 3}})
    expect_equal_losses(train_captured(captured, strategy, ranks), train_captured(built_in, strategy, ranks), 1e-12,
                        strategy);
}

TEST_F(CapturedModel, OfDcrnnTrainsAsDcrnn) {
  const Json captured = model(joint_gru("mean", 2, "layer1.", [](const std::string& of, const std::string& to) {
    return Json::array(
        {operation("a" + to, "product", {of}, {{"matrix", 0}}), operation(to, "concat", {of, "a" + to})});
  }));
  const Json built_in{{"name", "dcrnn"}, {"directions", "in"}, {"hops", 1}};
  for (const auto& [strategy, ranks] : {std::pair{"sequential", 1}, {"snapshot", 3}, {"vertex", 2}})
    expect_equal_losses(train_captured(captured, strategy, ranks), train_captured(built_in, strategy, ranks), 1e-12,
                        strategy);
}

/// A random model of `width`: values are made of earlier ones, and bounded by a tanh where sums could grow.
class RandomModel {
 public:
  explicit RandomModel(int seed) : draw_(static_cast<unsigned>(seed)) {}

  Json make() {
    json_ = {{"format", "strobe.captured"}, {"version", 1}, {"matrices", {"laplacian", "mean", "out_mean"}}};
    for (const char* part : {"states", "weights", "operations", "next"}) json_[part] = Json::array();
    const int states = below(3);
    for (int s = 0; s < states; ++s) {
      values_.push_back("h" + std::to_string(s));
      json_["states"].push_back({{"name", values_.back()}, {"width", width}});
    }
    const std::string from = below(2) == 0 ? add("product", {"x"}, {{"matrix", 0}}) : "x";
    bounded(add("dense", {from, weight("features", width), weight(1, width)}));
    const std::string of_features = values_.back();  // read by all that the model returns, so that it always learns
    for (int i = 0; i < 10; ++i) step();
    for (int s = 0; s < states; ++s)
      json_["next"].push_back(add("tanh", {add("combine", {any(), of_features}, {{"p", 0.7}, {"q", -0.4}})}));
    json_["output"] = add("combine", {values_.back(), of_features}, {{"p", 1}, {"q", 0.5}});
    return json_;
  }

 private:
  static constexpr int width = 4;
  int below(int n) { return static_cast<int>(draw_() % static_cast<unsigned>(n)); }
  std::string any() { return values_[static_cast<std::size_t>(below(static_cast<int>(values_.size())))]; }
  std::string weight(const Json& rows, int columns) {
    const std::string name = "w" + std::to_string(json_["weights"].size());
    json_["weights"].push_back({{"name", name}, {"rows", rows}, {"columns", columns}});
    return name;
  }
  std::string add(const std::string& kind, const std::vector<std::string>& of, const Json& more = Json::object()) {
    const std::string name = "v" + std::to_string(json_["operations"].size());
    json_["operations"].push_back(operation(name, kind, of, more));
    return name;
  }
  void bounded(const std::string& value) { values_.push_back(add("tanh", {value})); }

  void step() {
    switch (below(8)) {
      case 0:
      case 1:
        return values_.push_back(add("product", {any()}, {{"matrix", below(3)}}));
      case 2:
        return bounded(add("dense", {any(), weight(width, width)}, {{"activation", below(2) == 0 ? "relu" : "none"}}));
      case 3:
        return values_.push_back(add("multiply", {any(), any()}));
      case 4:
        return bounded(add("combine", {any(), any()}, {{"p", 1.5}, {"q", -0.5}}));
      case 5:
        return values_.push_back(add(below(2) == 0 ? "elu" : "leaky_relu", {any()}, {{"p", 0.5}}));
      case 6: {
        const std::string both = add("concat", {any(), any()});
        return values_.push_back(add("columns", {both}, {{"first", 2}, {"count", width}}));
      }
      default:
        return bounded(add("layer_norm", {any(), weight(1, width), weight(1, width)}));
    }
  }

  std::mt19937 draw_;
  Json json_;
  std::vector<std::string> values_;
};

TEST_F(CapturedModel, RandomOnesKeepLaw3) {
  int stepwise = 0, spatial = 0;
  for (int seed = 1; seed <= 40; ++seed) {
    const Json graph = RandomModel(seed).make();
    const CapturedStages cut = captured_stages(read_captured_graph(graph.dump(), "random"));
    (cut.stages.back().steps ? stepwise : spatial) += 1;
    const Json captured = model(graph);
    const CaseResult alone = train_captured(captured, "sequential", 1, seed);
    EXPECT_NE(alone.loss.per_epoch.at(0), alone.loss.per_epoch.at(2)) << graph.dump();
    for (const auto& [strategy, ranks] : {std::pair{"snapshot", 2}, {"vertex", 3}, {"pss", 3}, {"chunk", 2}}) {
      expect_equal_losses(train_captured(captured, strategy, ranks, seed), alone, 1e-10,
                          std::string(strategy) + " seed " + std::to_string(seed) + ": " + graph.dump());
    }
  }
  EXPECT_GT(stepwise, 2);
  EXPECT_GT(spatial, 0);
}

TEST_F(CapturedModel, StartsFromTheWeightsOfItsFile) {
  const Json graph = joint_gru("laplacian", 1, "", [](const std::string& of, const std::string& to) {
    return Json::array({operation(to, "product", {of}, {{"matrix", 0}})});
  });
  const double seeded = train_captured(model(graph), "sequential", 1).loss.per_epoch.at(0);
  std::vector<SavedMatrix> weights;
  for (const Json& weight : graph.at("weights")) {
    const std::int64_t rows = weight.at("rows"), columns = weight.at("columns");
    weights.push_back({weight.at("name"), rows, columns, std::vector<double>(rows * columns, 0.25)});
  }
  write_safetensors((folder_ / "weights.safetensors").string(), weights, true);
  const double of_file = train_captured(model(graph), "vertex", 2).loss.per_epoch.at(0);
  EXPECT_GT(std::abs(of_file - seeded), 1e-6);
  EXPECT_NEAR(train_captured(model(graph), "snapshot", 3).loss.per_epoch.at(0) / of_file, 1, 1e-12);
  weights.back().columns = 3;
  weights.back().values.resize(3);
  write_safetensors((folder_ / "weights.safetensors").string(), weights, true);
  EXPECT_THROW(ModelRegistry::instance().find("captured").value(model(graph)), InvalidInput);
}

TEST(CapturedFiles, AreRefusedWhereTheyAreMalformed) {
  const Json good = Json::parse(captured_example());
  const auto refused = [&](const std::string& what, const std::function<void(Json&)>& change) {
    Json bad = good;
    change(bad);
    EXPECT_THROW(captured_shapes(read_captured_graph(bad.dump(), "file"), 2, "file"), InvalidInput) << what;
  };
  EXPECT_NO_THROW(captured_shapes(read_captured_graph(good.dump(), "file"), 2, "file"));
  refused("another format", [](Json& json) { json["format"] = "onnx"; });
  refused("a later version", [](Json& json) { json["version"] = 2; });
  refused("no operations", [](Json& json) { json.erase("operations"); });
  refused("an unknown kind", [](Json& json) { json["operations"][0]["kind"] = "softmax"; });
  refused("an unknown value", [](Json& json) { json["operations"][0]["of"] = {"y"}; });
  refused("a value before it exists", [](Json& json) { json["operations"][0]["of"] = {"next"}; });
  refused("a name twice", [](Json& json) { json["operations"][1]["name"] = "ax"; });
  refused("too many values", [](Json& json) { json["operations"][4]["of"] = {"opening", "opening"}; });
  refused("an unknown matrix", [](Json& json) { json["matrices"] = {"identity"}; });
  refused("a matrix that is not listed", [](Json& json) { json["operations"][0]["matrix"] = 1; });
  refused("columns outside", [](Json& json) { json["operations"][5]["first"] = 7; });
  refused("columns far outside", [](Json& json) { json["operations"][5]["first"] = INT64_MAX; });
  refused("a weight of another size", [](Json& json) { json["weights"][2]["rows"] = 11; });
  refused("a size below one", [](Json& json) { json["weights"][2]["columns"] = 0; });
  refused("no state after the step", [](Json& json) { json["next"] = Json::array(); });
  refused("a state of another width", [](Json& json) { json["next"] = {"gates"}; });
  refused("an output of weights", [](Json& json) { json["output"] = "conv.weight"; });
  refused("an unknown activation", [](Json& json) { json["operations"][1]["activation"] = "tanh"; });
  refused("a misspelt key", [](Json& json) { json["operations"][12]["P"] = -1; });
  refused("a misspelt key of a weight", [](Json& json) { json["weights"][0]["bounds"] = 1; });
  refused("a fraction of a column", [](Json& json) { json["operations"][5]["count"] = 6.5; });
  refused("a fraction as a matrix", [](Json& json) { json["operations"][0]["matrix"] = 0.5; });
  refused("a matrix beyond 32 bits", [](Json& json) { json["operations"][0]["matrix"] = std::int64_t{1} << 32; });
  refused("a truth value as a factor", [](Json& json) { json["operations"][12]["p"] = true; });
  refused("more columns than are allowed", [](Json& json) {
    for (int i = 0; i < 20; ++i) {
      const std::string read = i == 0 ? "x" : "wide" + std::to_string(i - 1);
      json["operations"].push_back({{"name", "wide" + std::to_string(i)}, {"kind", "concat"}, {"of", {read, read}}});
    }
  });
  refused("a text in place of a list", [](Json& json) { json["operations"] = "ax"; });
}

TEST_F(CapturedModel, WithAWeightOfTheTasksNameIsRefused) {
  std::string text = Json::parse(captured_example()).dump();
  for (std::size_t at; (at = text.find("conv.bias")) != std::string::npos;) text.replace(at, 9, "head.bias");
  try {
    train_captured(model(Json::parse(text)), "sequential", 1);
    FAIL() << "a weight of the task was replaced";
  } catch (const InvalidRequest& error) {
    EXPECT_EQ(error.where(), "/model");
    EXPECT_NE(error.message().find("'head.bias'"), std::string::npos) << error.message();
  }
}

TEST_F(CapturedModel, WithAWeightThatIsNotFiniteIsRefusedByName) {
  CapturedGraph graph = read_captured_graph(captured_example(), "file");
  std::vector<SavedMatrix> weights;
  for (const CapturedWeight& weight : graph.weights) {
    const std::int64_t rows = weight.rows == 0 ? 2 : weight.rows;
    weights.push_back(
        {weight.name, rows, weight.columns, std::vector<double>(static_cast<std::size_t>(rows * weight.columns), 0.5)});
  }
  graph.features = 2;
  EXPECT_NO_THROW(set_captured_weights(graph, weights, "file"));
  weights[3].values[1] = std::nan("");
  try {
    set_captured_weights(graph, weights, "file");
    FAIL() << "a weight is no number";
  } catch (const InvalidInput& error) {
    EXPECT_NE(std::string(error.what()).find("'gates.bias'"), std::string::npos) << error.what();
  }
}

/// Both products are A x, which layer 0 is given in place of x.
TEST_F(CapturedModel, JoinsOneVariableUnderTwoNames) {
  const auto with = [](const Json& operations, const Json& joined) {
    Json graph = {{"format", "strobe.captured"},
                  {"version", 1},
                  {"features", 2},
                  {"matrices", {"laplacian"}},
                  {"weights", {{{"name", "w"}, {"rows", 4}, {"columns", 3}}}},
                  {"operations", operations},
                  {"output", "y"}};
    graph["operations"].push_back({{"name", "xx"}, {"kind", "concat"}, {"of", joined}});
    graph["operations"].push_back({{"name", "y"}, {"kind", "dense"}, {"of", {"xx", "w"}}});
    return graph;
  };
  const Json a = {{"name", "a"}, {"kind", "product"}, {"of", {"x"}}, {"matrix", 0}};
  const Json b = {{"name", "b"}, {"kind", "product"}, {"of", {"x"}}, {"matrix", 0}};
  const CaseResult twice = train_captured(model(with({a, b}, {"a", "b"})), "sequential", 1);
  const CaseResult once = train_captured(model(with(Json::array({a}), {"a", "a"})), "sequential", 1);
  EXPECT_EQ(twice.loss.per_epoch, once.loss.per_epoch);
}

/// Processes and continued runs compare these digests, so that no rank trains with another file.
TEST_F(CapturedModel, FilesChangeTheDigests) {
  Json graph = Json::parse(captured_example());
  const Case c = case_from_json({{"workload", {{"name", "uniform"}}}, {"model", model(graph)}}, "");
  const std::string key = (folder_ / "model.json").string();
  const Json before = data_digests({c}), checkpoint = digests_of_data(c);
  EXPECT_TRUE(before.contains(key)) << before;
  EXPECT_TRUE(checkpoint.contains(key)) << checkpoint;
  EXPECT_EQ(data_digests({c}), before);
  graph["operations"][12]["q"] = 2;
  model(graph);
  EXPECT_NE(data_digests({c})[key], before[key]);
  EXPECT_NE(digests_of_data(c), checkpoint);
}

TEST_F(CapturedModel, OfOtherFeaturesOrPathsAreRefused) {
  const auto make = [](const Json& json) { return ModelRegistry::instance().find("captured").value(json); };
  EXPECT_THROW(make({{"path", (folder_ / "nowhere").string()}}), InvalidRequest);
  Json graph = Json::parse(captured_example());
  graph["features"] = 5;
  const auto fixed = make(model(graph));
  EXPECT_EQ(fixed->layers(5).back().temporal_width, 6);
  EXPECT_THROW(fixed->layers(4), InvalidRequest);
}

}  // namespace
}  // namespace strobe
