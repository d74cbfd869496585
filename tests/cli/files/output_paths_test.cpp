// A path that cannot be written or read is a wrong request, and is refused before anything is made or measured.
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"

namespace strobe::cli_test {
namespace {

class OutputPaths : public Program {
 protected:
  Outcome run(std::vector<std::string> more) {
    more.insert(more.begin(), {"run", "--workload", tiny, "--epochs", "2"});
    return strobe(more);
  }
};

TEST_F(OutputPaths, WhatCannotBeWrittenIsAWrongRequest) {
  std::filesystem::create_directory(folder_ / "folder");
  for (const char* flag : {"--save-model", "--dump-embeddings", "--dump-samples", "--dump-placement", "--checkpoint"})
    expect_refusal(run({flag, "folder", "--out", "out"}), 2, {flag, "is a folder"});
  expect_refusal(run({"--byte-matrix", "/proc/x", "--dry-run"}), 2, {"--byte-matrix", "/proc/x"});
  expect_refusal(strobe({"convert", "chess", "no/such/x.strobe"}), 2, {"OUT", "no/such"});
  expect_refusal(strobe({"inspect", "chess", "--shape", "folder"}), 2, {"--shape", "is a folder"});
  expect_refusal(strobe({"calibrate", "--quick", "--samples", "no/such/x"}), 2, {"--samples", "no/such"});
  expect_refusal(strobe({"compare", "nowhere", "folder"}), 2, {"BASE and NEW", "nowhere"});
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
}

TEST_F(OutputPaths, ACheckpointThatIsThereIsNotWrittenOver) {
  ASSERT_EQ(run({"--checkpoint", "state", "--out", "a"}).status, 0);
  const std::string before = read_text(folder_ / "state");
  expect_refusal(run({"--checkpoint", "state", "--seed", "2", "--out", "b"}), 2, {"--checkpoint", "--resume-training"});
  EXPECT_EQ(read_text(folder_ / "state"), before);
  expect_refusal(run({"--checkpoint", "new", "--repeat", "2", "--out", "b"}), 2, {"--repeat", "not 2"});
  expect_refusal(run({"--checkpoint", "new", "--repeat", "2", "--dry-run"}), 2, {"--repeat", "not 2"});
  expect_refusal(run({"--checkpoint", "state", "--resume-training", "--warmup", "0", "--out", "b"}), 2,
                 {"epoch 3 already, but the case has 2; set more than 3 epochs"});
  EXPECT_FALSE(std::filesystem::exists(folder_ / "b"));
}

TEST_F(OutputPaths, AKeptRowSaysWhatItDidNotWrite) {
  ASSERT_EQ(run({"--out", "out"}).status, 0);
  const Outcome outcome = run({"--out", "out", "--resume", "--trace", "--save-model", "m"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("--save-model, --trace wrote no file"), std::string::npos) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "m"));
}

TEST_F(OutputPaths, ASuiteNamesNoFolderElsewhere) {
  for (const std::string name : {"x/../../y", "..", "/tmp/y"}) {
    const std::string file = suite(R"({"name": ")" + name + R"(", "cases": [{"workload": "uniform"}]})");
    expect_refusal(strobe({"run", file}), 2, {"/name", name});
  }
}

TEST_F(OutputPaths, TooManyCasesAreRefusedBeforeTheyAreMade) {
  std::string values = "1";
  for (int i = 2; i <= 1000; ++i) values += "," + std::to_string(i);
  const std::string file = suite(R"({"cases": [{"workload": "uniform", "matrix": {"seed": [)" + values +
                                 R"(], "epochs": [)" + values + R"(], "warmup": [)" + values + "]}}]}");
  expect_refusal(strobe({"run", file, "--dry-run"}), 2, {"/cases/0/matrix", "more than 10000 cases"});
  expect_refusal(run({"--vary", "seed=" + values, "--vary", "ranks=" + values, "--dry-run"}), 2, {"more than 10000"});
  expect_refusal(strobe({"plan", "--workload", tiny, "--vary", "seed=" + values, "--vary", "nb=" + values}), 2,
                 {"more than 10000"});
}

TEST_F(OutputPaths, ADryRunBlamesTheOption) {
  expect_refusal(strobe({"run", "--workload", "uniform:vertices=60,steps=1", "--dry-run"}), 2,
                 {"--workload", "at least two steps"});
  expect_refusal(run({"--model", "dysat:positions=4", "--out", "out"}), 2, {"--model positions", "set positions"});
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
  expect_refusal(run({"--model", "dysat:positions=4", "--dry-run"}), 2, {"--model positions", "set positions"});
}

}  // namespace
}  // namespace strobe::cli_test
