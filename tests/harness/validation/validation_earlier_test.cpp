// Measurements read from files: comparisons with them, values that stay absent, and refusals.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "backends/device.hpp"
#include "core/errors.hpp"
#include "harness/validation/earlier_measurements.hpp"
#include "harness/validation/validation_report.hpp"
#include "results/run/run_directory.hpp"

namespace strobe {
namespace {

namespace fs = std::filesystem;

const PairListener deaf{[](const std::string&) {}, [](const std::string&, const CaseResult&) {},
                        [](const PairResult&) {}};

Suite earlier_suite() {
  return expand_suite(Json::parse(R"({
    "name": "earlier",
    "defaults": {"workload": {"name": "uniform", "steps": 9, "vertices": 60}, "epochs": 3, "warmup": 1},
    "cases": [{"strategy": "sequential"}, {"strategy": "snapshot", "ranks": 2}]})"),
                      {});
}

/// One real run for all tests, and the paths of its files.
class ValidationEarlier : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = fs::temp_directory_path() / ("strobe-earlier-" + std::to_string(getpid()));
    fs::create_directories(folder_);
    results_ = measure_pairs(select_pairs(earlier_suite(), "aimos-v100").pairs, true, deaf);
    const Json environment{{"date_utc", "2026-11-26T12:00:00Z"}, {"host_class", {{"text", "a GPU that is gone"}}}};
    RunDirectory run((folder_ / "run").string(), plan_json(earlier_suite().cases), environment, false);
    for (const PairResult& result : results_) {
      run.append_samples(result.pair.id, result.measured.samples);
      run.add_row(measured_row(result));
    }
    write("validation.csv", validation_csv(judge_pairs(results_)));
  }
  static void TearDownTestSuite() { fs::remove_all(folder_); }

  static std::string path(const std::string& name) { return (folder_ / name).string(); }

  static std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return path(name);
  }

  /// The summary without the digests of its rows, because tests change these.
  static Json summary() {
    std::ifstream file(folder_ / "run" / "summary.json");
    Json json = Json::parse(file);
    for (Json& row : json.at("rows")) row.erase("sha256");
    return json;
  }

  static Judgement judged(const EarlierCases& cases) {
    std::vector<PairResult> results = earlier_results(select_pairs(cases.suite, "aimos-v100").pairs, cases);
    simulate_pairs(results, deaf);
    return judge_pairs(results);
  }

  /// The message with which `work` is refused.
  template <class Refusal, class Work>
  static std::string refusal(const Work& work) {
    try {
      work();
    } catch (const Refusal& error) {
      return error.what();
    }
    ADD_FAILURE() << "nothing was refused";
    return "";
  }

  static fs::path folder_;
  static std::vector<PairResult> results_;
};

fs::path ValidationEarlier::folder_;
std::vector<PairResult> ValidationEarlier::results_;

TEST_F(ValidationEarlier, ARunIsJudgedFromItsRowsAsItWasWhenItRan) {
  const Judgement now = judge_pairs(results_);
  for (const std::string& name : {path("run"), path("run/summary.json")}) {
    ASSERT_TRUE(holds_whole_cases(name));
    const EarlierCases cases = cases_of_run(name, "");
    EXPECT_EQ(cases.suite.name, "run");
    EXPECT_EQ(cases.origin.what(), name + ", 2026-11-26, a GPU that is gone");
    EXPECT_TRUE(cases.left_out.empty());
    EXPECT_EQ(cases.rows.at(results_[0].pair.id).samples.size(), results_[0].measured.samples.size());
    Json then = validation_to_json({"a", "b", false, {}, judged(cases)});
    Json same = validation_to_json({"a", "b", false, {}, now});
    for (Json* report : {&then, &same})
      for (Json& one : report->at("cases")) one.erase("explanation");
    EXPECT_EQ(then, same);
    EXPECT_TRUE(judged(cases).cases[0].parts.empty());  // these rows have no operations
    EXPECT_FALSE(now.cases[0].parts.empty());
  }
}

