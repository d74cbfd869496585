// `strobe calibrate`: it writes a cluster file for run and validate, and refuses wrong requests.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "tests/cli/program.hpp"
#include "tests/results/python.hpp"

namespace strobe::cli_test {
namespace {

namespace fs = std::filesystem;

class Calibrate : public Program {
 protected:
  void SetUp() override {
    write_text(path("grid.json"), R"({"name": "grid", "defaults": {"epochs": 2, "warmup": 1}, "cases": [
        {"strategy": "sequential", "matrix": {"workload": [
            {"name": "uniform", "steps": 5, "vertices": 30}, {"name": "uniform", "steps": 6, "vertices": 90},
            {"name": "uniform", "steps": 8, "vertices": 300}]}}]})");
    write_text(path("judged.json"), R"({"name": "judged", "defaults": {"epochs": 2}, "cases": [
        {"strategy": "sequential", "workload": {"name": "uniform", "steps": 7, "vertices": 120}}]})");
  }
};

TEST_F(Calibrate, WritesAClusterThatRunAndValidateAccept) {
  const Outcome made = strobe({"calibrate", "grid.json", "--out", "here.json", "--samples", "raw.jsonl"});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_NE(made.out.find("90 % band"), std::string::npos) << made.out;
  const Json cluster = Json::parse(read_text(path("here.json")));
  EXPECT_EQ(cluster.at("calibrated"), true);
  EXPECT_EQ(cluster.at("calibration").at("cases").size(), 3U);
  EXPECT_GT(cluster.at("calibration").at("operations").size(), 5U);
  std::ifstream raw(path("raw.jsonl"));
  std::size_t lines = 0;
  for (std::string line; std::getline(raw, line); ++lines) EXPECT_GT(Json::parse(line).at("seconds"), 0.0);
  EXPECT_GT(lines, 20U);
  const Outcome run = strobe({"run", "judged.json", "--device", "sim", "--cluster", "here.json", "--out", "runs/a"});
  ASSERT_EQ(run.status, 0) << run.err;
  const Json row = Json::parse(read_text(path("runs/a/summary.json"))).at("rows")[0];
  EXPECT_LE(row.at("epoch_seconds_band90").at("low"), row.at("epoch_seconds_band90").at("high"));
  EXPECT_FALSE(row.at("absent").contains("/epoch_seconds_band90"));
  const Outcome judged = strobe({"validate", "judged.json", "--cluster", "here.json", "--out", "v", "--json"});
  // On a busy machine the validation is void, and says so.
  ASSERT_EQ(judged.status, Json::parse(judged.out).at("void").empty() ? 0 : 6) << judged.err;
  const Outcome same = strobe({"validate", "grid.json", "--cluster", "here.json", "--out", "w"});
  EXPECT_EQ(same.status, 2);
  EXPECT_NE(same.err.find("calibration"), std::string::npos) << same.err;
}

TEST_F(Calibrate, AKilledCalibrationLeavesTheSamplesOfFinishedCases) {
  write_text(path("grid.json"), R"({"defaults": {"workload": {"name": "uniform", "steps": 5, "vertices": 30}},
      "cases": [{"epochs": 2}, {"epochs": 100000000}]})");
  write_text(path("raw.jsonl"), "of another calibration\n");
  const pid_t pid = start({STROBE_BINARY, "calibrate", "grid.json", "--out", "here.json", "--samples", "raw.jsonl"});
  const auto whole_lines = [this] {
    const std::string text = read_text(path("raw.jsonl"));
    return text.starts_with("{") ? std::count(text.begin(), text.end(), '\n') : 0;
  };
  for (int tries = 0; tries < 1500 && whole_lines() == 0; ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  kill(pid, SIGKILL);
  finish(pid);
  EXPECT_GT(whole_lines(), 5);
  std::ifstream raw(path("raw.jsonl"));
  std::set<std::string> cases;
  for (std::string line; std::getline(raw, line);) cases.insert(Json::parse(line).at("case_id"));
  EXPECT_EQ(cases.size(), 1u);
  EXPECT_FALSE(fs::exists(path("here.json")));
}

TEST_F(Calibrate, WrongRequestsAreRefusedBeforeAnythingIsMeasured) {
  const auto refused = [this](std::vector<std::string> words, const std::string& part) {
    words.insert(words.begin(), "calibrate");
    const Outcome outcome = strobe(words);
    EXPECT_EQ(outcome.status, 2) << outcome.err;
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
    EXPECT_FALSE(fs::exists(path("this-machine.json")));
  };
  refused({"calibrat-quick"}, "calibrate-quick");
  refused({"grid.json", "--out", "here.txt"}, ".json");
  refused({"grid.json", "--out", "absent/folder/here.json"}, "--out");
  refused({"grid.json", "--device", "sim", "--set", "cluster=aimos-v100"}, "simulated");
  refused({"grid.json", "--filter", "nothing-like-it"}, "--filter");
  refused({"grid.json", "--set", "epoch=3"}, "epochs");
}

