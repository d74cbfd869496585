// --until on the command line, in suites and under --vary: rows say how training ended, and refusals name the key.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/cli/launch/mpi_program.hpp"
#include "tests/cli/program.hpp"

namespace strobe::cli_test {
namespace {

template <class Base>
class UntilRuns : public Base {
 protected:
  Json rows(const std::string& out) { return read_json(this->folder_ / out / "summary.json").at("rows"); }
};

using Until = UntilRuns<Program>;
using UntilTogether = UntilRuns<MpiProgram>;

/// Two ranks of a task with rules, until a share of what can be learnt.
std::vector<std::string> words_of_share(const std::string& out, const std::vector<std::string>& more) {
  std::vector<std::string> words = {"run",
                                    "--workload",
                                    tiny,
                                    "--task",
                                    "link-prediction:split=60/20/20",
                                    "--until",
                                    "auc=5%,best=1",
                                    "--optimizer",
                                    "adam:rate=0.1",
                                    "--epochs",
                                    "12",
                                    "--strategy",
                                    "vertex",
                                    "--ranks",
                                    "2",
                                    "--precision",
                                    "fp64",
                                    "--out",
                                    out};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

void expect_same_target(const Json& a, const Json& b) {
  for (const char* key :
       {"until_value", "until_rule", "until_best_rule", "until_best_known", "until_reached", "until_iterations"}) {
    EXPECT_FALSE(a.at(key).is_null()) << key;
    EXPECT_EQ(a.at(key), b.at(key)) << key;
  }
  EXPECT_EQ(a.at("loss").size(), b.at("loss").size());
}

/// Updates until the metric, by point of a plan.
std::vector<Json> updates_in(const std::string& plan) {
  std::vector<Json> updates;
  const Json json = Json::parse(plan);
  for (const Json& point : json.at("points"))
    if (!point.at("metric_updates").is_null()) updates.push_back(point.at("metric_updates"));
  return updates;
}

TEST_F(UntilTogether, ProcessesResolveAShareAsThreadsDo) {
  ASSERT_EQ(strobe(words_of_share("threads", {})).status, 0);
  const Outcome processes = mpirun("2", words_of_share("mpi", {"--comm", "mpi"}));
  ASSERT_EQ(processes.status, 0) << processes.err;
  expect_same_target(rows("threads")[0], rows("mpi")[0]);
  std::vector<std::string> unknown = words_of_share("x", {"--comm", "mpi"});
  unknown[6] = "auc=5%";
  expect_refusal(mpirun("2", unknown), 2, {"--until", "auc=5%,best=X"});
}

TEST_F(Until, AShareIsTheSameInVirtualTimeAndInAPlan) {
  ASSERT_EQ(strobe(words_of_share("here", {})).status, 0);
  const Outcome simulated =
      strobe(words_of_share("simulated", {"--device", "sim", "--cluster", "p5-h100", "--numerics", "cpu"}));
  ASSERT_EQ(simulated.status, 0) << simulated.err;
  const Json here = rows("here")[0], there = rows("simulated")[0];
  expect_same_target(here, there);
  EXPECT_EQ(there.at("time_source"), "virtual");
  expect_refusal(strobe(words_of_share("x", {"--device", "sim", "--cluster", "p5-h100"})), 2, {"numerics"});
  const auto plan = [&](const std::string& until) {
    return strobe({"plan",    "--workload", tiny,          "--task",        "link-prediction:split=60/20/20",
                   "--until", until,        "--optimizer", "adam:rate=0.1", "--epochs",
                   "12",      "--strategy", "vertex",      "--clusters",    "p5-h100",
                   "--gpus",  "2",          "--precision", "fp64",          "--json"});
  };
  const std::string value = here.at("until_value").dump();
  const Outcome share = plan("auc=5%,best=1"), plain = plan("auc=" + value);
  ASSERT_EQ(share.status, 0) << share.err;
  ASSERT_EQ(plain.status, 0) << plain.err;
  EXPECT_EQ(updates_in(share.out), updates_in(plain.out));
  ASSERT_FALSE(updates_in(share.out).empty()) << share.out;
  EXPECT_EQ(updates_in(share.out)[0], here.at("until_iterations"));
  expect_refusal(plan("auc=5%"), 2, {"--until", "auc=5%,best=X"});
}

TEST_F(Until, APlanRefusesAShareOfTwoValues) {
  const auto plan = [&](const std::string& until) {
    return strobe({"plan", "--workload", "bursty_events:vertices=60,events=1500", "--model", "jodie:memory=8,time=8",
                   "--task", "future-links", "--vary", "task.candidates=9,19", "--until", until, "--strategy",
                   "event_batch:batch=50", "--clusters", "p5-h100", "--gpus", "2", "--epochs", "2"});
  };
  expect_refusal(plan("mrr=5%,best=1"), 2, {"--until", "'mrr=5%,best=1' is 0.", "for jodie", "give the value"});
  EXPECT_NE(plan("mrr=0.1").status, 2);
}

TEST_F(Until, ValuesWithCommasAreQuotedUnderVary) {
  std::vector<std::string> words = words_of_share("varied", {"--vary", "until=auc=5%,best=1"});
  words.erase(words.begin() + 5, words.begin() + 7);
  expect_refusal(strobe(words), 2, {"--vary until", "'best=1'", "double quotes"});
  words.back() = "until=\"auc=5%,best=1\",auc=0.01";
  const Outcome outcome = strobe(words);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json both = rows("varied");
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0].at("settings").at("until"), "auc=5%,best=1");
  EXPECT_EQ(both[1].at("until_value"), 0.01);
}

TEST_F(Until, EndsTrainingAndTheRowSaysHow) {
  const Outcome outcome = strobe({"run", "--workload", tiny, "--epochs", "500", "--optimizer", "adam:rate=1", "--until",
                                  "converged:patience=3", "--save-model", "w.safetensors", "--out", "out"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json row = rows("out")[0];
  const auto epochs = row.at("loss").size();
  EXPECT_LT(epochs, 501u);
  EXPECT_EQ(row.at("until_reached"), true);
  EXPECT_EQ(row.at("until_iterations"), epochs);
  EXPECT_GT(row.at("until_seconds"), 0);
  EXPECT_TRUE(row.at("until_dollars").is_null());
  EXPECT_EQ(row.at("absent").at("/until_dollars"), "no dated price");
  EXPECT_EQ(row.at("settings").at("until"), "converged:patience=3");
  EXPECT_EQ(row.at("epoch_seconds").at("n"), epochs - 1);
  EXPECT_EQ(row.at("metrics").at("auc").size(), epochs);
  // None of the last three epochs is the best.
  double best = row.at("loss")[0];
  for (std::size_t e = 0; e + 3 < epochs; ++e) best = std::min(best, row.at("loss")[e].get<double>());
  for (std::size_t e = epochs - 3; e < epochs; ++e) EXPECT_GE(row.at("loss")[e], best);
  const std::string weights = read_text(folder_ / "w.safetensors");
  EXPECT_NE(weights.find("\"epoch\":\"" + std::to_string(epochs) + "\""), std::string::npos) << "epochs trained";
}

TEST_F(Until, IsAKeyOfCasesAndCanBeVaried) {
  const std::string name = suite(R"({"defaults": {"workload": {"name": "uniform", "steps": 8, "vertices": 60},
    "epochs": 4, "until": "loss=100"}, "cases": [{}, {"until": ""}, {"until": "loss=0.0001"}]})");
  ASSERT_EQ(strobe({"run", name, "--out", "suite"}).status, 0);
  const Json three = rows("suite");
  ASSERT_EQ(three.size(), 3u);
  EXPECT_EQ(three[0].at("loss").size(), 2u);  // one for warm-up, and the first that --until checks
  EXPECT_EQ(three[1].at("loss").size(), 5u);
  EXPECT_TRUE(three[1].at("until_reached").is_null());
  EXPECT_EQ(three[1].at("absent").at("/until_reached"), "the case has no until");
  EXPECT_FALSE(three[1].at("settings").contains("until"));
  EXPECT_EQ(three[2].at("until_reached"), false);
  EXPECT_EQ(three[2].at("until_iterations"), 5);
  ASSERT_EQ(strobe({"run", "--workload", tiny, "--epochs", "4", "--vary", "until=converged,loss=100", "--vary",
                    "ranks=1,2", "--strategy", "vertex", "--out", "varied"})
                .status,
            0);
  const Json four = rows("varied");
  ASSERT_EQ(four.size(), 4u);
  for (const std::size_t i : {0, 1}) EXPECT_EQ(four[i].at("until_reached"), false);
  for (const std::size_t i : {2, 3}) EXPECT_EQ(four[i].at("until_iterations"), 2);
}

TEST_F(Until, OfASimulatedClusterIsInItsSecondsAndDollars) {
  const Outcome outcome = strobe({"run", "--workload", tiny,       "--strategy", "vertex", "--ranks",  "4", "--device",
                                  "sim", "--cluster",  "p5-h100",  "--numerics", "cpu",    "--epochs", "9", "--warmup",
                                  "2",   "--until",    "loss=100", "--out",      "out"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json row = rows("out")[0];
  EXPECT_EQ(row.at("until_iterations"), 3);
  const double per_second =
      row.at("dollars_per_epoch").get<double>() / row.at("epoch_seconds").at("mean").get<double>();
  EXPECT_NEAR(row.at("until_dollars").get<double>() / (row.at("until_seconds").get<double>() * per_second), 1.0, 1e-12);
  // All epochs of a simulation take the same time.
  EXPECT_NEAR(row.at("until_seconds").get<double>() / row.at("epoch_seconds").at("mean").get<double>(), 3.0, 0.5);
}

TEST_F(Until, AShareIsAValueInTheRowAndGoesOnFromACheckpoint) {
  const auto run = [&](const std::string& epochs, const std::string& out, std::vector<std::string> more) {
    std::vector<std::string> words{"run",
                                   "--workload",
                                   tiny,
                                   "--task",
                                   "link-prediction:split=60/20/20",
                                   "--until",
                                   "auc=90%,best=1",
                                   "--optimizer",
                                   "adam:rate=0.1",
                                   "--epochs",
                                   epochs,
                                   "--out",
                                   out};
    words.insert(words.end(), more.begin(), more.end());
    return strobe(words);
  };
  ASSERT_EQ(run("12", "whole", {}).status, 0);
  ASSERT_EQ(run("3", "part", {"--checkpoint", "c.safetensors"}).status, 0);
  const Outcome rest = run("12", "rest", {"--checkpoint", "c.safetensors", "--resume-training"});
  ASSERT_EQ(rest.status, 0) << rest.err;
  const Json whole = rows("whole")[0], resumed = rows("rest")[0];
  EXPECT_EQ(whole.at("loss"), resumed.at("loss"));
  EXPECT_EQ(whole.at("until_reached"), resumed.at("until_reached"));
  EXPECT_EQ(whole.at("settings").at("until"), "auc=90%,best=1");
  for (const char* key : {"until_value", "until_rule", "until_best_rule", "until_best_known"}) {
    EXPECT_FALSE(whole.at(key).is_null()) << key;
    EXPECT_EQ(whole.at(key), resumed.at(key)) << key;
  }
  const Json& metrics = whole.at("metrics");
  const double rule = std::max(metrics.at("validation_popularity_auc")[0].get<double>(),
                               metrics.at("validation_edgebank_auc")[0].get<double>());
  EXPECT_EQ(whole.at("until_best_rule"), rule);
  EXPECT_DOUBLE_EQ(whole.at("until_value").get<double>(), rule + 0.9 * (1 - rule));
  expect_refusal(strobe({"run", "--workload", tiny, "--task", "link-prediction:split=60/20/20", "--until", "auc=50%",
                         "--out", "x"}),
                 2, {"--until", "auc=50%,best=X", "best rule"});
}

TEST_F(Until, ATargetBelowTheBestRuleIsNotedAndRefusedWhereLearningIsRequired) {
  const std::string body = R"({"defaults": {"workload": {"name": "uniform", "steps": 8, "vertices": 60, "density": 3},
    "task": {"name": "link-prediction", "split": "60/20/20"}, "until": "auc=0.01", "epochs": 2}, "cases": [{}]})";
  ASSERT_EQ(strobe({"run", suite(body), "--out", "noted"}).status, 0);
  const std::string notes = rows("noted")[0].at("notes").dump();
  EXPECT_NE(notes.find("asks for no learning: the rule " + rows("noted")[0].at("until_rule").get<std::string>()),
            std::string::npos)
      << notes;
  const std::string strict = "{\"learning_required\": true, " + body.substr(1);
  const Outcome refused = strobe({"run", suite(strict), "--out", "y"});
  expect_refusal(refused, 2, {"/defaults/until", "asks for no learning", "auc"});
  EXPECT_FALSE(std::filesystem::exists(folder_ / "y"));
  EXPECT_EQ(strobe({"run", suite(strict), "--until", "auc=50%,best=1", "--out", "z"}).status, 0);
  expect_refusal(strobe({"run", suite("{\"learning_required\": 1, " + body.substr(1)), "--out", "y"}), 2,
                 {"learning_required", "true or false"});
}

TEST_F(Until, WhatCannotBeFollowedIsRefusedByName) {
  const auto run = [&](const std::string& until, std::vector<std::string> more = {}) {
    std::vector<std::string> words{"run", "--workload", tiny, "--until", until, "--out", "x"};
    words.insert(words.end(), more.begin(), more.end());
    return strobe(words);
  };
  expect_refusal(run("soon"), 2, {"--until", "'soon'", "converged"});
  expect_refusal(run("auk=0.8"), 2, {"--until", "auk", "auc"});
  expect_refusal(run("auc=0.8"), 2, {"--until", "split=70/15/15"});
  expect_refusal(run("converged:metric=auc"), 2, {"--until", "split=70/15/15"});
  expect_refusal(run("converged", {"--device", "sim"}), 2, {"numerics", "until"});
  expect_refusal(run("auc=0.8", {"--dry-run"}), 2, {"--until"});
  EXPECT_FALSE(std::filesystem::exists(folder_ / "x"));
}

}  // namespace
}  // namespace strobe::cli_test
