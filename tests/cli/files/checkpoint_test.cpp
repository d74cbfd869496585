// Checkpoints on the command line: a stopped run goes on, and the refusal of a wrong request names its flag.
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"

namespace strobe::cli_test {
namespace {

class Checkpoint : public Program {
 protected:
  Outcome train(const std::string& epochs, const std::string& out, std::vector<std::string> more = {}) {
    std::vector<std::string> words{"run", "--workload", tiny, "--epochs", epochs, "--out", out};
    words.insert(words.end(), more.begin(), more.end());
    return strobe(words);
  }
  Json row(const std::string& out) { return read_json(folder_ / out / "summary.json").at("rows").at(0); }
};

TEST_F(Checkpoint, AStoppedRunGoesOnBitForBit) {
  ASSERT_EQ(train("6", "whole").status, 0);
  ASSERT_EQ(train("2", "begin", {"--checkpoint", "state", "--checkpoint-every", "1"}).status, 0);
  const Outcome rest = train("6", "rest", {"--checkpoint", "state", "--resume-training"});
  ASSERT_EQ(rest.status, 0) << rest.err;
  EXPECT_NE(rest.err.find("continuing after epoch 3 of 7"), std::string::npos) << rest.err;
  EXPECT_EQ(row("rest").at("loss"), row("whole").at("loss"));
  EXPECT_EQ(row("rest").at("loss").size(), 7u);
  EXPECT_EQ(row("rest").at("metrics"), row("whole").at("metrics"));
  EXPECT_EQ(row("rest").at("case_id"), row("whole").at("case_id"));
}

TEST_F(Checkpoint, WrongRequestsNameTheFlagAndLeaveNothing) {
  expect_refusal(train("2", "a", {"--resume-training"}), 2, {"--resume-training", "--checkpoint"});
  expect_refusal(train("2", "a", {"--checkpoint-every", "2"}), 2, {"--checkpoint-every", "--checkpoint"});
  expect_refusal(train("2", "a", {"--checkpoint", "state", "--checkpoint-every", "1.5"}), 2,
                 {"--checkpoint-every", "1.5"});
  expect_refusal(train("2", "a", {"--checkpoint", "state", "--resume-training"}), 2,
                 {"--resume-training", "no file 'state'"});
  expect_refusal(train("2", "a", {"--checkpoint", "no/such/state"}), 2, {"--checkpoint", "no/such"});
  expect_refusal(train("2", "a", {"--checkpoint", "state", "--device", "sim"}), 2, {"--checkpoint", "needs values"});
  EXPECT_FALSE(std::filesystem::exists(folder_ / "a"));
  ASSERT_EQ(train("2", "begin", {"--checkpoint", "state"}).status, 0);
  expect_refusal(train("6", "a", {"--checkpoint", "state", "--resume-training", "--set", "model.window=3"}), 2,
                 {"--resume-training", "model.window is 5 in state, but 3 here"});
  expect_refusal(train("2", "a", {"--checkpoint", "state", "--resume-training"}), 2,
                 {"--resume-training", "epoch 3 already"});
  EXPECT_FALSE(std::filesystem::exists(folder_ / "a"));
}

/// Enough events for ten steps; `last` is the source of the last event.
std::string events(int last) {
  std::string text = "source,target,time\n";
  for (int i = 0; i < 40; ++i)
    text += std::to_string(i * 7 % 11) + "," + std::to_string(i * 5 % 13) + "," + std::to_string(i) + "\n";
  return text + std::to_string(last) + ",3,40\n";
}

TEST_F(Checkpoint, WhatGoesOnIsRefusedOnOtherData) {
  write_text(folder_ / "events.csv", events(1));
  const auto run = [&](const std::string& epochs, const std::string& out, std::vector<std::string> more) {
    std::vector<std::string> words{
        "run",   "--workload", "events.csv:window_count=10", "--task", "vertex-regression", "--epochs", epochs,
        "--out", out};
    words.insert(words.end(), more.begin(), more.end());
    return strobe(words);
  };
  const Outcome begun = run("2", "begin", {"--checkpoint", "state"});
  ASSERT_EQ(begun.status, 0) << begun.err;
  EXPECT_EQ(run("2", "begin", {"--resume"}).status, 0);
  EXPECT_EQ(run("3", "on", {"--checkpoint", "state", "--resume-training"}).status, 0);
  write_text(folder_ / "events.csv", events(2));
  expect_refusal(run("2", "begin", {"--resume"}), 2, {"--resume", "events.csv", "changed"});
  expect_refusal(run("4", "b", {"--checkpoint", "state", "--resume-training"}), 2,
                 {"--resume-training", "sha256 of data", "changed"});
  EXPECT_FALSE(std::filesystem::exists(folder_ / "b"));
}

TEST_F(Checkpoint, ARunDoesNotGoOnWithOtherLabelsOfTheSameData) {
  std::string paid = "sourceNodeId,targetNodeId,value,time\n";
  for (int i = 0; i < 60; ++i)
    paid += std::to_string(i * 7 % 11) + "," + std::to_string(i * 5 % 11) + ",1," + std::to_string(i / 6) + "\n";
  const auto label = [&](int first) {
    std::string text = "nodeid,isFraud\n0," + std::to_string(first) + "\n";
    for (int i = 1; i < 11; ++i) text += std::to_string(i) + "," + std::to_string(i % 2) + "\n";
    std::filesystem::create_directory(folder_ / "bank");
    write_text(folder_ / "bank/nodes.csv", text);
  };
  label(0);
  write_text(folder_ / "bank/paid.csv", paid);
  const auto run = [&](const std::string& epochs, const std::string& out, std::vector<std::string> more) {
    std::vector<std::string> words{"run",      "--workload", "bank/paid.csv", "--task", "vertex-classification",
                                   "--epochs", epochs,       "--out",         out};
    words.insert(words.end(), more.begin(), more.end());
    return strobe(words);
  };
  const Outcome begun = run("2", "begin", {"--checkpoint", "state"});
  ASSERT_EQ(begun.status, 0) << begun.err;
  EXPECT_EQ(run("2", "begin", {"--resume"}).status, 0);
  label(1);
  expect_refusal(run("2", "begin", {"--resume"}), 2, {"--resume", "bank/paid.csv, companion nodes.csv", "changed"});
  expect_refusal(run("4", "b", {"--checkpoint", "state", "--resume-training"}), 2,
                 {"--resume-training", "companion nodes.csv", "changed"});
}

}  // namespace
}  // namespace strobe::cli_test