TEST_F(Calibrate, LearnsWhatChunksTakeForTheStrategyThatReadsIt) {
  const std::string graph = "uniform:steps=6,vertices=150";
  const std::vector<std::string> simulated{"--device", "sim", "--cluster", "aimos-v100"};
  std::vector<std::string> learn{"calibrate", "--chunks", "--graph", graph, "--chunk-count", "100"},
      run{"run", "--workload", graph, "--model", "t-gcn", "--ranks", "3", "--strategy", "chunk:cost=mlp"};
  for (std::vector<std::string>* words : {&learn, &run})
    words->insert(words->end(), simulated.begin(), simulated.end());
  expect_refusal(strobe(run), 2, {"aimos-v100-chunks-t-gcn.json", "no such file", "strobe calibrate --chunks"});
  const Outcome made = strobe(learn);
  ASSERT_EQ(made.status, 0) << made.err;
  for (const char* cost : {"mlp", "cost_model", "cells", "edges"})
    EXPECT_NE(made.out.find(cost), std::string::npos) << made.out;
  const Json file = Json::parse(read_text(path("aimos-v100-chunks-t-gcn.json")));
  EXPECT_EQ(file.at("report").at("held_out_errors").size(), 4u);
  EXPECT_EQ(file.at("report").at("chunks_trained"), 100);
  const Outcome trained = strobe(run);
  ASSERT_EQ(trained.status, 0) << trained.err;
  EXPECT_NE(trained.out.find("predicted by mlp"), std::string::npos) << trained.out;
  std::string text = read_text(path("aimos-v100-chunks-t-gcn.json"));
  text[text.size() / 2] = text[text.size() / 2] == '1' ? '2' : '1';
  write_text(path("aimos-v100-chunks-t-gcn.json"), text);
  expect_refusal(strobe(run), 2, {"damaged", "strobe calibrate --chunks"});
}

TEST_F(Calibrate, AFileOfWorkloadsKeepsItsSchema) {
  const std::string python = testing_results::find_python("jsonschema");
  if (python.empty()) GTEST_SKIP() << "no Python with jsonschema (apt: python3-jsonschema)";
  const auto valid = [&](const std::string& file) {
    const std::string schema = std::string(STROBE_SOURCE_DIR) + "/results/schema/chunk-workloads.schema.json";
    return testing_results::validate_by_schema(python, schema, path(file), path("said")) == 0;
  };
  for (const char* model : {"t-gcn", "evolve-gcn-o"}) {  // evolve-gcn-o has no time encoder that walks timelines
    const Outcome made =
        strobe({"calibrate", "--chunks", "--model", model, "--graph", "uniform:steps=5,vertices=90", "--chunk-count",
                "100", "--device", "sim", "--cluster", "aimos-v100", "--out", "w.json"});
    ASSERT_EQ(made.status, 0) << made.err;
    EXPECT_TRUE(valid("w.json")) << model;
    Json json = Json::parse(read_text(path("w.json")));
    EXPECT_EQ(json.at("time").is_null(), std::string(model) != "t-gcn");
    json.erase("precision");
    write_text(path("w.json"), json.dump());
    EXPECT_FALSE(valid("w.json")) << model;
  }
}

TEST_F(Calibrate, WrongRequestsForChunksAreRefused) {
  const auto refused = [this](std::vector<std::string> words, const std::vector<std::string>& parts) {
    words.insert(words.begin(), "calibrate");
    expect_refusal(strobe(words), 2, parts);
  };
  refused({"--model", "t-gcn"}, {"--chunks"});
  refused({"grid.json", "--chunks"}, {"--chunks", "--graph"});
  refused({"--chunks", "--sequence-length", "long"}, {"--sequence-length", "rounds"});
  refused({"--chunks", "--device", "kuda"}, {"--device", "cpu", "sim"});
  refused({"--chunks", "--device", "sim"}, {"--cluster"});
  refused({"--chunks", "--cluster", "aimos-v100"}, {"--device sim"});
  refused({"--chunks", "--chunk-count", "7"}, {"--chunk-count", "100"});
  refused({"--chunks", "--model", "nothing"}, {"--model", "nothing"});
  refused({"--chunks", "--model", "tgn-attn"}, {"--model", "snapshots"});
  refused({"--chunks", "--precision", "fp16"}, {"--precision", "fp32"});
  refused({"--chunks", "--graph", "nothing"}, {"--graph", "nothing"});
  refused({"--chunks", "--graph", "amazon"}, {"--graph", "shape"});
  refused({"--chunks", "--graph", "amazon", "--device", "sim", "--cluster", "aimos-v100"}, {"--graph", "shape"});
  refused({"--chunks", "--out", "here.txt"}, {".json"});
}

}  // namespace
}  // namespace strobe::cli_test
