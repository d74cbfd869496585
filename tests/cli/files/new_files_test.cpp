// `strobe shape new` and `strobe cluster new`, and files whose mistakes are all named at once.
#include <nlohmann/json.hpp>
#include <random>

#include "tests/cli/program.hpp"

namespace strobe::cli_test {
namespace {

class NewFiles : public Program {
 protected:
  Outcome new_shape(std::vector<std::string> more) {
    std::vector<std::string> words = {"shape", "new", "--out", "my.json"};
    words.insert(words.end(), more.begin(), more.end());
    return strobe(words);
  }
  Outcome new_cluster(std::vector<std::string> more) {
    std::vector<std::string> words = {"cluster", "new", "--from", "p4d-a100", "--out", "my-lab.json"};
    words.insert(words.end(), more.begin(), more.end());
    return strobe(words);
  }
  /// Every one of the places is named on standard error.
  void expect_all_named(const Outcome& outcome, const std::vector<std::string>& places) {
    EXPECT_EQ(outcome.status, 2);
    for (const std::string& place : places)
      EXPECT_NE(outcome.err.find(place), std::string::npos) << place << outcome.err;
  }
};

TEST_F(NewFiles, AShapeFromThreeNumbersCanBePlanned) {
  const Outcome made = new_shape(
      {"--vertices", "5M", "--steps", "100", "--edges", "100M", "--smoothing", "m_product:edges=300M,window=5"});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_NE(made.out.find("my.json: 5,000,000 vertices, 100 steps, 100,000,000 edges"), std::string::npos) << made.out;
  EXPECT_NE(made.out.find("next: strobe plan --workload my.json"), std::string::npos);
  const Json shape = read_json(folder_ / "my.json");
  EXPECT_EQ(shape.at("vertices"), 5000000);
  EXPECT_EQ(shape.at("feature_width"), 2);
  EXPECT_EQ(shape.at("smoothed")[0].at("edges"), 300000000);
  EXPECT_EQ(shape.at("sources").at("*"), "given on the command line");
  const Outcome plan = strobe({"plan", "--workload", "my.json", "--clusters", "p4d-a100", "--gpus", "8", "--strategy",
                               "snapshot", "--vary", "nb=1", "--json"});
  ASSERT_EQ(plan.status, 0) << plan.err;
  EXPECT_GT(Json::parse(plan.out).at("points")[0].at("epoch_seconds").get<double>(), 0);
}

TEST_F(NewFiles, WithoutAFileAShapeIsPrinted) {
  const Outcome made = strobe({"shape", "new", "--vertices", "10", "--steps", "3", "--edges", "12"});
  EXPECT_EQ(Json::parse(made.out).at("edges"), 12);
}

TEST_F(NewFiles, NumbersThatNoGraphHasAreRefusedAndWriteNothing) {
  const std::vector<std::string> sizes = {"--vertices", "100", "--steps", "4", "--edges", "200"};
  const auto refused = [&](std::vector<std::string> more, const std::vector<std::string>& words) {
    expect_refusal(new_shape(std::move(more)), 2, words);
    EXPECT_FALSE(std::filesystem::exists(path("my.json")));
  };
  refused({"--vertices", "5T", "--steps", "1.5", "--edges", "x"}, {"--vertices", "--steps", "--edges", "3 mistakes"});
  refused({}, {"--vertices", "--steps", "--edges"});
  refused({"--vertices", "10", "--steps", "4", "--edges", "401"}, {"--edges", "more than 4 steps of 10 vertices"});
  refused({"--vertices", "10", "--steps", "2M", "--edges", "1"}, {"--steps", "more than a million"});
  for (const auto& [text, word] : {std::pair{"mproduct:edges=300", "m_product"},
                                   {"m_product", "edges"},
                                   {"m_product:edges=100", "at least the 200"},
                                   {"m_product:edges=900,window=2", "most 2"},
                                   {"m_product:edges=300,with=1", "'with'"}}) {
    std::vector<std::string> words = sizes;
    words.insert(words.end(), {"--smoothing", text});
    refused(words, {"--smoothing", word});
  }
  expect_refusal(strobe({"shape", "old"}), 2, {"unknown action 'old'", "new"});
}

TEST_F(NewFiles, AClusterFromAnotherRunsAndSaysWhereItsNumbersComeFrom) {
  const Outcome made = new_cluster(
      {"--set", "nodes=16", "--set", "inter_node_bytes_per_second=100e9", "--set", "price_per_node_hour=12.5eur"});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_NE(made.out.find("my-lab.json: 16 nodes x 8 A100"), std::string::npos) << made.out;
  EXPECT_NE(made.out.find("next: strobe plan --workload W --clusters my-lab.json"), std::string::npos) << made.out;
  const Json cluster = read_json(folder_ / "my-lab.json");
  EXPECT_EQ(cluster.at("name"), "my-lab");
  EXPECT_EQ(cluster.at("nodes").at("source"), "given on the command line, instead of 4 of p4d-a100");
  EXPECT_EQ(cluster.at("price_per_node_hour").at("currency"), "EUR");
  EXPECT_EQ(cluster.at("covered_ranks").at("value"), 32) << "its sources are those of p4d-a100";
  EXPECT_FALSE(cluster.contains("epoch_band_90"));
  const Outcome plan =
      strobe({"plan", "--workload", "uniform:steps=8,vertices=400,density=3", "--clusters", "my-lab.json", "--gpus",
              "128", "--strategy", "vertex:partitioner=hash", "--vary", "nb=1", "--json"});
  ASSERT_EQ(plan.status, 0) << plan.err;
  EXPECT_EQ(Json::parse(plan.out).at("currency"), "EUR");
}

TEST_F(NewFiles, AnUnchangedCopyPredictsTheSame) {
  ASSERT_EQ(new_cluster({}).status, 0);
  std::vector<double> epochs;
  for (const char* cluster : {"p4d-a100", "my-lab.json"}) {
    const Outcome plan = strobe({"plan", "--workload", tiny, "--clusters", cluster, "--gpus", "16", "--strategy",
                                 "vertex:partitioner=hash", "--vary", "nb=1", "--json"});
    epochs.push_back(Json::parse(plan.out).at("points")[0].at("epoch_seconds"));
  }
  EXPECT_EQ(epochs[0], epochs[1]);
}

TEST_F(NewFiles, WrongClustersAreRefused) {
  const auto refused = [&](const std::vector<std::string>& more, const std::vector<std::string>& words) {
    expect_refusal(new_cluster(more), 2, words);
    EXPECT_FALSE(std::filesystem::exists(path("my-lab.json")));
  };
  refused({"--set", "nodez=3"}, {"--set", "nodes"});
  refused({"--set", "nodes=0"}, {"--set", "above 0"});
  refused({"--set", "nodes=3", "--set", "nodes=4"}, {"nodes", "given twice"});
  refused({"--set", "gpu.memory_bytes=lots"}, {"expected a number"});
  refused({"--set", "price_per_node_hour=12zzz"}, {"zzz"});
  expect_refusal(strobe({"cluster", "new", "--from", "p4d-a10", "--out", "a.json"}), 2, {"--from", "p4d-a100"});
  expect_refusal(strobe({"cluster", "new", "--from", "p4d-a100", "--out", "a.txt"}), 2, {"--out", ".json"});
  expect_refusal(
      strobe({"cluster", "new", "--from", "aimos-v100", "--out", "a.json", "--set", "price_per_node_hour=5"}), 2,
      {"name a currency"});
}

TEST_F(NewFiles, EveryMistakeOfAShapeFileIsNamed) {
  ASSERT_EQ(new_shape({"--vertices", "10", "--steps", "3", "--edges", "12"}).status, 0);
  const Json good = read_json(folder_ / "my.json");
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    std::mt19937_64 random(seed);
    Json wrong = good;
    std::vector<std::string> places;
    for (const char* key : {"vertices", "steps", "feature_width", "edge_lives", "events", "description"}) {
      const std::uint64_t kind = random() % 3;
      if (kind == 0) continue;
      if (kind == 1) wrong.erase(key);
      if (kind == 2) wrong[key] = true;
      places.push_back(std::string("#/") + key);
    }
    wrong["surprise"] = 1;
    places.emplace_back("#/surprise");
    write_text(folder_ / "wrong.json", wrong.dump());
    expect_all_named(strobe({"plan", "--workload", "wrong.json", "--clusters", "p4d-a100", "--gpus", "8"}), places);
  }
}

TEST_F(NewFiles, EveryMistakeOfAClusterFileIsNamed) {
  ASSERT_EQ(new_cluster({}).status, 0);
  Json wrong = read_json(folder_ / "my-lab.json");
  wrong.erase("description");
  wrong["nodes"]["value"] = -1;
  wrong["gpu"]["speed"] = 3;
  wrong["gpu"].erase("launch_seconds");
  wrong["gpu"]["memory_bytes_per_second"].erase("source");
  wrong["price_per_node_hour"]["currency"] = "XXQ";
  write_text(folder_ / "wrong.json", wrong.dump());
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"plan", "--workload", tiny, "--clusters", "wrong.json"},
        {"run", "--workload", tiny, "--device", "sim", "--cluster", "wrong.json"}}) {
    const Outcome outcome = strobe(words);
    expect_all_named(outcome, {"/description", "/nodes/value", "/gpu/speed", "/gpu/launch_seconds",
                               "/gpu/memory_bytes_per_second/source", "/price_per_node_hour/currency", "6 mistakes"});
  }
}

TEST_F(NewFiles, EveryMistakeOfASuiteIsNamed) {
  write_text(folder_ / "wrong.json", R"({"nam": "x", "defaults": {"workload": "chess"}, "cases": [
    {"model": {"name": "dysat", "hiden": 3, "structural_heads": "many"}, "epochs": "ten"},
    {"strategi": "vertex", "rank": 2},
    {"model": {"name": "dysat", "preset": "huge"}, "seed": -1}]})");
  expect_all_named(strobe({"run", "wrong.json"}),
                   {"wrong.json#/nam", "#/cases/0/model/hiden", "#/cases/0/model/structural_heads", "#/cases/0/epochs",
                    "#/cases/1/strategi", "#/cases/1/rank", "#/cases/2/model/preset", "#/cases/2/seed", "8 mistakes"});
  write_text(folder_ / "one.json", R"({"cases": [{"workload": "chess", "rank": 2}]})");
  expect_refusal(strobe({"run", "one.json"}), 2, {"strobe: one.json#/cases/0/rank: unknown key 'rank'"});
}

}  // namespace
}  // namespace strobe::cli_test
