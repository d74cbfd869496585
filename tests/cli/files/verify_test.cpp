// `strobe verify` finds changed files, and commands that read a run refuse a changed row.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/cli/support/edited_json.hpp"
#include "tests/cli/program.hpp"

namespace strobe::cli_test {
namespace {

class Verify : public Program {
 protected:
  void run(const std::string& out, const std::vector<std::string>& more = {}, const std::string& epochs = "3") {
    std::vector<std::string> words = {"run", "--workload", tiny, "--ranks", "2", "--epochs", epochs, "--out", out};
    words.insert(words.end(), more.begin(), more.end());
    const bool swept = std::find(more.begin(), more.end(), "--vary") != more.end();
    if (!swept) words.insert(words.end(), {"--strategy", "snapshot"});
    const Outcome outcome = strobe(words);
    ASSERT_EQ(outcome.status, 0) << outcome.err;
  }

  /// Flips one bit of the file's byte `at`.
  void flip(const std::string& name, std::size_t at) {
    std::string text = read_text(folder_ / name);
    text.at(at) = static_cast<char>(text.at(at) ^ 4);
    write_text(folder_ / name, text);
  }

  void expect_wrong(const std::string& name, const std::string& words) {
    const Outcome outcome = strobe({"verify", name});
    EXPECT_EQ(outcome.status, 1) << outcome.out << outcome.err;
    EXPECT_NE(outcome.out.find("WRONG    " + name), std::string::npos) << outcome.out;
    EXPECT_NE(outcome.out.find(words), std::string::npos) << outcome.out;
  }
};

TEST_F(Verify, RunsOfEveryFormAreRightAsTheyAreWritten) {
  run("plain", {"--trace"});
  run("repeated", {"--repeat", "2"});
  run("rounds", {"--rounds", "2"});
  run("simulated", {"--device", "sim"});
  run("swept", {"--vary", "strategy=sequential,snapshot,vertex"});  // one of them is skipped
  run("kept", {"--checkpoint", "state"});
  run("continued", {"--checkpoint", "state", "--resume-training"}, "5");
  ASSERT_EQ(strobe({"run", "--resume", "plain"}).status, 0);
  for (const char* name : {"plain", "repeated", "rounds", "simulated", "swept", "kept", "continued"}) {
    const Outcome outcome = strobe({"verify", name});
    EXPECT_EQ(outcome.status, 0) << outcome.out;
    EXPECT_NE(outcome.out.find(std::string("ok       ") + name + "/samples.jsonl"), std::string::npos) << outcome.out;
  }
}

/// The number is changed once with its digest kept, and once with the digest removed.
TEST_F(Verify, AChangedLossIsRefusedByEveryReader) {
  run("a");
  run("b", {"--seed", "2"});
  Json summary = read_json(folder_ / "a/summary.json");
  summary["rows"][0]["loss"][1] = 0.125;
  for (const Json& changed : {summary, without_digests(summary)}) {
    write_text(folder_ / "a/summary.json", changed.dump());
    for (const std::vector<std::string>& words :
         std::vector<std::vector<std::string>>{{"show", "a"},
                                               {"compare", "a", "b"},
                                               {"compare", "b", "a"},
                                               {"report", "a", "--out", "r.html"},
                                               {"plot", "curves", "a"},
                                               {"run", "--resume", "a"}})
      expect_refusal(strobe(words), 2, {"a/summary.json", "#", "loss/1 is 0.125"});
    expect_wrong("a", "loss/1 is 0.125");
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "r.html"));
}

TEST_F(Verify, ARowOfAnotherRunIsRefused) {
  run("a");
  run("b", {"--set", "optimizer.rate=0.5"});
  Json ours = read_json(folder_ / "a/summary.json"), theirs = read_json(folder_ / "b/summary.json");
  for (const char* key : {"loss", "metrics"}) ours["rows"][0][key] = theirs["rows"][0][key];
  ours["rows"][0] = with_digest(ours["rows"][0]);
  write_text(folder_ / "a/summary.json", ours.dump());
  expect_refusal(strobe({"show", "a"}), 2, {"a/summary.json", "#", "loss/", "a/values.jsonl"});
}

TEST_F(Verify, RowsAloneAndOlderOnesAreReadWithANote) {
  run("a");
  std::filesystem::create_directory(folder_ / "alone");
  std::filesystem::copy(folder_ / "a/summary.json", folder_ / "alone/summary.json");
  EXPECT_EQ(strobe({"show", "alone"}).status, 0);
  Json both = read_json(folder_ / "a/summary.json");
  both["rows"].push_back(both["rows"][0]);  // joined rows keep their digests
  write_text(folder_ / "alone/summary.json", both.dump());
  EXPECT_EQ(strobe({"show", "alone"}).status, 0);
  write_text(folder_ / "alone/summary.json", without_digests(both).dump());
  const Outcome older = strobe({"show", "alone"});
  EXPECT_EQ(older.status, 0) << older.err;
  EXPECT_NE(older.err.find("note: alone/summary.json carries no digest"), std::string::npos) << older.err;
  EXPECT_EQ(older.err.find("note:"), older.err.rfind("note:")) << "once";
  const Outcome reported = strobe({"verify", "alone/summary.json"});
  EXPECT_EQ(reported.status, 1);
  EXPECT_NE(reported.out.find("UNPROVEN alone/summary.json: 2 of 2 rows: no digest"), std::string::npos)
      << reported.out;
}

TEST_F(Verify, FilesOfEachKindProveThemselves) {
  run("a", {"--save-model", "w.safetensors", "--checkpoint", "state"});
  ASSERT_EQ(strobe({"inspect", tiny, "--shape", "shape.json"}).status, 0);
  ASSERT_EQ(strobe({"convert", tiny, "graph.strobe"}).status, 0);
  const std::vector<std::string> files = {"w.safetensors", "state", "shape.json", "graph.strobe", "a/env.json"};
  std::vector<std::string> words = {"verify"};
  words.insert(words.end(), files.begin(), files.end());
  const Outcome right = strobe(words);
  EXPECT_EQ(right.status, 0) << right.out << right.err;
  for (const std::string& file : files) {
    flip(file, read_text(folder_ / file).size() * 2 / 3);
    expect_wrong(file, "");
  }
  expect_refusal(strobe({"inspect", "shape.json"}), 2, {"shape.json"});
  expect_refusal(strobe({"run", "--workload", tiny, "--strategy", "snapshot", "--ranks", "2", "--epochs", "1", "--out",
                         "o", "--load-model", "w.safetensors"}),
                 2, {"w.safetensors", "damaged"});
  expect_refusal(strobe({"verify", "nowhere"}), 2, {"nowhere"});
  std::filesystem::create_directory(folder_ / "empty");
  expect_refusal(strobe({"verify", "empty"}), 2, {"empty", "run directory"});
  expect_refusal(strobe({"verify"}), 2, {"at least one"});
}

/// People and `strobe calibrate` write cluster files; only those of `strobe calibrate` have digests.
TEST_F(Verify, ACalibrationThatWasChangedSaysHowToUseIt) {
  Json cluster = read_json(STROBE_SOURCE_DIR "/results/measured/epyc-2core-2026-11-28-hosts/calibrated.json");
  cluster.erase(digest_key);
  const std::vector<std::string> words = {"run", "--workload", tiny,     "--device", "sim",   "--epochs",
                                          "1",   "--cluster",  "c.json", "--resume", "--out", "o"};
  write_text(folder_ / "c.json", cluster.dump(1));
  const Outcome by_hand = strobe(words);
  EXPECT_EQ(by_hand.status, 0) << by_hand.err;
  EXPECT_NE(by_hand.err.find("note: c.json carries no digest"), std::string::npos) << by_hand.err;
  Json whole = with_digest(cluster);
  write_text(folder_ / "c.json", whole.dump(1));
  const Outcome proven = strobe(words);
  EXPECT_EQ(proven.status, 0) << proven.err;
  EXPECT_EQ(proven.err.find("digest"), std::string::npos) << proven.err;
  whole["nodes"] = 3;
  write_text(folder_ / "c.json", whole.dump(1));
  expect_refusal(strobe(words), 2, {"c.json", "changed since it was written", "take sha256 out"});
}

}  // namespace
}  // namespace strobe::cli_test
