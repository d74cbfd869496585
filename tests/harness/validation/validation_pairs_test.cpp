// Which cases are compared and which are left out, and a whole validation from suite to verdict.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "backends/cluster.hpp"
#include "core/errors.hpp"
#include "core/system/interrupt.hpp"
#include "harness/validation/validation_report.hpp"

namespace strobe {
namespace {

Suite two_cases() {
  return expand_suite(Json::parse(R"({
    "name": "two",
    "defaults": {"workload": {"name": "uniform", "steps": 9, "vertices": 60}, "epochs": 3, "warmup": 1, "repeat": 2},
    "cases": [{"strategy": "sequential"}, {"strategy": "snapshot", "ranks": 2}]})"),
                      {});
}

/// A cluster file with `cases` under /calibration/cases.
class CalibratedFile {
 public:
  explicit CalibratedFile(const Json& cases) {
    static int number = 0;
    path_ = (std::filesystem::temp_directory_path() /
             ("strobe-calibrated-" + std::to_string(getpid()) + "-" + std::to_string(number++) + ".json"))
                .string();
    Json json = load_cluster("aimos-v100")->raw;
    json["calibration"] = {{"cases", cases}};
    std::ofstream(path_) << json.dump();
  }
  ~CalibratedFile() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(ValidationPairs, ASimulatedCaseDiffersInWhereItRunsOnly) {
  const Suite suite = two_cases();
  const PairSelection selection = select_pairs(suite, "aimos-v100");
  ASSERT_EQ(selection.pairs.size(), 2u);
  EXPECT_TRUE(selection.left_out.empty());
  EXPECT_FALSE(selection.calibrated);
  for (const ValidationPair& pair : selection.pairs) {
    Json measured = case_to_json(pair.measured), simulated = case_to_json(pair.simulated);
    EXPECT_EQ(simulated.at("device"), "sim");
    EXPECT_EQ(simulated.at("numerics"), "none");
    EXPECT_EQ(simulated.at("cluster"), "aimos-v100");
    for (const char* key : {"device", "comm", "cluster", "numerics", "repeat"})
      measured.erase(key), simulated.erase(key);
    EXPECT_EQ(measured, simulated);
  }
}

TEST(ValidationPairs, CasesUsedForCalibrationAreLeftOutByIdByJsonAndByWorkload) {
  const Suite suite = two_cases();
  const std::string id = case_id(suite.cases[1]);
  const Json other = Json{{"workload", {{"name", "power-law"}}}, {"model", {{"name", "tm-gcn"}}}};
  const CalibratedFile unrelated(Json::array({other, "chess/tm-gcn/snapshot/cpu/r1#000000"}));
  EXPECT_EQ(select_pairs(suite, unrelated.path()).pairs.size(), 2u);
  // All cases have the same workload, so none is left. The message gives the number and the names.
  for (const Json& used : {Json(id), case_to_json(suite.cases[0]), Json("uniform/cd-gcn/pss/cpu/r4#123456")}) {
    const CalibratedFile file(Json::array({other, used}));
    try {
      select_pairs(suite, file.path());
      FAIL() << used.dump();
    } catch (const InvalidRequest& error) {
      EXPECT_NE(error.message().find("nothing is left to judge: of 2 cases 2 were used for calibration"),
                std::string::npos)
          << error.message();
    }
  }
}

TEST(ValidationPairs, OnlyTheCalibratedWorkloadIsLeftOutAndSaidSo) {
  const Suite suite = expand_suite(Json::parse(R"({"cases": [
    {"workload": {"name": "uniform", "steps": 9, "vertices": 60}},
    {"workload": {"name": "uniform", "steps": 10, "vertices": 60}}]})"),
                                   {});
  const CalibratedFile file(Json::array({case_to_json(suite.cases[0])}));
  const PairSelection selection = select_pairs(suite, file.path());
  ASSERT_EQ(selection.pairs.size(), 1u);
  EXPECT_EQ(selection.pairs[0].measured.workload.at("steps"), 10);
  ASSERT_EQ(selection.left_out.size(), 1u);
  EXPECT_EQ(selection.left_out[0].id, case_id(suite.cases[0]));
  EXPECT_EQ(selection.left_out[0].cause, "calibration");
}

