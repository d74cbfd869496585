// --time-limit: a case that takes too long ends between two epochs, keeps them, and lets the next case begin.
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"

namespace strobe::cli_test {
namespace {

constexpr const char* without_end = "100000000";  // epochs

class TimeLimit : public Program {
 protected:
  Outcome run(std::vector<std::string> more) {
    std::vector<std::string> words{"run", "--workload", tiny, "--time-limit", "0.5s"};
    words.insert(words.end(), more.begin(), more.end());
    return strobe(words);
  }
  Json rows(const std::string& out) { return read_json(folder_ / out / "summary.json").at("rows"); }
};

TEST_F(TimeLimit, ACaseThatTakesTooLongKeepsItsEpochsAndTheNextBegins) {
  const Outcome outcome = run({"--epochs", without_end, "--vary", "ranks=1,3", "--strategy", "vertex", "--out", "out"});
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  const Json both = rows("out");
  ASSERT_EQ(both.size(), 2u);
  for (const Json& row : both) {
    EXPECT_EQ(row.at("status"), "timeout");
    const auto epochs = row.at("loss").size();
    EXPECT_GT(epochs, 1u);
    EXPECT_EQ(row.at("reason"),
              "the time limit of 0.5 s was reached after " + std::to_string(epochs) + " of 100000001 epochs");
    EXPECT_EQ(row.at("epoch_seconds").at("n"), epochs - 1);  // the first is for warm-up
  }
}

TEST_F(TimeLimit, ACaseThatEndsInTimeIsAsWithoutALimit) {
  const Outcome outcome =
      strobe({"run", "--workload", tiny, "--epochs", "2", "--time-limit", "1h", "--json", "--out", "with"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  ASSERT_EQ(strobe({"run", "--workload", tiny, "--epochs", "2", "--out", "without"}).status, 0);
  for (const char* key : {"case_id", "status", "loss", "metrics", "sent_bytes"})
    EXPECT_EQ(rows("with")[0].at(key), rows("without")[0].at(key)) << key;
}

TEST_F(TimeLimit, WhatIsWrittenAtTheEndIsNotAndTrainingGoesOnFromTheCheckpoint) {
  const Outcome outcome = run({"--epochs", without_end, "--save-model", "w.safetensors", "--dump-embeddings", "e.npy",
                               "--checkpoint", "state", "--out", "out"});
  EXPECT_EQ(outcome.status, 1);
  const Json row = rows("out")[0];
  const auto reason = row.at("reason").get<std::string>();
  for (const char* part : {"w.safetensors was not written", "e.npy was not written", "the checkpoint has the last"})
    EXPECT_NE(reason.find(part), std::string::npos) << reason;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "w.safetensors"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "e.npy"));
  const auto done = row.at("loss").size();
  const std::string epochs = std::to_string(done + 1);  // in addition to one for warm-up
  const std::vector<std::string> whole{"run", "--workload", tiny, "--epochs", epochs, "--out"};
  std::vector<std::string> rest = whole, all = whole;
  rest.insert(rest.end(), {"rest", "--checkpoint", "state", "--resume-training"});
  all.push_back("whole");
  ASSERT_EQ(strobe(rest).status, 0);
  ASSERT_EQ(strobe(all).status, 0);
  EXPECT_EQ(rows("rest")[0].at("loss"), rows("whole")[0].at("loss"));
}

TEST_F(TimeLimit, HoldsForSimulatedRanksInRealTime) {
  const Outcome outcome = run({"--epochs", without_end, "--ranks", "7", "--strategy", "snapshot", "--device", "sim",
                               "--cluster", "p5-h100", "--numerics", "none", "--out", "out"});
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_EQ(rows("out")[0].at("status"), "timeout");
  EXPECT_GT(rows("out")[0].at("epoch_seconds").at("n"), 0);
}

TEST_F(TimeLimit, MustBeATime) {
  for (const std::string wrong : {"soon", "0", "-5", "10parsecs"})
    expect_refusal(strobe({"run", "--workload", tiny, "--time-limit=" + wrong, "--out", "x"}), 2,
                   {"--time-limit", "'" + wrong + "'"});
  EXPECT_FALSE(std::filesystem::exists(folder_ / "x"));
}

}  // namespace
}  // namespace strobe::cli_test
