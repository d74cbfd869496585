// `strobe validate`: its output, files and refusals, on a suite of two cases and against published values.
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <thread>

#include "tests/cli/program.hpp"

namespace strobe::cli_test {
namespace {

namespace fs = std::filesystem;

constexpr const char* two_cases = R"({"defaults": {"workload": {"name": "uniform", "steps": 9, "vertices": 60},
  "epochs": 2, "repeat": 2}, "cases": [{"strategy": "sequential"}, {"strategy": "snapshot", "ranks": 2}]})";

class Validate : public Program {
 protected:
  Outcome validate(std::vector<std::string> arguments) {
    std::vector<std::string> words = {"validate", suite(two_cases), "--cluster", "aimos-v100"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return strobe(words);
  }
};

TEST_F(Validate, JudgesTwoCasesAndKeepsBothRunsRows) {
  const Outcome outcome = validate({"--out", "v"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  for (const char* words : {"NOT calibrated", "2 judged", "plain roofline plus ring", "largest errors explained",
                            "bytes by traffic equal", "reached", "fastest"})
    EXPECT_NE(outcome.out.find(words), std::string::npos) << words << "\n" << outcome.out;
  EXPECT_NE(outcome.err.find("warning: aimos-v100 is not calibrated"), std::string::npos) << outcome.err;
  const Json report = read_json(folder_ / "v" / "validation.json");
  EXPECT_EQ(report.at("overall").at("judged"), 2);
  EXPECT_TRUE(report.at("machine").is_null());  // the file describes another machine
  EXPECT_EQ(report.at("overall").at("cases_with_other_bytes"), 0);
  for (const char* run : {"measured", "predicted"}) {
    const Json rows = read_json(folder_ / "v" / run / "summary.json").at("rows");
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0].at("time_source"), std::string(run) == "measured" ? "wall" : "virtual");
    EXPECT_EQ(rows[1].at("sent_bytes"), report.at("cases")[1].at(run).at("sent_bytes"));
  }
  EXPECT_NE(read_text(folder_ / "v" / "validation.csv").find("measured_seconds"), std::string::npos);
  expect_refusal(validate({"--out", "v"}), 2, {"--out"});  // a second run would overwrite the first
}

TEST_F(Validate, ACalibratedClusterIsComparedWithTheMachineAsItIs) {
  const fs::path measured = fs::path(STROBE_SOURCE_DIR) / "results" / "measured" / "epyc-zen4-2core-2026-11-25";
  const std::string cluster = (measured / "cluster.json").string();
  Json json = Json::parse(two_cases);
  json["cases"][0]["memory_limit_gib"] = 0.01;  // the limit of the case, not of the machine
  const Outcome outcome = strobe({"validate", suite(json.dump()), "--cluster", cluster, "--out", "v"});
  // The file belongs to another machine, so there is usually no verdict.
  const Json why = read_json(folder_ / "v" / "validation.json").at("void");
  ASSERT_EQ(outcome.status, why.empty() ? 0 : 6) << outcome.err;
  EXPECT_EQ(outcome.out.find("VOID") == std::string::npos, why.empty()) << outcome.out;
  EXPECT_NE(outcome.out.find("this machine, as a share of what the cluster file says: products "), std::string::npos)
      << outcome.out;
  const Json machine = read_json(folder_ / "v" / "validation.json").at("machine");
  for (const char* when : {"before", "after"}) {
    for (const char* what : {"flops", "memory"}) EXPECT_GT(machine.at(when).at(what).get<double>(), 0) << when << what;
  }
}

TEST_F(Validate, EveryKeyOfTheJsonIsDocumented) {
  const Outcome outcome = validate({"--json", "--out", "v"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const std::string guide = read_text(fs::path(STROBE_SOURCE_DIR) / "docs" / "reference" / "validation_files.md");
  const Json json = Json::parse(outcome.out);
  std::set<std::string> keys;
  for (const Json* object : {&json, &json.at("overall"), &json.at("cases")[0], &json.at("groups")[0]})
    for (const auto& [key, value] : object->items()) keys.insert(key);
  for (const std::string& key : keys) EXPECT_NE(guide.find("`" + key + "`"), std::string::npos) << key;
}

TEST_F(Validate, DrawsPredictedAgainstMeasured) {
  const Outcome outcome = validate({"--out", "v", "--figure", "epochs.png"});
  if (outcome.status == 5) GTEST_SKIP() << outcome.err;
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_GT(fs::file_size(path("epochs.png")), 10000u);
  EXPECT_GT(fs::file_size(path("epochs.svg")), 10000u);
}

TEST_F(Validate, ACaseThatRunsOutOfMemoryIsARowAndTheOthersAreJudged) {
  Json json = Json::parse(two_cases);
  json["cases"][0]["memory_limit_gib"] = 1e-5;
  const Outcome outcome = strobe({"validate", suite(json.dump()), "--cluster", "aimos-v100", "--out", "v"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;  // the prediction runs out of memory too
  EXPECT_NE(outcome.out.find("2 cases, 1 judged, 0 failed"), std::string::npos) << outcome.out;
  for (const char* run : {"measured", "predicted"}) {
    const Json rows = read_json(folder_ / "v" / run / "summary.json").at("rows");
    EXPECT_EQ(rows[0].at("status"), "out_of_memory");
    EXPECT_EQ(rows[1].at("status"), "ok");
  }
}

/// Rows of a run directory; none while it has no summary.
Json rows_of(const fs::path& run) {
  const Json summary = Json::parse(read_text(run / "summary.json"), nullptr, false);
  return summary.is_object() ? summary.at("rows") : Json::array();
}

std::map<std::string, std::set<int>> repetitions_of(const fs::path& run) {
  std::map<std::string, std::set<int>> repetitions;
  std::istringstream text(read_text(run / "samples.jsonl"));
  for (std::string line; std::getline(text, line) && !text.eof();) {
    const Json sample = Json::parse(line);
    repetitions[sample.at("case_id")].insert(sample.at("repetition").get<int>());
  }
  return repetitions;
}

TEST_F(Validate, AKilledValidationLeavesTheRoundsThatWereComplete) {
  Json json = Json::parse(two_cases);
  json["defaults"]["repeat"] = 1000000;
  const pid_t pid = start({STROBE_BINARY, "validate", suite(json.dump()), "--cluster", "aimos-v100", "--out", "v"});
  const fs::path measured = folder_ / "v" / "measured";
  const auto rounds_of_second = [&] {
    const Json rows = rows_of(measured);
    return rows.size() < 2 ? 0 : rows[1].at("epoch_seconds").at("n").get<int>() / 2;  // epochs of a round: 2
  };
  for (int tries = 0; tries < 1500 && rounds_of_second() < 3; ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  kill(pid, SIGKILL);
  finish(pid);
  ASSERT_GE(rounds_of_second(), 3);
  const auto repetitions = repetitions_of(measured);
  for (const Json& row : rows_of(measured)) {
    EXPECT_EQ(row.at("status"), "interrupted");
    const auto rounds = row.at("epoch_seconds").at("n").get<std::size_t>() / 2;
    EXPECT_EQ(row.at("reason"), std::to_string(rounds) + " of 1000000 rounds were run");
    // The samples of a round are written before its row.
    EXPECT_GE(repetitions.at(row.at("case_id")).size(), rounds);
    EXPECT_LE(repetitions.at(row.at("case_id")).size(), rounds + 1);
  }
  ASSERT_EQ(rows_of(folder_ / "v" / "predicted").size(), 2u);
  for (const Json& row : rows_of(folder_ / "v" / "predicted")) EXPECT_EQ(row.at("status"), "ok");
  EXPECT_FALSE(fs::exists(folder_ / "v" / "validation.json"));
}

TEST_F(Validate, RefusesWhatCannotBeJudged) {
  expect_refusal(strobe({"validate"}), 2, {"--cluster"});
  expect_refusal(strobe({"validate", "--cluster", "aimos-v10"}), 2, {"--cluster", "aimos-v100"});
  expect_refusal(strobe({"validate", "--cluster", "nowhere.json"}), 2, {"--cluster"});
  expect_refusal(strobe({"validate", "validat", "--cluster", "aimos-v100"}), 2, {"SUITE", "did you mean 'validate'?"});
  expect_refusal(validate({"--filter", "nothing-like-it"}), 2, {"--filter"});
  expect_refusal(validate({"--figure", "f.pdf"}), 2, {"--figure", ".png"});
  expect_refusal(validate({"--set", "device=sim"}), 2, {"itself simulated"});
  EXPECT_FALSE(fs::exists(folder_ / "runs"));
}

TEST_F(Validate, NothingLeftAfterCalibrationIsRefusedWithItsCount) {
  Json cluster = read_json(fs::path(STROBE_SOURCE_DIR) / "backends" / "clusters" / "aimos-v100.json");
  cluster["calibration"] = {{"cases", {"uniform/tm-gcn/sequential/cpu/r1#000000"}}};
  write_text(folder_ / "this.json", cluster.dump());
  const Outcome outcome = strobe({"validate", suite(two_cases), "--cluster", "this.json"});
  expect_refusal(outcome, 2, {"of 2 cases 2 were used for calibration"});
}

TEST_F(Validate, PublishedPapersAreNamedAndNothingElseGoesWithThem) {
  expect_refusal(strobe({"validate", "--published", "esgd"}), 2, {"--published", "did you mean 'esdg'?"});
  expect_refusal(strobe({"validate", "--published", "esdg", "--cluster", "aimos-v100"}), 2, {"--cluster"});
  write_text(folder_ / "file", "");
  expect_refusal(strobe({"validate", "--published", "esdg", "--out", "file"}), 2, {"--out"});
  const Outcome outcome = strobe({"validate", "--published", "esdg", "--out", "p"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("32 values predicted, 7 of them withheld"), std::string::npos) << outcome.out;
  const Json kept = read_json(folder_ / "p" / "published.json");
  EXPECT_EQ(kept.at("papers")[0].at("paper"), "esdg");
  EXPECT_EQ(kept.at("papers")[0].at("software"), "pytorch-eager:without=serialisation");
  const Json& overall = kept.at("overall");
  EXPECT_EQ(overall.at("software_time_error").at("count"), overall.at("time_error").at("count"));
  EXPECT_EQ(overall.at("software_ordered_pairs").at("of"), overall.at("ordered_pairs").at("of"));
}

TEST_F(Validate, PublicMeasurementsOfCollectivesAreJudgedByTable) {
  const Outcome outcome = strobe({"validate", "--published", "collectives", "--out", "p"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("goal: public measurements of collectives within 10 % on average"), std::string::npos);
  const Json kept = read_json(folder_ / "p" / "collectives.json");
  EXPECT_GE(kept.at("tables").size(), 5u);
  EXPECT_GT(kept.at("overall").at("count").get<int>(), 50);
  expect_refusal(strobe({"validate", "--published", "collectives", "--set", "ranks=2"}), 2, {"--set"});
}

}  // namespace
}  // namespace strobe::cli_test