TEST_F(ValidationEarlier, OfACsvOnlyStatusAndMedianAreKnownAndNothingElseIsZero) {
  const Judgement now = judge_pairs(results_);
  ASSERT_FALSE(holds_whole_cases(path("validation.csv")));
  const EarlierCases cases = cases_of_csv(path("validation.csv"), earlier_suite(), "");
  EXPECT_EQ(cases.origin.what(), path("validation.csv") + ", nothing about the machine");
  const Judgement found = judged(cases);
  ASSERT_EQ(found.judged, 2u);
  for (const std::size_t i : {0u, 1u}) {
    EXPECT_EQ(found.cases[i].measured_seconds, now.cases[i].measured_seconds);
    EXPECT_EQ(found.cases[i].error, now.cases[i].error);
    EXPECT_EQ(found.cases[i].baseline_error, now.cases[i].baseline_error);
  }
  EXPECT_EQ(found.epoch.mean_absolute, now.epoch.mean_absolute);
  EXPECT_EQ(found.bytes_compared, 0u);
  EXPECT_FALSE(found.goals[0].reached);
  EXPECT_EQ(found.goals[0].found, "the measurements state no bytes");
  EXPECT_EQ(found.memory.count, 0u);
  EXPECT_EQ(found.phases[0].count, 0u);
  const Json one = validation_to_json({"a", "b", false, {}, found}).at("cases")[1];
  for (const char* key : {"phase_seconds", "sent_bytes", "peak_bytes", "ci95_low"}) {
    EXPECT_TRUE(one.at("measured").at(key).is_null()) << key;
    EXPECT_TRUE(one.at("measured").at("absent").contains(std::string("/") + key)) << key;
  }
  for (const char* key : {"bytes_equal", "memory_error"}) EXPECT_TRUE(one.at(key).is_null()) << key;
  EXPECT_TRUE(one.at("phase_error").at("compute").is_null());
  EXPECT_GT(one.at("predicted").at("sent_bytes").at("total"), 0);
}

TEST_F(ValidationEarlier, LinesAndCasesWithoutEachOtherAreNamedWithTheCause) {
  const std::string id = results_[0].pair.id, name = id.substr(0, id.find('#'));
  const std::string header = "case_id,measured_status,measured_seconds\r\n";
  const std::string mixed = write("mixed.csv", header + id + ",ok,0.5\r\n" + name + "#000000,ok,1\r\nother/x,ok,2\r\n");
  const EarlierCases cases = cases_of_csv(mixed, earlier_suite(), "");
  ASSERT_EQ(cases.suite.cases.size(), 1u);
  EXPECT_EQ(cases.rows.at(id).row.epoch_seconds->median, 0.5);
  ASSERT_EQ(cases.left_out.size(), 3u);
  EXPECT_EQ(cases.left_out[0].id, results_[1].pair.id);
  EXPECT_EQ(cases.left_out[0].cause, "not_measured");
  EXPECT_EQ(cases.left_out[1].id, name + "#000000");
  EXPECT_EQ(cases.left_out[1].cause, "not_in_suite");
  EXPECT_NE(cases.left_out[1].reason.find("it is " + id), std::string::npos) << cases.left_out[1].reason;
  EXPECT_EQ(cases.left_out[2].reason, "the suite has no such case");
  // Cases that the filter drops are not reported as left out.
  EXPECT_TRUE(cases_of_csv(mixed, earlier_suite(), id).left_out.empty());
  const std::string foreign = write("foreign.csv", header + name + "#000000,ok,1\n");
  EXPECT_NE(refusal<InvalidRequest>([&] { cases_of_csv(foreign, earlier_suite(), ""); }).find("no case in common"),
            std::string::npos);
  // A case with a status other than ok counts as a failed run. A case without a time, whose prediction failed, does
  // not.
  const EarlierCases failed = cases_of_csv(
      write("failed.csv", header + id + ",failed,\n" + results_[1].pair.id + ",ok,\n"), earlier_suite(), "");
  EXPECT_EQ(judged(failed).failed, 1u);
  ASSERT_EQ(failed.left_out.size(), 1u);
  EXPECT_EQ(failed.left_out[0].id, results_[1].pair.id);
}

