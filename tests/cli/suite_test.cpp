// Suite files: expansion, precedence, and the place that each error names.
#include "harness/request/suite.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "harness/request/json_text.hpp"

namespace strobe {
namespace {

Suite expand(const std::string& text, const std::vector<Setting>& settings = {}) {
  return expand_suite(parse_json_text(text, "suite.json"), settings);
}

/// The message of the InvalidRequest that expanding `text` throws, with its place.
std::string refusal(const std::string& text, const std::vector<Setting>& settings = {}) {
  try {
    expand(text, settings);
  } catch (const InvalidRequest& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Suites, MatrixIsACartesianProductInFileOrder) {
  const Suite suite = expand(R"({"name": "s", "defaults": {"workload": "uniform", "epochs": 3}, "cases": [
    {"strategy": "sequential"},
    {"matrix": {"strategy.name": ["snapshot", "vertex"], "ranks": [2, 4]}}]})");
  std::vector<std::string> seen;
  for (const Case& c : suite.cases) {
    seen.push_back(c.strategy.at("name").get<std::string>() + std::to_string(c.ranks));
    EXPECT_EQ(c.epochs, 3);
    EXPECT_EQ(c.model.at("name"), "tm-gcn");
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"sequential1", "snapshot2", "snapshot4", "vertex2", "vertex4"}));
}

TEST(Suites, ExcludeDropsMatchesWithDottedAndNestedKeys) {
  const Suite suite = expand(R"({"defaults": {"workload": "uniform"}, "cases": [
    {"matrix": {"strategy": ["snapshot", {"name": "vertex", "partitioner": "hash"}], "ranks": [1, 2]},
     "exclude": [{"strategy.name": "snapshot", "ranks": 1},
        {"strategy": {"partitioner": "hash"}, "ranks": 2, "device": "cpu"}]}]})");
  ASSERT_EQ(suite.cases.size(), 2u);
  EXPECT_EQ(suite.cases[0].strategy.at("name"), "snapshot");
  EXPECT_EQ(suite.cases[0].ranks, 2);
  EXPECT_EQ(suite.cases[1].strategy.at("name"), "vertex");
  EXPECT_EQ(suite.cases[1].ranks, 1);
}

TEST(Suites, SettingsBeatCasesBeatDefaults) {
  const char* text = R"({"defaults": {"workload": "uniform", "model": {"window": 3}, "epochs": 2, "seed": 7},
    "cases": [{"model": {"window": 4}, "epochs": 3}]})";
  const Suite plain = expand(text);
  EXPECT_EQ(plain.cases[0].model.at("window"), 4);
  EXPECT_EQ(plain.cases[0].epochs, 3);
  EXPECT_EQ(plain.cases[0].seed, 7);
  const Suite set = expand(text, {{"model.window", "9", "--set model.window"}, {"epochs", "1", "--epochs"}});
  EXPECT_EQ(set.cases[0].model.at("window"), 9);
  EXPECT_EQ(set.cases[0].epochs, 1);
  EXPECT_EQ(set.cases[0].seed, 7);
}

TEST(Suites, AnotherPlugInDropsParametersOfTheOneBefore) {
  const char* text = R"({"defaults": {"workload": "uniform", "strategy": {"name": "vertex", "partitioner": "hash"}},
    "cases": [{"ranks": 2}, {"ranks": 4, "strategy": "snapshot"}]})";
  const Suite suite = expand(text);
  EXPECT_EQ(suite.cases[0].strategy.at("partitioner"), "hash");
  EXPECT_EQ(suite.cases[1].strategy, (Json{{"name", "snapshot"}}));
  EXPECT_EQ(expand(text, {{"strategy", "vertex", "--strategy"}}).cases[0].strategy.at("partitioner"), "hash");
}

TEST(Suites, CasesMadeEqualBySettingsRunOnce) {
  const char* text =
      R"({"defaults": {"workload": "uniform"}, "cases": [{"strategy": "vertex", "matrix": {"ranks": [1, 2, 4]}}]})";
  const Suite suite = expand(text, {{"ranks", "3", "--ranks"}});
  EXPECT_EQ(suite.cases.size(), 1u);
  EXPECT_EQ(suite.merged, 2u);
}

TEST(Suites, SimulatedCasesGetTheirDefaults) {
  const Suite suite =
      expand(R"({"cases": [{"workload": "uniform", "device": "sim", "strategy": "vertex", "ranks": 8}]})");
  EXPECT_EQ(suite.cases[0].comm, "sim");
  EXPECT_EQ(suite.cases[0].numerics, "none");
  EXPECT_EQ(suite.cases[0].cluster, "aimos-v100");
}

