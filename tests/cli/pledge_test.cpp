// `strobe plan --pledge` writes predictions, and `strobe validate --pledge` judges them by a later run.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "core/content_digest.hpp"
#include "tests/cli/program.hpp"
#include "tests/cli/support/edited_json.hpp"
#include "tests/results/python.hpp"

namespace strobe::cli_test {
namespace {

namespace fs = std::filesystem;

class PledgeCommand : public Program {
 protected:
  Outcome pledge(const std::string& file, std::vector<std::string> more = {}, const std::string& seed = "1") {
    std::vector<std::string> words = {"plan",
                                      "--workload",
                                      tiny,
                                      "--model",
                                      "t-gcn:hidden=6",
                                      "--strategy",
                                      "sequential,snapshot,vertex:partitioner=range",
                                      "--set",
                                      "seed=" + seed,
                                      "--pledge",
                                      file,
                                      "--json"};
    words.insert(words.end(), more.begin(), more.end());
    if (std::find(more.begin(), more.end(), "--clusters") == more.end())
      words.insert(words.end(), {"--clusters", "aimos-v100", "--nodes", "1"});
    return strobe(words);
  }

  /// Trains the cases of the pledge on some numbers of ranks here.
  Outcome measure(const std::string& folder, const std::string& seed = "1", const std::string& ranks = "1,2") {
    return strobe({"run", "--workload", tiny, "--model", "t-gcn", "--set", "seed=" + seed, "--out", folder, "--epochs",
                   "3", "--vary", "ranks=" + ranks, "--vary", "strategy=sequential,snapshot,vertex:partitioner=range"});
  }