TEST(ValidationPairs, RanksThatDoNotFitAreLeftOutAndSimulatedCasesRefused) {
  const PairSelection selection = select_pairs(two_cases(), "aimos-v100:nodes=1,gpus_per_node=1");
  ASSERT_EQ(selection.left_out.size(), 1u);
  EXPECT_EQ(selection.left_out[0].cause, "cannot_run");
  EXPECT_NE(selection.left_out[0].reason.find("2 ranks do not fit"), std::string::npos);
  const Suite simulated = expand_suite(
      Json::parse(R"({"cases": [{"workload": {"name": "uniform", "steps": 9, "vertices": 60}, "device": "sim"}]})"),
      {});
  EXPECT_THROW(select_pairs(simulated, "aimos-v100"), InvalidRequest);
}

/// A pair without runs: samples of `measured` and `predicted` seconds, 6 epochs each.
PairResult made(const Case& c, double measured, double predicted, std::uint64_t sent = 100) {
  PairResult result{{case_id(c), c, simulated_case(c, "aimos-v100")}, {}, {}, {}, {}, {}, predicted / 2};
  for (const auto& [seconds, run] : {std::pair{measured, &result.measured}, {predicted, &result.simulated}}) {
    for (int e = 0; e < 6; ++e) {
      for (int rank = 0; rank < c.ranks; ++rank) {
        EpochSample sample;
        sample.epoch = e;
        sample.rank = rank;
        sample.epoch_seconds = sample.busy_seconds = seconds * (run == &result.measured ? 0.98 + 0.01 * e : 1);
        sample.phase_seconds[0] = sample.epoch_seconds;
        sample.peak_host_bytes = run == &result.measured ? 1000 : 1100;
        sample.sent_bytes[0] = run == &result.measured ? 100 : sent;
        run->samples.push_back(sample);
      }
    }
  }
  return result;
}

Case with_strategy(const char* strategy, int ranks, const char* model = "tm-gcn") {
  return case_from_json(Json{{"workload", {{"name", "uniform"}, {"steps", 9}, {"vertices", 60}}},
                             {"strategy", strategy},
                             {"model", model},
                             {"ranks", ranks}},
                        "");
}

TEST(ValidationJudgement, ErrorsBiasCoverageAndPicksAreThoseOfTheSamples) {
  // Medians of the measured epochs are 1.005 times the value given.
  std::vector<PairResult> results = {made(with_strategy("sequential", 1), 2, 2.01),
                                     made(with_strategy("pss", 2), 1, 1.206),
                                     made(with_strategy("snapshot", 2), 4, 3.015)};
  results[0].band = PredictedBand{1.9, 2.1};
  results[1].band = PredictedBand{1.1, 1.4};
  const Judgement found = judge_pairs(results);
  EXPECT_EQ(found.judged, 3u);
  EXPECT_NEAR(found.cases[0].error, 0, 1e-9);
  EXPECT_NEAR(found.cases[1].error, 0.2, 1e-9);
  EXPECT_NEAR(found.cases[2].error, -0.25, 1e-9);
  EXPECT_NEAR(found.epoch.mean_absolute, 0.15, 1e-9);
  EXPECT_NEAR(found.epoch.bias, -0.05 / 3, 1e-9);
  EXPECT_NEAR(found.cases[1].memory_error, 0.1, 1e-12);
  EXPECT_EQ(found.covered.of, 2u);
  EXPECT_EQ(found.covered.right, 1u);
  ASSERT_EQ(found.groups.size(), 1u);
  EXPECT_DOUBLE_EQ(*found.groups[0].tau, 1);
  EXPECT_TRUE(found.groups[0].right);
  EXPECT_EQ(found.groups[0].picked, "pss r2");
  EXPECT_EQ(found.bytes_wrong, 0u);
}