TEST(Suites, ErrorsNameThePlaceThatIsToBlame) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> wrong = {
      {R"({"cases": [{"workload": "uniform", "modl": "tm-gcn"}]})", {"/cases/0/modl", "'model'"}},
      {R"({"case": []})", {"/case:", "'cases'"}},
      {R"({"cases": []})", {"/cases"}},
      {R"({"cases": [{"ranks": 1}]})", {"/cases/0/workload", "needs a workload"}},
      {R"({"cases": [{"workload": "uniform", "model": {"name": "tm-gcn", "windw": 3}}]})",
       {"/cases/0/model/windw", "'window'"}},
      {R"({"defaults": {"strategy": "snapshto"}, "cases": [{"workload": "uniform"}]})",
       {"/defaults/strategy", "'snapshot'"}},
      {R"({"cases": [{"workload": "uniform", "matrix": {"strategy.name": ["vertx"]}}]})",
       {"/cases/0/matrix/strategy.name", "'vertex'"}},
      {R"({"cases": [{"workload": "uniform", "matrix": {"rank": [1]}}]})", {"/cases/0/matrix/rank", "'ranks'"}},
      {R"({"cases": [{"workload": "uniform", "matrix": {"ranks": []}}]})", {"/cases/0/matrix/ranks", "at least one"}},
      {R"({"cases": [{"workload": "uniform", "matrix": {"ranks": 2}}]})", {"/cases/0/matrix/ranks", "list"}},
      {R"({"cases": [{"workload": "uniform", "ranks": "2"}]})", {"/cases/0/ranks", "an integer"}},
      {R"({"cases": [{"workload": "uniform", "ranks": 1.5}]})", {"/cases/0/ranks"}},
      {R"({"cases": [{"workload": "uniform", "exclude": [{}]}]})", {"/cases/0/exclude/0"}},
      {R"({"cases": [{"workload": "uniform", "exclude": [{"rank": 1}]}]})", {"/cases/0/exclude/0/rank", "'ranks'"}},
      {R"({"cases": [{"workload": "uniform", "exclude": [{"ranks": 1}]}]})", {"/cases", "excluded"}},
      {R"({"cases": [{"workload": "uniform"}, {"workload": "uniform"}]})", {"/cases/1", "/cases/0"}},
      {R"([1])", {"expected a JSON object"}},
  };
  for (const auto& [text, words] : wrong) {
    const std::string message = refusal(text);
    for (const std::string& word : words) EXPECT_NE(message.find(word), std::string::npos) << text << "\n" << message;
  }
}

TEST(Suites, DescriptionsAndCommentsAreAllowedAnywhere) {
  const Suite suite =
      expand(R"({"$schema": "x", "$comment": "c", "description": "d", "defaults": {"$comment": "c"}, "cases": [
    {"description": "d", "workload": {"name": "uniform", "$comment": "c"},
      "matrix": {"$comment": "c", "ranks": [1]}}]})");
  EXPECT_EQ(suite.cases.size(), 1u);
  EXPECT_FALSE(suite.cases[0].workload.contains("$comment"));
}

TEST(Suites, CaseIdsAreStableAndTellCasesApart) {
  const Suite suite = expand(R"({"cases": [{"workload": "uniform", "matrix": {"seed": [1, 2]}}]})");
  const std::string first = case_id(suite.cases[0]), second = case_id(suite.cases[1]);
  EXPECT_EQ(first.substr(0, first.find('#')), "uniform/tm-gcn/sequential/cpu/r1");
  EXPECT_EQ(first.size(), first.find('#') + 7);
  EXPECT_NE(first, second);
  EXPECT_EQ(case_id(case_from_json(case_to_json(suite.cases[0]), "")), first);
  EXPECT_EQ(case_to_json(case_from_json(case_to_json(suite.cases[1]), "")), case_to_json(suite.cases[1]));
}