TEST_F(ValidationEarlier, AnotherFileIsRefusedWithItsLine) {
  const auto said = [&](const std::string& text) {
    const std::string file = write("other.csv", text);
    return refusal<InvalidInput>([&] { cases_of_csv(file, earlier_suite(), ""); });
  };
  EXPECT_NE(said("source,target\n1,2\n").find("other.csv:1: neither a run directory"), std::string::npos);
  EXPECT_NE(said("").find("other.csv"), std::string::npos);
  const std::string header = "case_id,measured_status,measured_seconds\n";
  EXPECT_NE(said(header).find("no line follows"), std::string::npos);
  EXPECT_NE(said(header + "a,ok\n").find("other.csv:2: 2 cells under 3 columns"), std::string::npos);
  EXPECT_NE(said(header + "a,ok,-1\n").find("other.csv:2:6: measured_seconds is not above 0"), std::string::npos);
  EXPECT_NE(said(header + "a,ok,fast\n").find("other.csv:2:6"), std::string::npos);
  EXPECT_NE(said(header + "a,ok,1\na,ok,2\n").find("other.csv:3:1: a second line of a"), std::string::npos);
  const auto of_rows = [&](const Json& json) {
    const std::string file = write("summary.json", json.dump());
    return refusal<InvalidInput>([&] { cases_of_run(file, ""); });
  };
  EXPECT_NE(of_rows(Json{{"a", 1}}).find("not a summary.json"), std::string::npos);
  Json json = summary();
  json["rows"][0]["epoch_seconds"] = nullptr;
  EXPECT_NE(of_rows(json).find("is ok, but has no median"), std::string::npos);
  json = summary();
  json["rows"].push_back(json["rows"][0]);
  EXPECT_NE(of_rows(json).find("two rows are of the case"), std::string::npos);
}

TEST_F(ValidationEarlier, RowsThatAreNoMeasurementsAreLeftOutByName) {
  Json json = summary();
  json["rows"][0]["time_source"] = "virtual";
  json["rows"][0]["cluster"] = "p5-h100";
  json["rows"].push_back(json["rows"][1]);
  json["rows"][2]["case_id"] = "unknown";
  json["rows"][2]["settings"]["depth"] = 3;
  fs::create_directories(path("mixed"));
  write("mixed/summary.json", json.dump());
  Json plan = {{"cases", plan_json(earlier_suite().cases)}};
  plan["cases"][1]["seed"] = 7;
  write("mixed/plan.json", plan.dump());
  const EarlierCases cases = cases_of_run(path("mixed"), "");
  EXPECT_EQ(cases.suite.cases.size(), 1u);
  ASSERT_EQ(cases.left_out.size(), 3u);
  EXPECT_NE(cases.left_out[0].reason.find("itself a prediction, of cluster p5-h100"), std::string::npos);
  EXPECT_EQ(cases.left_out[1].id, "unknown");
  EXPECT_NE(cases.left_out[1].reason.find("depth"), std::string::npos) << cases.left_out[1].reason;
  EXPECT_EQ(cases.left_out[2].reason, "it is planned, but has no row");
  EXPECT_EQ(cases_of_run(path("mixed"), "snapshot").suite.cases.size(), 1u);
  EXPECT_NE(refusal<InvalidRequest>([] { cases_of_run(path("mixed"), "nothing"); }).find("--filter"),
            std::string::npos);
  EXPECT_NE(refusal<InvalidRequest>([] { cases_of_run(path("mixed"), "sequential"); }).find("no measured row"),
            std::string::npos);
}

TEST_F(ValidationEarlier, OtherBytesThanMeasuredAreFoundInARowToo) {
  Json json = summary();
  auto& bytes = json["rows"][1]["sent_bytes"];
  bytes["redistribute"] = bytes["redistribute"].get<std::uint64_t>() + 8;
  const Judgement found = judged(cases_of_run(write("summary.json", json.dump()), ""));
  EXPECT_EQ(found.bytes_compared, 2u);
  EXPECT_EQ(found.bytes_wrong, 1u);
  EXPECT_NE(found.cases[1].bytes_differ.find("redistribute"), std::string::npos) << found.cases[1].bytes_differ;
}

TEST(CaseThatRanElsewhere, MayNameWhatThisBuildLacksButNothingUnknown) {
  const auto on = [](const char* device, const char* comm, CaseRuns runs) {
    return case_from_json(Json{{"workload", {{"name", "uniform"}}}, {"device", device}, {"comm", comm}, {"ranks", 2}},
                          "", runs);
  };
  EXPECT_EQ(on("cuda", "nccl", CaseRuns::elsewhere).device, "cuda");
  Case with_kernels = on("cuda", "local", CaseRuns::elsewhere);
  with_kernels.kernels = "a variant of that device";
  EXPECT_EQ(simulated_case(with_kernels, "aimos-v100").kernels, "");
  EXPECT_THROW(on("cudda", "local", CaseRuns::elsewhere), InvalidRequest);
  EXPECT_THROW(on("cpu", "sim", CaseRuns::elsewhere), InvalidRequest);
  if (DeviceRegistry::instance().contains("cuda")) GTEST_SKIP() << "this build has the device cuda";
  EXPECT_THROW(on("cuda", "local", CaseRuns::here), Unavailable);
}

}  // namespace
}  // namespace strobe
