// A run goes on from any moment at which it ended. Finished work is not repeated, and no flag must be given again.
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"

namespace strobe::cli_test {
namespace {

namespace fs = std::filesystem;

class Resume : public Program {
 protected:
  Json rows(const std::string& out) { return read_json(folder_ / out / "summary.json").at("rows"); }

  /// Removes all rows after the first `keep`, as if the run had been killed before it wrote them.
  void lose_rows(const std::string& out, std::size_t keep) {
    Json summary = read_json(folder_ / out / "summary.json");
    Json& rows = summary.at("rows");
    while (rows.size() > keep) rows.erase(rows.size() - 1);
    write_text(folder_ / out / "summary.json", summary.dump());
  }

  Outcome run(std::vector<std::string> words, const std::vector<std::string>& more) {
    words.insert(words.begin(), "run");
    words.insert(words.end(), more.begin(), more.end());
    return strobe(words);
  }
};

/// Trains, loses the row, and goes on: the row made from the checkpoint equals the lost one.
class LostRow : public Resume, public ::testing::WithParamInterface<std::vector<std::string>> {};

TEST_P(LostRow, IsMadeAgainFromTheLastCheckpoint) {
  const std::vector<std::string> again = {"--out",
                                          "o",
                                          "--checkpoint",
                                          "c",
                                          "--checkpoint-every",
                                          "1",
                                          "--resume",
                                          "--resume-training",
                                          "--save-model",
                                          "weights.safetensors"};
  const Outcome first = run(GetParam(), again);  // there is no checkpoint and no run yet
  ASSERT_EQ(first.status, 0) << first.err;
  const Json before = rows("o").at(0);
  const std::string weights = read_text(folder_ / "weights.safetensors");
  fs::remove(folder_ / "weights.safetensors");
  lose_rows("o", 0);
  const Outcome second = run(GetParam(), again);
  ASSERT_EQ(second.status, 0) << second.err;
  EXPECT_NE(second.err.find("only the row is still to be written"), std::string::npos) << second.err;
  const Json after = rows("o").at(0);
  for (const char* key : {"case_id", "status", "loss", "metrics", "sent_bytes", "epoch_seconds", "planned_bytes"})
    EXPECT_EQ(after.at(key), before.at(key)) << key;
  EXPECT_EQ(read_text(folder_ / "weights.safetensors"), weights);
  const Outcome third = run(GetParam(), again);
  EXPECT_EQ(third.status, 0) << third.err;
  EXPECT_NE(third.err.find("kept"), std::string::npos) << third.err;
  EXPECT_EQ(rows("o").at(0), after);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, LostRow,
    ::testing::Values(
        std::vector<std::string>{"--workload", tiny, "--epochs", "3"},
        std::vector<std::string>{"--workload", tiny, "--epochs", "3", "--strategy", "snapshot", "--ranks", "2"},
        std::vector<std::string>{"--workload", tiny, "--epochs", "40", "--until", "converged:patience=2"},
        std::vector<std::string>{"--workload", tiny, "--epochs", "3", "--model", "t-gcn", "--task", "vertex-regression",
                                 "--strategy", "hybrid_batch:adjuster=none,reservoir=false,generator=inline"},
        std::vector<std::string>{"--workload", "bursty_events:vertices=60,events=600", "--model", "tgn-attn",
                                 "--epochs", "2", "--set", "strategy.batch=100"}));

TEST_F(Resume, TimesOfALostRowAreAbsentWhereNothingHoldsThem) {
  const std::vector<std::string> one = {"--workload", tiny, "--epochs", "3", "--out", "o", "--checkpoint", "c"};
  ASSERT_EQ(run(one, {}).status, 0);
  lose_rows("o", 0);
  write_text(folder_ / "o/samples.jsonl", "");
  const Outcome again = run(one, {"--resume", "--resume-training"});
  ASSERT_EQ(again.status, 0) << again.err;
  const Json row = rows("o").at(0);
  EXPECT_EQ(row.at("status"), "ok");
  EXPECT_TRUE(row.at("epoch_seconds").is_null());
  EXPECT_EQ(row.at("absent").at("/epoch_seconds"), "its epochs were measured by a run that ended");
  EXPECT_EQ(row.at("loss").size(), 4u);
}

TEST_F(Resume, WithoutResumeACheckpointAtItsEndIsStillRefused) {
  const std::vector<std::string> one = {"--workload", tiny, "--epochs", "3", "--checkpoint", "c"};
  ASSERT_EQ(run(one, {"--out", "o"}).status, 0);
  expect_refusal(run(one, {"--out", "p", "--resume-training"}), 2, {"--resume-training", "epoch 4 already"});
}

TEST_F(Resume, ADirectoryIsAllThatIsNeeded) {
  const std::string two = suite(
      R"({"defaults": {"workload": {"name": "uniform", "steps": 8, "vertices": 60}, "epochs": 2},
          "cases": [{"strategy": "sequential"}, {"strategy": "snapshot", "ranks": 2}]})");
  ASSERT_EQ(strobe({"run", two, "--out", "o", "--trace"}).status, 0);
  fs::remove(folder_ / "suite.json");
  const Json before = rows("o");
  for (const std::vector<std::string>& words : {std::vector<std::string>{"run", "--resume", "o"},
                                                {"run", "o", "--resume"},
                                                {"run", "--out", "o", "--resume"}}) {
    lose_rows("o", 1);
    fs::remove_all(folder_ / "o/trace");
    const Outcome again = strobe(words);
    ASSERT_EQ(again.status, 0) << again.err;
    ASSERT_EQ(rows("o").size(), 2u);
    EXPECT_EQ(rows("o").at(0), before.at(0)) << "a finished case was run again";
    EXPECT_EQ(rows("o").at(1).at("loss"), before.at(1).at("loss"));
    EXPECT_FALSE(fs::is_empty(folder_ / "o/trace")) << "the first run was asked for traces";
  }
}

TEST_F(Resume, ADirectoryKnowsItsCheckpoint) {
  ASSERT_EQ(run({"--workload", tiny, "--epochs", "3"}, {"--out", "o", "--checkpoint", "c", "--save-model", "m"}).status,
            0);
  const Json before = rows("o").at(0);
  const std::string weights = read_text(folder_ / "m");
  fs::remove(folder_ / "m");
  lose_rows("o", 0);
  const Outcome again = strobe({"run", "--resume", "o"});
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(rows("o").at(0).at("loss"), before.at("loss"));
  EXPECT_EQ(read_text(folder_ / "m"), weights);
}

TEST_F(Resume, WhatIsWrongWithADirectoryIsSaid) {
  ASSERT_EQ(run({"--workload", tiny, "--epochs", "1"}, {"--out", "o"}).status, 0);
  expect_refusal(strobe({"run", "o"}), 2, {"'o' is a folder", "--resume o"});
  expect_refusal(strobe({"run", "--resume", "o", "--ranks", "2"}), 2, {"--ranks", "cannot change the plan"});
  expect_refusal(strobe({"run", "--resume", "o", "--out", "p"}), 2, {"--out", "o"});
  expect_refusal(strobe({"run", "--resume", "."}), 2, {"--resume", "'.' has no plan.json"});
  expect_refusal(strobe({"run", "--resume"}), 2, {"say what to run"});
  write_text(folder_ / "o/plan.json", R"({"cases": 3})");
  expect_refusal(strobe({"run", "--resume", "o"}), 2, {"o/plan.json", "/cases/0", "expected a case"});
  write_text(folder_ / "o/plan.json", R"({"cases": [{"workload": {"name": "uniform"}, "ranks": -3}]})");
  expect_refusal(strobe({"run", "--resume", "o"}), 2, {"o/plan.json", "/cases/0/ranks"});
  write_text(folder_ / "o/plan.json", R"({"cases": [{"workload": {"name": "uniform"}}], "outputs": {"trace": "x"}})");
  expect_refusal(strobe({"run", "--resume", "o"}), 2, {"o/plan.json", "not a plan that Strobe wrote"});
}

}  // namespace
}  // namespace strobe::cli_test