TEST(Suites, ShippedSuitesExpand) {
  const std::string folder = std::string(STROBE_SOURCE_DIR) + "/suites/";
  EXPECT_EQ(load_suite(folder + "quickstart.json", {}).cases.size(), 25u);
  EXPECT_GE(load_suite(folder + "smoke.json", {}).cases.size(), 5u);
  EXPECT_EQ(load_suite(folder + "convergence.json", {}).cases.size(), 11u);
  EXPECT_EQ(load_suite(folder + "comparison.json", {}).cases.size(), 259u);
  EXPECT_EQ(load_suite(folder + "comparison/chess.json", {}).cases.size(), 83u);
  EXPECT_EQ(load_suite(folder + "comparison/taste.json", {}).cases.size(), 30u);
  EXPECT_EQ(load_suite(folder + "comparison/amlsim-20k.json", {}).cases.size(), 52u);
  EXPECT_EQ(load_suite(folder + "comparison/mathoverflow.json", {}).cases.size(), 27u);
  EXPECT_EQ(load_suite(folder + "comparison/overlap.json", {}).cases.size(), 20u);
  EXPECT_EQ(load_suite(folder + "comparison/updates_to_metric.json", {}).cases.size(), 201u);
  EXPECT_EQ(load_suite(folder + "comparison/full_size.json", {}).cases.size(), 728u);
  EXPECT_EQ(load_suite(folder + "comparison/large_values.json", {}).cases.size(), 32u);
  EXPECT_EQ(load_suite(folder + "comparison/tasks.json", {}).cases.size(), 37u);
  EXPECT_EQ(load_suite(folder + "esdg/virtual_convergence.json", {}).cases.size(), 2u);
  EXPECT_EQ(load_suite(folder + "dgc/divergence.json", {}).cases.size(), 204u);
  EXPECT_EQ(load_suite(folder + "disttgl/convergence.json", {}).cases.size(), 11u);
  EXPECT_EQ(load_suite(folder + "disttgl/batch_size.json", {}).cases.size(), 6u);
  EXPECT_EQ(load_suite(folder + "disttgl/distributed_memory.json", {}).cases.size(), 6u);
  EXPECT_EQ(load_suite(folder + "disttgl/edge_classification.json", {}).cases.size(), 4u);
  EXPECT_EQ(load_suite(folder + "disttgl/parallelism_grid.json", {}).cases.size(), 18u);
  EXPECT_EQ(load_suite(folder + "disttgl/static_memory.json", {}).cases.size(), 9u);
  EXPECT_EQ(load_suite(folder + "disttgl/systems.json", {}).cases.size(), 3u);
  EXPECT_EQ(load_suite(folder + "disttgl/throughput.json", {}).cases.size(), 30u);
}

TEST(Suites, TargetsOfTheComparisonAskForLearningAndPredictionsForDraws) {
  const std::string folder = std::string(STROBE_SOURCE_DIR) + "/suites/comparison";
  std::vector<std::string> files{folder + ".json"};
  for (const auto& item : std::filesystem::directory_iterator(folder)) files.push_back(item.path().string());
  std::size_t targets = 0;
  for (const std::string& file : files) {
    const Suite suite = load_suite(file, {});
    for (const Case& c : suite.cases) {
      if (c.until.empty()) continue;
      ++targets;
      EXPECT_TRUE(suite.learning_required) << file;
      EXPECT_EQ(c.draws, c.device == "sim" ? 100 : 0) << file << " " << case_id(c);
    }
  }
  EXPECT_GT(targets, 400u);
}

TEST(JsonText, DuplicateKeysAreRefusedWithTheirPointer) {
  try {
    parse_json_text(R"({"cases": [{"a": 1}, {"ranks": 1, "ranks": 2}]})", "suite.json");
    FAIL() << "a duplicate key was accepted";
  } catch (const InvalidRequest& error) {
    EXPECT_EQ(error.where(), "/cases/1/ranks");
  }
}

TEST(JsonText, SyntaxErrorsNameLineAndColumn) {
  const std::vector<std::pair<std::string, std::uint64_t>> wrong = {
      {"{\n  \"a\": 1,\n}", 3}, {"{\"a\": NaN}", 1},     {"", 1},
      {"{\"a\": 1} x", 1},      {"{\n\"a\": 1e999}", 2}, {"// c\n{}", 1}};
  for (const auto& [text, line] : wrong) {
    try {
      parse_json_text(text, "suite.json");
      FAIL() << text << " was accepted";
    } catch (const InvalidInput& error) {
      EXPECT_EQ(error.line(), line) << text << "\n" << error.what();
      EXPECT_GE(error.column(), 1u) << text;
      EXPECT_EQ(error.file(), "suite.json");
    }
  }
}

TEST(JsonText, ValuesAreKeptAsWritten) {
  const Json value = parse_json_text(R"({"b": [1, -2, 0.5, true, null, "x"], "a": {}})", "t");
  EXPECT_EQ(value.dump(), R"({"b":[1,-2,0.5,true,null,"x"],"a":{}})");
}

}  // namespace
}  // namespace strobe