TEST(ValidationJudgement, AWrongPickCostsTimeAndOneWithinTheIntervalCountsAsRight) {
  const Judgement wrong =
      judge_pairs({made(with_strategy("sequential", 1), 1, 2), made(with_strategy("pss", 2), 2, 1)});
  EXPECT_FALSE(wrong.groups.at(0).right);
  EXPECT_NEAR(wrong.groups[0].loss, 1, 1e-9);
  EXPECT_DOUBLE_EQ(*wrong.groups[0].tau, -1);
  EXPECT_FALSE(wrong.goals[3].reached);
  const Judgement near =
      judge_pairs({made(with_strategy("sequential", 1), 1, 2), made(with_strategy("pss", 2), 1.01, 1)});
  EXPECT_TRUE(near.groups.at(0).right);
  EXPECT_TRUE(near.groups[0].by_interval);
  EXPECT_NEAR(near.groups[0].loss, 0.01, 1e-9);
}

TEST(ValidationVoid, AMachineThatDriftedOrIsBusyAllowsNoVerdict) {
  ValidationReport report;
  report.judgement = judge_pairs({made(with_strategy("sequential", 1), 1, 1)});
  report.calibrated = true;
  EXPECT_TRUE(void_reasons(report).empty());
  report.machine = {{1.0, 1.04}, {0.96, 1.0}};
  EXPECT_TRUE(void_reasons(report).empty());
  EXPECT_TRUE(validation_to_json(report)["goals"][1]["reached"].is_boolean());
  report.machine = {{1.0, 1.04}, {0.93, 1.0}};
  ASSERT_EQ(void_reasons(report).size(), 1u);
  EXPECT_NE(void_reasons(report)[0].find("products ran at 0.93"), std::string::npos);
  EXPECT_NE(void_reasons(report)[0].find("after"), std::string::npos);
  EXPECT_NE(validation_text(report, 0).find("VOID"), std::string::npos);
  EXPECT_TRUE(validation_to_json(report)["goals"][1]["reached"].is_null());
  report.machine.clear();
  EpochSeconds& epoch = *report.judgement.cases[0].measured.epoch_seconds;
  epoch.ci95_low = 0.95 * epoch.median;
  epoch.ci95_high = 1.1 * epoch.median;
  EXPECT_TRUE(void_reasons(report).empty());
  epoch.ci95_high = 1.2 * epoch.median;
  EXPECT_EQ(void_reasons(report).size(), 1u);
  report.calibrated = false;
  EXPECT_TRUE(void_reasons(report).empty());
}

TEST(ValidationJudgement, OtherBytesFailuresAndFalseFitsAreFound) {
  std::vector<PairResult> results = {made(with_strategy("sequential", 1), 1, 1),
                                     made(with_strategy("pss", 2), 1, 1, 101),
                                     made(with_strategy("snapshot", 2), 1, 1)};
  results[2].measured = {};
  results[2].measured.status = "out_of_memory";
  results[2].measured.reason = "rank 0";
  const Judgement found = judge_pairs(results);
  EXPECT_EQ(found.bytes_wrong, 1u);
  EXPECT_FALSE(found.goals[0].reached);
  EXPECT_EQ(found.cases[1].bytes_differ, "redistribute 202 for 200");
  EXPECT_EQ(found.false_fits, 1u);
  EXPECT_EQ(found.failed, 1u);
  EXPECT_EQ(found.judged, 2u);
  results[2].simulated = results[2].measured;
  EXPECT_EQ(judge_pairs(results).failed, 0u);  // both ran out of memory: they agree
}

TEST(ValidationJudgement, ModelsAreGroupsOfTheirOwnAndOneStrategyIsNoGroup) {
  const Judgement found = judge_pairs({made(with_strategy("sequential", 1), 1, 1), made(with_strategy("pss", 2), 2, 2),
                                       made(with_strategy("sequential", 1, "cd-gcn"), 1, 1)});
  ASSERT_EQ(found.groups.size(), 1u);
  EXPECT_EQ(found.groups[0].group, "uniform/tm-gcn");
}

