// `strobe submit` packs runs that keep the rules of the board, and refuses all others with a reason.
#include "results/row/row.hpp"
#include "tests/cli/support/entries.hpp"

namespace strobe::cli_test {
namespace {

namespace fs = std::filesystem;

/// `text` with `other` in place of `words`.
std::string without_words(std::string text, const std::string& words, const std::string& other) {
  return text.replace(text.find(words), words.size(), other);
}

class Submit : public Entries {
 protected:
  void expect_refused(const std::string& run, const std::vector<std::string>& words,
                      const std::string& division = "open") {
    fs::create_directory(folder_ / "entries");
    expect_refusal(strobe(submission(run, division)), 2, words);
    EXPECT_TRUE(fs::is_empty(folder_ / "entries"));
  }

  /// Changes rows, which get new digests, and makes the table of them again.
  template <class Change>
  void change_rows(const std::string& run, const Change& change) {
    Json summary = read_json(folder_ / run / "summary.json");
    for (Json& row : summary["rows"]) {
      row.erase(digest_key);
      change(row);
      row = with_digest(row);
    }
    write_text(folder_ / run / "summary.json", summary.dump(1) + "\n");
    write_text(folder_ / run / "summary.csv", rows_to_csv(read_summary(path(run + "/summary.json")).rows));
  }
};

TEST_F(Submit, AnEntryHasTheSameBytesEachTimeAndIsTheRun) {
  run_open("a", {"--vary", "strategy=snapshot,vertex", "--ranks", "2"});
  const std::string archive = submit("a"), bytes = read_text(folder_ / archive);
  fs::remove(folder_ / archive);
  EXPECT_EQ(submit("a"), archive);
  EXPECT_EQ(read_text(folder_ / archive), bytes);
  unpack(archive, "unpacked");
  for (const char* name : {"plan.json", "env.json", "samples.jsonl", "values.jsonl", "summary.json", "summary.csv"})
    EXPECT_EQ(read_text(folder_ / "unpacked" / name), read_text(folder_ / "a" / name)) << name;
  EXPECT_EQ(strobe({"verify", "unpacked", "unpacked/entry.json"}).status, 0);
  const Json entry = read_json(folder_ / "unpacked/entry.json");
  EXPECT_EQ(entry.at("who"), "A. Author");
  EXPECT_EQ(entry.at("division"), "open");
  EXPECT_EQ(entry.at("times"), "measured");
  EXPECT_EQ(entry.at("files").size(), 6u);
  EXPECT_EQ(entry.at("date_utc"), read_json(folder_ / "a/env.json").at("date_utc"));
}

TEST_F(Submit, ChangedAndIncompleteRunsAreRefused) {
  run_open("a", {"--trace"});
  EXPECT_EQ(submit("a").empty(), false) << "a trace is left out, and does no harm";
  fs::remove_all(folder_ / "entries");
  fs::copy(folder_ / "a", folder_ / "byte", fs::copy_options::recursive);
  std::string samples = read_text(folder_ / "byte/samples.jsonl");
  samples.at(samples.size() / 2) ^= 1;
  write_text(folder_ / "byte/samples.jsonl", samples);
  expect_refused("byte", {"byte/samples.jsonl", "strobe verify byte"});
  fs::copy(folder_ / "a", folder_ / "less", fs::copy_options::recursive);
  Json summary = read_json(folder_ / "less/summary.json");
  summary["rows"].erase(2);
  write_text(folder_ / "less/summary.json", summary.dump(1) + "\n");
  expect_refused("less", {"less/summary.json", "no row of the planned case"});
  expect_refused("nowhere", {"there is no run directory 'nowhere'"});
}

/// Digests can be made again, so times and values are computed again, too, by `verify` as well.
TEST_F(Submit, ABetterTimeOrTargetThanTheRunHasIsRefused) {
  const auto expect_wrong = [&](const std::string& run, const std::string& words) {
    const Outcome verified = strobe({"verify", run});
    EXPECT_EQ(verified.status, 1);
    EXPECT_NE(verified.out.find(words), std::string::npos) << verified.out;
    expect_refused(run, {words});
  };
  run_open("a");
  ASSERT_EQ(strobe({"verify", "a"}).status, 0);
  change_rows("a", [](Json& row) { row["until_seconds"] = row["until_seconds"].get<double>() * 0.5; });
  expect_wrong("a", "until_seconds is ");
  run_open("b", {}, {"auc=0.999", "1"});
  ASSERT_EQ(strobe({"verify", "b"}).status, 0);
  change_rows("b", [](Json& row) { row["until_reached"] = true; });
  expect_wrong("b", "it has no value that reaches auc=0.999");
  run_open("c", {}, {"auc=90%,best=1", "1"});
  ASSERT_EQ(strobe({"verify", "c"}).status, 0);
  change_rows("c", [](Json& row) { row["until_value"] = 0.01, row["until_reached"] = true; });
  expect_wrong("c", "until_value is 0.01 in the row, but 0.9");
  run_open("d", {}, {"converged:patience=2", "2"});
  ASSERT_EQ(strobe({"verify", "d"}).status, 0);
  change_rows("d", [](Json& row) { row["until_reached"] = true; });
  expect_wrong("d", "it has no value that reaches converged:patience=2");
}

TEST_F(Submit, RowsWithoutSamplesOrAQualityAreRefused) {
  run_open("a");
  change_rows("a", [](Json& row) {
    row["until_seconds"] = 1e-6;
    row["notes"].push_back("samples.jsonl has no samples of this row any more");
  });
  ASSERT_EQ(strobe({"verify", "a"}).status, 0) << "a run that lost samples is still one";
  expect_refused("a", {"has no samples of its times any more"});
  run_open("loss", {}, {"loss=100"});
  expect_refused("loss", {"until=loss=100", "no quality on validation samples"});
  run_open("end", {}, {"converged:patience=1"});
  expect_refused("end", {"until=converged:patience=1", "no quality on validation samples"});
}

TEST_F(Submit, RevisionMachineAndPlugInsMustBeKnown) {
  run_open("a");
  state_source("a", {{"git_sha", "0123"}, {"dirty", true}});
  expect_refused("a", {"changed and not committed"});
  state_source("a", {{"git_sha", nullptr}, {"dirty", nullptr}});
  expect_refused("a", {"names no revision"});
  state_source("a", {{"git_sha", "0123"}, {"dirty", false}});
  change_env("a", [](Json& environment) {
    environment["resumed"] = Json::array({environment});
    environment["resumed"][0].erase("resumed");
    environment["resumed"][0]["source"]["git_sha"] = "4567";
  });
  expect_refused("a", {"several revisions"});
  change_env("a", [](Json& environment) {
    environment.erase("resumed");
    environment["host_class"]["text"] = "";
  });
  expect_refused("a", {"which machine"});
  change_env("a", [](Json& environment) { environment["source"] = 3; });
  expect_refused("a", {"a/env.json"});
}

TEST_F(Submit, RowsMustHaveEndedAtTheirTarget) {
  run_open("far", {}, {"auc=0.9999"});
  expect_refused("far", {"did not reach its target", "--epochs"});
  run_open("seeds", {}, {"auc=0.01", "3", "1,2,3,4,6"});
  expect_refused("seeds", {"has the seeds 1,2,3,4,6", "--vary seed=1,2,3,4,5"});
  const Outcome ended =
      strobe({"run", "--workload", tiny, "--vary", "seed=1,2,3,4,5", "--epochs", "2", "--out", "none"});
  ASSERT_EQ(ended.status, 0) << ended.err;
  state_source("none", {{"git_sha", "0123"}, {"dirty", false}});
  expect_refused("none", {"has no target", "--until"});
}

TEST_F(Submit, AnInterruptedRunIsRefused) {
  const Outcome late = strobe({"run", "--workload", tiny, "--task", "link-prediction:split=70/15/15", "--until",
                               "auc=0.9999", "--epochs", "1000000", "--time-limit", "0.5s", "--out", "late"});
  EXPECT_NE(late.status, 0);
  state_source("late", {{"git_sha", "0123"}, {"dirty", false}});
  expect_refused("late", {"is timeout"});
}

TEST_F(Submit, PredictionsAreMarked) {
  run_open("sim", {"--device", "sim", "--numerics", "cpu", "--ranks", "2", "--strategy", "snapshot"});
  expect_refused("sim", {"times of a simulation", "--predicted"});
  unpack(submit("sim", {"--predicted"}), "unpacked");
  EXPECT_EQ(read_json(folder_ / "unpacked/entry.json").at("times"), "predicted");
  run_open("real");
  std::vector<std::string> words = submission("real");
  words.push_back("--predicted");
  expect_refusal(strobe(words), 2, {"measured times", "leave out --predicted"});
}

TEST_F(Submit, TheClosedDivisionLeavesOnlyTheWayOfTrainingFree) {
  const auto run = [&](const std::string& out, const std::vector<std::string>& more) {
    std::vector<std::string> words = {"run", "board/snapshots", "--vary", "seed=1,2,3,4,5", "--out", out};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = strobe(words);
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    state_source(out, {{"git_sha", "0123"}, {"dirty", false}});
  };
  run("closed", {"--strategy", "vertex", "--ranks", "2", "--precision", "fp64", "--set", "optimizer.rate=0.004"});
  unpack(submit("closed", {}, "closed"), "unpacked");
  EXPECT_EQ(read_json(folder_ / "unpacked/entry.json").at("division"), "closed");
  fs::remove_all(folder_ / "entries");
  run("easier", {"--until", "auc=0.8"});
  expect_refused("easier", {"until is auc=0.8 and not auc=0.88", "board/snapshots", "--division open"}, "closed");
  write_text(folder_ / "board_snapshots.json",
             without_words(read_text(STROBE_SOURCE_DIR "/suites/board/snapshots.json"), "auc=0.88", "auc=0.75"));
  const Outcome own = strobe({"run", "board_snapshots.json", "--vary", "seed=1,2,3,4,5", "--out", "own"});
  ASSERT_EQ(own.status, 0) << own.err;
  state_source("own", {{"git_sha", "0123"}, {"dirty", false}});
  expect_refused("own", {"until is auc=0.75 and not auc=0.88"}, "closed");
  run("drawn", {"--device", "sim", "--cluster", "p3dn-v100", "--numerics", "cpu", "--draws", "20"});
  EXPECT_FALSE(submit("drawn", {"--predicted"}, "closed").empty());
  fs::remove_all(folder_ / "entries");
  run("wider", {"--set", "model.hidden=16"});
  expect_refused("wider", {"model.hidden is 16 and not 6"}, "closed");
  run("other", {"--model", "cd-gcn"});
  expect_refused("other", {"model is cd-gcn and not t-gcn"}, "closed");
  EXPECT_FALSE(submit("other").empty());
  change_env("closed", [](Json& environment) { environment["plugins"] = Json::array({"fast.so"}); });
  expect_refusal(strobe(submission("closed", "closed")), 2, {"plug-ins were loaded"});
}

TEST_F(Submit, TheSenderIsNamed) {
  run_open("a");
  expect_refusal(strobe({"submit", "a", "--division", "open", "--licence", "MIT"}), 2, {"--who"});
  expect_refusal(strobe({"submit", "a", "--division", "open", "--who", "A"}), 2, {"--licence", "CC-BY-4.0"});
  expect_refusal(strobe({"submit", "a", "--division", "middle", "--who", "A", "--licence", "MIT"}), 2,
                 {"--division", "middle", "closed or open"});
  expect_refusal(strobe({"submit"}), 2, {"one run directory"});
  expect_refusal(strobe({"submit", "a", "--division", "open", "--who", "A", "--licence", "MIT", "--into", "no/where"}),
                 2, {"--into", "no/where"});
}

}  // namespace
}  // namespace strobe::cli_test
