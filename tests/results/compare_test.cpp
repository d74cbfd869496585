#include "results/compare.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "results/run_directory.hpp"
#include "tests/results/result_fixtures.hpp"

namespace strobe {
namespace {

using testing_results::case_json;
using testing_results::make_result;
using testing_results::TemporaryFolder;

struct CaseOfRun {
  std::string id;
  int epochs = 12;
  double seconds = 1.0;
  std::string status = "ok";
  std::string time_source = "wall";
};

void write_run(const std::string& path, const std::vector<CaseOfRun>& cases, const std::string& host = "host A",
               const std::string& model = "tm-gcn", const Json& digests = Json::object()) {
  RunDirectory run(path, Json::array({cases.size()}), Json{{"host_class", {{"text", host}}}}, false, digests);
  for (const CaseOfRun& each : cases) {
    CaseResult result = make_result(each.epochs, each.seconds);
    result.status = each.status;
    result.time_source = each.time_source;
    Json json = case_json();
    json["model"]["name"] = model;
    run.append_samples(each.id, result.samples);
    run.add_row(summarise(json, each.id, result));
  }
}

std::string verdict(const CompareReport& report, const std::string& id) {
  for (const Comparison& item : report.cases) {
    if (item.case_id == id) return item.verdict;
  }
  return "not in the report";
}

TEST(Compare, Verdicts) {
  const TemporaryFolder folder;
  write_run(folder.file("a"), {{"same"}, {"faster"}, {"slower"}, {"small"}, {"few", 3}, {"gone"}, {"broken"}});
  write_run(folder.file("b"), {{"same"},
                               {"faster", 12, 0.5},
                               {"slower", 12, 1.5},
                               {"small", 12, 1.03},
                               {"few", 3, 9.0},
                               {"broken", 12, 1.0, "failed"},
                               {"new"}});
  const CompareReport report = compare_runs(folder.file("a"), folder.file("b"));
  EXPECT_EQ(verdict(report, "same"), "SAME");
  EXPECT_EQ(verdict(report, "faster"), "FASTER");
  EXPECT_EQ(verdict(report, "slower"), "SLOWER");
  EXPECT_EQ(verdict(report, "small"), "SAME") << "a change below the threshold does not count";
  EXPECT_EQ(verdict(report, "few"), "UNSURE");
  EXPECT_EQ(verdict(report, "gone"), "MISSING");
  EXPECT_EQ(verdict(report, "new"), "NEW");
  EXPECT_EQ(verdict(report, "broken"), "UNSURE");
  EXPECT_TRUE(report.regression);
  CompareOptions strict;
  strict.threshold = 0.01;
  EXPECT_EQ(verdict(compare_runs(folder.file("a"), folder.file("b"), strict), "small"), "SLOWER");
}

TEST(Compare, RatioIntervalAndGeometricMean) {
  const TemporaryFolder folder;
  write_run(folder.file("a"), {{"x", 12, 1.0}, {"y", 12, 1.0}});
  write_run(folder.file("b"), {{"x", 12, 2.0}, {"y", 12, 0.5}});
  const CompareReport report = compare_runs(folder.file("a/summary.json"), folder.file("b/summary.json"));
  for (const Comparison& item : report.cases) {
    EXPECT_NEAR(item.ratio, item.new_seconds / item.base_seconds, 1e-12);
    EXPECT_LE(item.ci95_low, item.ratio);
    EXPECT_GE(item.ci95_high, item.ratio);
  }
  EXPECT_NEAR(report.geometric_mean_ratio, std::sqrt(report.cases[0].ratio * report.cases[1].ratio), 1e-12);
  EXPECT_EQ(compare_to_json(report).dump(), compare_to_json(compare_runs(folder.file("a"), folder.file("b"))).dump());
  const std::string table = compare_table(report);
  EXPECT_NE(table.find("SLOWER"), std::string::npos);
  EXPECT_NE(table.find("geometric mean"), std::string::npos);
}

TEST(Compare, SlowdownsAndLossesAreRegressionsAndNothingElseIs) {
  const TemporaryFolder folder;
  write_run(folder.file("a"), {{"x"}, {"y"}});
  write_run(folder.file("faster"), {{"x", 12, 0.5}, {"y"}, {"z"}});
  write_run(folder.file("missing"), {{"x"}});
  write_run(folder.file("failed"), {{"x"}, {"y", 12, 1.0, "timeout"}});
  EXPECT_FALSE(compare_runs(folder.file("a"), folder.file("faster")).regression);
  EXPECT_TRUE(compare_runs(folder.file("faster"), folder.file("a")).regression);
  EXPECT_TRUE(compare_runs(folder.file("a"), folder.file("missing")).regression);
  EXPECT_TRUE(compare_runs(folder.file("a"), folder.file("failed")).regression);
}

TEST(Compare, OtherHostsAreRefusedUnlessAllowedOrVirtual) {
  const TemporaryFolder folder;
  write_run(folder.file("a"), {{"x"}});
  write_run(folder.file("b"), {{"x"}}, "host B");
  try {
    compare_runs(folder.file("a"), folder.file("b"));
    FAIL() << "two machines were compared";
  } catch (const NotComparable& error) {
    EXPECT_NE(std::string(error.what()).find("host B"), std::string::npos);
  }
  CompareOptions allowed;
  allowed.allow_different_host = true;
  EXPECT_EQ(verdict(compare_runs(folder.file("a"), folder.file("b"), allowed), "x"), "SAME");
  write_run(folder.file("c"), {{"x", 1, 1.0, "ok", "virtual"}});
  write_run(folder.file("d"), {{"x", 1, 2.0, "ok", "virtual"}}, "host B");
  EXPECT_EQ(verdict(compare_runs(folder.file("c"), folder.file("d")), "x"), "SLOWER") << "virtual times are exact";
}

TEST(Compare, OtherWorkAndNoCommonCaseAreRefused) {
  const TemporaryFolder folder;
  write_run(folder.file("a"), {{"x"}});
  write_run(folder.file("b"), {{"y"}});
  write_run(folder.file("c"), {{"x"}}, "host A", "cd-gcn");
  EXPECT_THROW(compare_runs(folder.file("a"), folder.file("b")), NotComparable);
  EXPECT_THROW(compare_runs(folder.file("a"), folder.file("c")), NotComparable);
  EXPECT_THROW(compare_runs(folder.file("a"), folder.file("nowhere")), SystemError);
  CompareOptions bad;
  bad.threshold = std::nan("");
  EXPECT_THROW(compare_runs(folder.file("a"), folder.file("a"), bad), InvalidRequest);
}

/// What comparing says of two runs of one case whose data have these digests.
std::string refusal_of_data(const TemporaryFolder& folder, const Json& there, const Json& here) {
  std::filesystem::remove_all(folder.file("a"));
  std::filesystem::remove_all(folder.file("b"));
  write_run(folder.file("a"), {{"case"}}, "host A", "tm-gcn", there);
  write_run(folder.file("b"), {{"case"}}, "host A", "tm-gcn", here);
  try {
    compare_runs(folder.file("a"), folder.file("b"));
  } catch (const NotComparable& error) {
    return error.what();
  }
  return "";
}

TEST(Compare, OtherDataAreNotComparable) {
  const TemporaryFolder folder;
  const Json old{{"chess", "1234"}, {"chess, companion nodes.csv", "5"}, {"else/w.csv", "6"}, {"chessboard", "7"}};
  EXPECT_EQ(refusal_of_data(folder, old, old), "");
  Json changed = old;
  changed["else/w.csv"] = "other", changed["chessboard"] = "other";
  EXPECT_EQ(refusal_of_data(folder, old, changed), "") << "files of other workloads";
  changed["chess"] = "abcd";
  const std::string message = refusal_of_data(folder, old, changed);
  for (const char* part : {"workload chess", "\"1234\"", "\"abcd\"", "SHA-256"})
    EXPECT_NE(message.find(part), std::string::npos) << message;
  changed = old;
  changed["chess, companion nodes.csv"] = "other";
  EXPECT_NE(refusal_of_data(folder, old, changed).find("nodes.csv"), std::string::npos);
  changed.erase("chess, companion nodes.csv");
  EXPECT_NE(refusal_of_data(folder, old, changed).find("absent"), std::string::npos);
}

TEST(Compare, WithoutDigestsANoteSaysSo) {
  const TemporaryFolder folder;
  write_run(folder.file("a"), {{"case"}}, "host A", "tm-gcn", {{"chess", "1234"}});
  write_run(folder.file("b"), {{"case"}}, "host A", "tm-gcn", {{"chess", "1234"}});
  const auto note = [&] { return compare_runs(folder.file("a"), folder.file("b")).cases.at(0).note; };
  EXPECT_EQ(note(), "");
  Json plan = Json::parse(testing_results::text_of(folder.file("b/plan.json")));
  plan.erase("data");
  testing_results::write_text(folder.file("b/plan.json"), plan.dump());
  EXPECT_NE(note().find("lacks the digests of the data"), std::string::npos) << note();
  std::filesystem::remove(folder.file("b/plan.json"));
  EXPECT_NE(note().find("lacks the digests of the data"), std::string::npos) << note();
}

}  // namespace
}  // namespace strobe