TEST(Validation, TwoCasesEndToEndSendThePredictedBytes) {
  const PairSelection selection = select_pairs(two_cases(), "aimos-v100");
  std::vector<std::string> kept, ran;
  PairListener listener;
  listener.begin = [](const std::string&) {};
  listener.end = [&](const std::string& what, const CaseResult&) { ran.push_back(what); };
  listener.keep = [&](const PairResult& result) { kept.push_back(result.pair.id); };
  const std::vector<PairResult> results = measure_pairs(selection.pairs, true, listener);
  EXPECT_EQ(ran.size(), 6u);  // two rounds of real runs, each simulated once
  EXPECT_EQ(ran[0], selection.pairs[0].id);
  EXPECT_EQ(ran[1], case_id(selection.pairs[0].simulated));
  // Results are kept after every round, so that a kill loses only the current one.
  EXPECT_EQ(kept, (std::vector<std::string>{selection.pairs[0].id, selection.pairs[1].id, selection.pairs[0].id,
                                            selection.pairs[1].id}));
  const Judgement found = judge_pairs(results);
  EXPECT_EQ(found.judged, 2u) << found.cases[0].measured.reason << found.cases[0].predicted.reason;
  EXPECT_EQ(found.bytes_wrong, 0u);
  EXPECT_TRUE(found.goals[0].reached);
  EXPECT_GT(found.cases[1].measured.sent_bytes->back(), 0u);
  EXPECT_EQ(found.cases[0].measured.epoch_seconds->n, 6);
  for (const PairResult& result : results) {
    EXPECT_GT(result.baseline_seconds, 0);
    double parts = 0;
    for (const auto& [name, part] : result.simulated_parts) parts += part.seconds;
    EXPECT_NEAR(parts, judge_pairs({result}).cases[0].predicted_seconds, 0.05 * parts);
  }
  const ValidationReport report{"two", "aimos-v100", false, {}, found};
  EXPECT_NE(validation_text(report, 2).find("largest errors explained"), std::string::npos);
  EXPECT_EQ(validation_to_json(report).at("cases").size(), 2u);
  const std::string csv = validation_csv(found);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 3);
}

TEST(Validation, RoundsThatWereRunBeforeAnInterruptionAreKept) {
  struct Reset {
    ~Reset() { stop_signal() = 0; }
  } reset;
  const PairSelection selection = select_pairs(two_cases(), "aimos-v100");
  std::vector<PairResult> kept;
  int begun = 0;
  PairListener listener;
  listener.begin = [&](const std::string&) {
    if (++begun == 6) stop_signal() = 2;  // after two cases, their simulations, and the first case again: the second
  };
  listener.end = [](const std::string&, const CaseResult&) {};
  listener.keep = [&](const PairResult& result) { kept.push_back(result); };
  EXPECT_THROW(measure_pairs(selection.pairs, true, listener), Interrupted);
  ASSERT_EQ(kept.size(), 3u);
  for (const std::size_t i : {0u, 1u}) {
    EXPECT_EQ(kept[i].pair.id, selection.pairs[i].id);
    EXPECT_EQ(kept[i].measured.status, "interrupted");
    EXPECT_EQ(kept[i].measured.reason, "1 of 2 rounds were run");
    ASSERT_FALSE(kept[i].measured.samples.empty());
    EXPECT_EQ(kept[i].measured.samples.back().repetition, 0);
    EXPECT_EQ(kept[i].simulated.status, "ok");
  }
  EXPECT_EQ(kept[2].pair.id, selection.pairs[0].id);
  EXPECT_EQ(kept[2].measured.status, "ok");
  EXPECT_EQ(kept[2].measured.samples.back().repetition, 1);
}

}  // namespace
}  // namespace strobe