  Outcome judge(const std::string& file, const std::string& run, std::vector<std::string> more = {}) {
    std::vector<std::string> words = {"validate", "--pledge", file, "--measured", run, "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return strobe(words);
  }

  /// The findings of Python in the same files.
  Json python_judges(const std::string& file, const std::string& run, const std::string& cluster) {
    const std::string python = testing_results::find_python("hashlib");
    EXPECT_NE(python, "");
    const int status = testing_results::run_program(
        {python, std::string(STROBE_TEST_DIR) + "/cli/support/pledge_judge.py", path(file), path(run), cluster},
        path("judged"));
    EXPECT_EQ(status, 0) << read_text(path("judged"));
    return Json::parse(read_text(path("judged")));
  }

  /// Changes the date of a run.
  void date_run(const std::string& run, const Json& date) {
    Json environment = read_json(folder_ / run / "env.json");
    environment.erase(digest_key);
    environment["date_utc"] = date;
    write_text(folder_ / run / "env.json", environment.dump());
  }
};

std::vector<std::string> ids_of(const Json& report, const std::string& cause) {
  std::vector<std::string> ids;
  for (const Json& one : report.at("left_out"))
    if (one.at("cause") == cause) ids.push_back(one.at("case_id"));
  return ids;
}

TEST_F(PledgeCommand, HoldsWhatThePlanSays) {
  const Outcome planned = pledge("p.json", {"--set", "memory_limit_gib=0.0001"});
  ASSERT_LE(planned.status, 1) << planned.err;
  const Json plan = Json::parse(planned.out), file = read_json(folder_ / "p.json");
  EXPECT_EQ(file.at("request"), plan.at("request"));
  EXPECT_NE(planned.err.find(file.at("sha256").get<std::string>()), std::string::npos) << planned.err;
  std::size_t predicted = 0, refused = 0;
  for (const Json& point : plan.at("points")) {
    const std::string status = point.at("status");
    if (status != "ok" && status != "out_of_memory") continue;
    const auto pledged = std::find_if(file.at("points").begin(), file.at("points").end(),
                                      [&](const Json& one) { return one.at("id") == point.at("id"); });
    ASSERT_NE(pledged, file.at("points").end()) << point.at("id");
    for (const char* key : {"status", "cluster", "epoch_seconds"}) EXPECT_EQ(pledged->at(key), point.at(key)) << key;
    // The order of keys does not matter.
    EXPECT_EQ(nlohmann::json::parse(pledged->at("case").dump()), nlohmann::json::parse(point.at("case").dump()));
    ++(status == "ok" ? predicted : refused);
    if (status != "ok") continue;
    EXPECT_EQ(pledged->at("sent_bytes").at("total"), point.at("sent_bytes"));
    const auto peaks = pledged->at("peak_bytes").at("device").get<std::vector<std::uint64_t>>();
    EXPECT_EQ(Json(*std::max_element(peaks.begin(), peaks.end())), point.at("peak_bytes"));
  }
  EXPECT_EQ(file.at("points").size(), predicted + refused);
  EXPECT_GT(predicted, 0u);
  EXPECT_GT(refused, 0u);
}

/// Compares the report with what Python found.
void expect_same_judgement(const Json& report, const Json& other) {
  EXPECT_EQ(other.at("digest"), true);
  Json pairs = Json::array();
  for (const Json& one : report.at("cases"))
    pairs.push_back({one.at("case_id"), one.at("predicted").at("epoch_seconds")});
  EXPECT_EQ(pairs, other.at("pairs"));
  EXPECT_EQ(Json(ids_of(report, "not_measured")), other.at("not_measured"));
  EXPECT_EQ(Json(ids_of(report, "not_pledged")), other.at("not_pledged"));
  if (pairs.empty()) return;
  const Json& overall = report.at("overall");
  EXPECT_NEAR(overall.at("epoch_error").at("mean_absolute").get<double>(), other.at("mean_absolute").get<double>(),
              1e-12);
  EXPECT_EQ(overall.at("cases_with_other_bytes"), other.at("other_bytes"));
  EXPECT_EQ(overall.at("cases_with_bytes"), pairs.size());
  EXPECT_EQ(overall.at("baseline_error").at("count"), 0);
  for (std::size_t i = 0; i < pairs.size(); ++i)
    EXPECT_NEAR(report.at("cases")[i].at("memory_error").get<double>(), other.at("memory")[i].get<double>(), 1e-12);
}

/// Compares the strategies that are first.
void expect_same_order(const Json& report, const Json& fastest) {
  ASSERT_EQ(report.at("groups").size(), 1u);
  const Json& group = report.at("groups")[0];
  const auto strategy_of = [&](const Json& id) {
    for (const Json& one : report.at("cases"))
      if (one.at("case_id") == id) return one.at("strategy");
    return Json();
  };
  EXPECT_EQ(group.at("best"), strategy_of(fastest.at("measured")));
  EXPECT_EQ(group.at("picked"), strategy_of(fastest.at("predicted")));
  EXPECT_TRUE(group.at("baseline_picked").is_null());
}

TEST_F(PledgeCommand, IsJudgedAsPythonJudgesIt) {
  for (const std::string seed : {"1", "5"}) {
    const std::string file = "p" + seed + ".json", run = "run" + seed;
    const Outcome planned = pledge(file, {}, seed);
    ASSERT_EQ(planned.status, 0) << planned.err;
    ASSERT_EQ(measure(run, seed).status, 0);
    const Outcome outcome = judge(file, run);
    ASSERT_EQ(outcome.status, 0) << outcome.err << outcome.out;
    const Json report = Json::parse(outcome.out), other = python_judges(file, run, "aimos-v100");
    expect_same_judgement(report, other);
    EXPECT_GE(report.at("cases").size(), 3u);
    expect_same_order(report, other.at("fastest"));
    EXPECT_EQ(report.at("pledge").at("run_began_after"), true);
  }
}

// The cases of a pledge are a suite: what it takes to measure every point.
TEST_F(PledgeCommand, ItsOwnCasesMeasureEveryPoint) {
  ASSERT_EQ(pledge("p.json", {"--vary", "nb=1,2", "--set", "inputs=resident", "--set", "overlap=1"}).status, 0);
  const Json file = read_json(folder_ / "p.json");
  Json suite = {{"name", "pledged"}, {"defaults", {{"epochs", 2}}}, {"cases", Json::array()}};
  for (const Json& point : file.at("points")) {
    Json one = point.at("case");
    for (const char* place : {"device", "comm", "cluster", "numerics", "kernels", "epochs"}) one.erase(place);
    suite["cases"].push_back(std::move(one));
  }
  write_text(folder_ / "pledged.json", suite.dump());
  ASSERT_EQ(strobe({"run", "pledged.json", "--out", "run"}).status, 0);
  const Outcome outcome = judge("p.json", "run");
  ASSERT_EQ(outcome.status, 0) << outcome.err << outcome.out;
  const Json report = Json::parse(outcome.out);
  EXPECT_EQ(report.at("cases").size(), file.at("points").size());
  EXPECT_TRUE(report.at("left_out").empty());
  expect_same_judgement(report, python_judges("p.json", "run", "aimos-v100"));
}

TEST_F(PledgeCommand, AnotherSeedIsAnotherCase) {
  ASSERT_EQ(pledge("p.json").status, 0);
  ASSERT_EQ(measure("run", "5").status, 0);
  const Outcome outcome = judge("p.json", "run");
  EXPECT_EQ(outcome.status, 1);  // nothing is judged
  const Json report = Json::parse(outcome.out);
  EXPECT_TRUE(report.at("cases").empty());
  expect_same_judgement(report, python_judges("p.json", "run", "aimos-v100"));
  EXPECT_NE(report.at("left_out")[0].at("reason").get<std::string>().find("seed 5 instead of 1"), std::string::npos)
      << report.at("left_out")[0];
}

TEST_F(PledgeCommand, AFileChangedInAnyByteIsRefused) {
  ASSERT_EQ(pledge("p.json").status, 0);
  ASSERT_EQ(measure("run").status, 0);
  const std::string text = read_text(folder_ / "p.json");
  std::mt19937 draw(7);
  for (int i = 0; i < 36; ++i) {
    std::string changed = text;
    const std::size_t place = draw() % text.size();
    if (i % 3 == 0) {
      changed.insert(place, 1, i % 2 == 0 ? ' ' : '0');
    } else if (i % 3 == 1) {
      changed.erase(place, 1);
    } else {
      const char other = static_cast<char>(' ' + draw() % 95);
      changed[place] = other == text[place] ? '~' : other;
    }
    if (changed == text) continue;
    write_text(folder_ / "changed.json", changed);
    expect_refusal(judge("changed.json", "run"), 2, {"changed.json"});
  }
  Json json = Json::parse(text);
  json.erase("sha256");
  write_text(folder_ / "changed.json", json.dump(2) + "\n");
  expect_refusal(judge("changed.json", "run"), 2, {"changed.json", "changed since it was pledged"});
  // A new digest makes a new pledge, with another hash; a form that nobody wrote is refused.
  json["points"] = 3;
  write_text(folder_ / "changed.json", with_digest(json).dump(2) + "\n");
  expect_refusal(judge("changed.json", "run"), 2, {"changed.json", "not a pledge"});
}

TEST_F(PledgeCommand, ARunMadeBeforeIsNoVerdict) {
  ASSERT_EQ(measure("run").status, 0);
  ASSERT_EQ(pledge("p.json").status, 0);
  const std::string pledged = read_json(folder_ / "p.json").at("date_utc");
  date_run("run", "2025-12-31T23:59:59Z");
  ASSERT_LT(std::string("2025-12-31T23:59:59Z"), pledged);
  const Outcome before = judge("p.json", "run");
  EXPECT_EQ(before.status, 6) << before.err;
  const Json report = Json::parse(before.out);
  EXPECT_EQ(report.at("pledge").at("run_began_after"), false);
  EXPECT_NE(report.at("void")[0].get<std::string>().find("before the pledge of " + pledged), std::string::npos);
  for (const Json& goal : report.at("goals")) EXPECT_TRUE(goal.at("reached").is_null());
  date_run("run", pledged);  // the same second counts as later
  EXPECT_EQ(judge("p.json", "run").status, 0);
  fs::remove(folder_ / "run" / "env.json");
  const Outcome silent = judge("p.json", "run");
  EXPECT_EQ(silent.status, 6);
  EXPECT_TRUE(Json::parse(silent.out).at("pledge").at("run_began_after").is_null());
}

TEST_F(PledgeCommand, OtherBytesEndWithStatusOne) {
  ASSERT_EQ(pledge("p.json").status, 0);
  ASSERT_EQ(measure("run").status, 0);
  Json summary = read_json(folder_ / "run" / "summary.json");
  for (Json& row : summary["rows"])
    if (row["strategy"]["name"] == "snapshot" && row["ranks"] == 2) row["sent_bytes"]["redistribute"] = 1;
  write_text(folder_ / "run" / "summary.json", without_digests(summary).dump());
  const Outcome outcome = judge("p.json", "run");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(Json::parse(outcome.out).at("overall").at("cases_with_other_bytes"), 1);
  EXPECT_EQ(python_judges("p.json", "run", "aimos-v100").at("other_bytes"), 1);
}

TEST_F(PledgeCommand, PointsOfOneClusterAreJudged) {
  const std::string changed = "aimos-v100:gpu.flops_fp32_per_second=1e12";
  ASSERT_EQ(pledge("p.json", {"--clusters", "aimos-v100", "--clusters", changed, "--nodes", "1"}).status, 0);
  ASSERT_EQ(measure("run").status, 0);
  expect_refusal(judge("p.json", "run"), 2, {"--cluster", "aimos-v100 and " + changed});
  expect_refusal(judge("p.json", "run", {"--cluster", "p5-h100"}), 2, {"--cluster", "p5-h100"});
  const Json file = read_json(folder_ / "p.json");
  ASSERT_EQ(file.at("clusters").size(), 2u);
  EXPECT_NE(file.at("clusters")[0].at("sha256"), file.at("clusters")[1].at("sha256"));
  for (const std::string& cluster : {std::string("aimos-v100"), changed}) {
    const Outcome outcome =
        judge("p.json", "run", {"--cluster", cluster, "--out", "judged-" + std::to_string(cluster.size())});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const Json report = Json::parse(outcome.out), other = python_judges("p.json", "run", cluster);
    EXPECT_EQ(report.at("cases").size(), other.at("pairs").size());
    EXPECT_NEAR(report.at("overall").at("epoch_error").at("mean_absolute").get<double>(),
                other.at("mean_absolute").get<double>(), 1e-12);
    const auto elsewhere = std::count_if(file.at("points").begin(), file.at("points").end(),
                                         [&](const Json& point) { return point.at("cluster") != cluster; });
    EXPECT_GT(elsewhere, 0);
    EXPECT_EQ(ids_of(report, "other_cluster").size(), static_cast<std::size_t>(elsewhere));
  }
}

TEST_F(PledgeCommand, KeepsItsSchema) {
  const std::string python = testing_results::find_python("jsonschema");
  if (python.empty()) GTEST_SKIP() << "no Python with jsonschema (apt: python3-jsonschema)";
  const auto valid = [&](const std::string& file) {
    const std::string schema = std::string(STROBE_SOURCE_DIR) + "/results/schema/pledge.schema.json";
    return testing_results::validate_by_schema(python, schema, path(file), path("said")) == 0;
  };
  ASSERT_LE(pledge("p.json", {"--set", "memory_limit_gib=0.0001"}).status, 1);
  EXPECT_TRUE(valid("p.json")) << read_text(path("said"));
  const Json file = read_json(folder_ / "p.json");
  for (const auto& [key, value] : file.items()) {
    Json less = file;
    less.erase(key);
    write_text(path("less.json"), less.dump());
    EXPECT_FALSE(valid("less.json")) << key;
  }
  for (const auto& [key, value] : file.at("points")[0].items()) {
    Json less = file;
    less["points"][0].erase(key);
    write_text(path("less.json"), less.dump());
    EXPECT_FALSE(valid("less.json")) << key;
  }
}

TEST_F(PledgeCommand, WrongRequestsAreRefused) {
  ASSERT_EQ(pledge("p.json").status, 0);
  const std::string before = read_text(folder_ / "p.json");
  expect_refusal(pledge("p.json"), 2, {"--pledge", "p.json exists"});
  EXPECT_EQ(read_text(folder_ / "p.json"), before);
  expect_refusal(pledge("nowhere/p.json"), 2, {"--pledge", "nowhere"});
  ASSERT_EQ(measure("run", "1", "1").status, 0);
  expect_refusal(strobe({"validate", "--pledge", "p.json"}), 2, {"--pledge", "--measured RUN"});
  expect_refusal(judge("missing.json", "run"), 1, {"missing.json"});
  expect_refusal(judge("run/summary.json", "run"), 2, {"not a pledge"});
  expect_refusal(judge("p.json", "nowhere"), 2, {"--measured", "nowhere"});
  expect_refusal(judge("p.json", "run", {"--filter", "r1#"}), 2, {"--filter", "as a whole"});
  expect_refusal(judge("p.json", "run", {"--set", "epochs=1"}), 2, {"--set"});
  expect_refusal(judge("p.json", "run", {"smoke"}), 2, {"SUITE"});
  expect_refusal(strobe({"validate", "--pledge", "p.json", "--published", "esdg"}), 2, {"--pledge"});
  write_text(folder_ / "v.csv", "case_id,status\r\nx,ok\r\n");
  expect_refusal(judge("p.json", "v.csv"), 2, {"--measured", "whole cases"});
}

}  // namespace
}  // namespace strobe::cli_test
