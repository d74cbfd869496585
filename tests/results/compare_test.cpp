#include "results/compare/compare.hpp"

#include <gtest/gtest.h>

#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/random.hpp"
#include "results/run/run_directory.hpp"
#include "tests/results/made_run.hpp"
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
  int rounds = 5;
};

/// Processes of a machine without noise; the times of a round are those of make_result.
void write_case(RunDirectory& run, const CaseOfRun& each, const Json& json, const std::string& session) {
  std::vector<RoundRecord> records;
  std::vector<EpochSample> all;
  for (int round = 0; round < each.rounds; ++round) {
    CaseResult result = make_result(each.epochs, each.seconds);
    result.status = each.status;
    result.time_source = each.time_source;
    const Row row = summarise(json, each.id, result);
    number_repetitions(result.samples, round, 1);
    records.push_back({each.id, round, session, {}, row});
    run.append_round(records.back(), result.samples);
    all.insert(all.end(), result.samples.begin(), result.samples.end());
    if (each.status != "ok") break;
  }
  run.add_row(each.rounds > 1 && each.time_source == "wall" ? row_of_rounds(records, all, each.rounds)
                                                            : records.front().row);
}

void write_run(const std::string& path, const std::vector<CaseOfRun>& cases, const std::string& host = "host A",
               const std::string& model = "tm-gcn", const Json& digests = Json::object()) {
  RunDirectory run(path, Json::array({cases.size()}), Json{{"host_class", {{"text", host}}}}, false, digests);
  for (const CaseOfRun& each : cases) {
    Json json = case_json();
    json["model"]["name"] = model;
    write_case(run, each, json, "session of " + path);
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
  write_run(folder.file("a"),
            {{"same"}, {"faster"}, {"slower"}, {"small"}, {"alone", 60, 1.0, "ok", "wall", 1}, {"gone"}, {"broken"}});
  write_run(folder.file("b"), {{"same"},
                               {"faster", 12, 0.5},
                               {"slower", 12, 1.5},
                               {"small", 12, 1.03},
                               {"alone", 60, 9.0, "ok", "wall", 1},
                               {"broken", 12, 1.0, "failed"},
                               {"new"}});
  const CompareReport report = compare_runs(folder.file("a"), folder.file("b"));
  EXPECT_EQ(verdict(report, "same"), "SAME");
  EXPECT_EQ(verdict(report, "faster"), "FASTER");
  EXPECT_EQ(verdict(report, "slower"), "SLOWER");
  EXPECT_EQ(verdict(report, "small"), "SAME") << "a change below the threshold does not count";
  EXPECT_EQ(verdict(report, "alone"), "UNSURE") << "sixty epochs of one process a side";
  EXPECT_EQ(verdict(report, "gone"), "MISSING");
  EXPECT_EQ(verdict(report, "new"), "NEW");
  EXPECT_EQ(verdict(report, "broken"), "FAILED");
  EXPECT_EQ(report.outcome, GateOutcome::failed);
  EXPECT_EQ(report.outcome_text,
            "failed: 1 SLOWER, 1 MISSING, 1 FAILED; 4 of 5 cases that both runs measured have a verdict");
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
    EXPECT_LE(item.ci99_low, item.ci95_low);
    EXPECT_GE(item.ci99_high, item.ci95_high);
    EXPECT_EQ(item.base_rounds, 5);
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
  const auto outcome = [&](const char* a, const char* b) {
    return compare_runs(folder.file(a), folder.file(b)).outcome;
  };
  EXPECT_EQ(outcome("a", "faster"), GateOutcome::passed);
  EXPECT_EQ(outcome("faster", "a"), GateOutcome::failed);
  EXPECT_EQ(outcome("a", "missing"), GateOutcome::failed);
  EXPECT_EQ(outcome("a", "failed"), GateOutcome::failed);
}

TEST(Compare, AGateThatJudgedTooLittleIsNotDecided) {
  const TemporaryFolder folder;
  const auto single = [](const char* id, double seconds) { return CaseOfRun{id, 20, seconds, "ok", "wall", 1}; };
  write_run(folder.file("one"), {single("x", 1), single("y", 1)});
  write_run(folder.file("slow"), {single("x", 20), single("y", 20)});
  write_run(folder.file("mixed"), {{"x"}, single("y", 1), {"z"}});
  write_run(folder.file("new"), {{"x"}, single("y", 20), {"z", 12, 1.5}});
  CompareOptions all, two;
  all.min_verdicts = all_verdicts, two.min_verdicts = 2;
  const auto text = [&](const char* a, const char* b, const CompareOptions& options = {}) {
    return compare_runs(folder.file(a), folder.file(b), options).outcome_text;
  };
  const std::string advice = "; measure both with strobe run --rounds 5 or more, or with strobe compare --rerun";
  EXPECT_EQ(text("one", "slow"),
            "not decided: 0 of 2 cases that both runs measured have a verdict, but at least 1 must" + advice);
  EXPECT_EQ(text("mixed", "new"), "failed: 1 SLOWER; 2 of 3 cases that both runs measured have a verdict");
  EXPECT_EQ(text("mixed", "mixed"),
            "passed: 2 of 3 cases that both runs measured have a verdict, and none is slower; "
            "--min-verdicts all asks for all of them");
  EXPECT_EQ(compare_runs(folder.file("mixed"), folder.file("mixed"), two).outcome, GateOutcome::passed);
  EXPECT_EQ(text("mixed", "mixed", all),
            "not decided: 2 of 3 cases that both runs measured have a verdict, but at least 3 must" + advice);
  const Json json = compare_to_json(compare_runs(folder.file("one"), folder.file("slow")));
  EXPECT_EQ(json.at("outcome"), "not decided");
  EXPECT_EQ(json.at("regression"), false);
}

TEST(Compare, AStatusIsShownAsItIsAndFailsTheGate) {
  const TemporaryFolder folder;
  for (const char* status : {"failed", "timeout", "out_of_memory", "interrupted", "skipped"}) {
    SCOPED_TRACE(status);
    for (const char* name : {"a", "b", "c"}) std::filesystem::remove_all(folder.file(name));
    std::string word = status;
    for (char& c : word) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    write_run(folder.file("a"), {{"x"}, {"y"}});
    write_run(folder.file("b"), {{"x"}, {"y", 12, 1.0, status}});
    write_run(folder.file("c"), {{"x"}, {"y", 12, 1.0, status}});
    const CompareReport now = compare_runs(folder.file("a"), folder.file("b"));
    EXPECT_EQ(verdict(now, "y"), word);
    EXPECT_EQ(now.outcome, GateOutcome::failed);
    EXPECT_NE(compare_table(now).find(word), std::string::npos);
    EXPECT_EQ(compare_to_json(now).at("cases").at(1).at("verdict"), word);
    const CompareReport before = compare_runs(folder.file("b"), folder.file("a"));
    EXPECT_EQ(verdict(before, "y"), "NEW") << "there was no time to compare with";
    EXPECT_EQ(before.outcome, GateOutcome::passed);
    const CompareReport both = compare_runs(folder.file("b"), folder.file("c"));
    EXPECT_EQ(verdict(both, "y"), word);
    EXPECT_EQ(both.outcome, word == "SKIPPED" ? GateOutcome::passed : GateOutcome::failed)
        << "what can never run is no failure";
  }
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
  EXPECT_THROW(compare_runs(folder.file("c"), folder.file("b")), NotComparable) << "one side's time is not virtual";
  EXPECT_THROW(compare_runs(folder.file("b"), folder.file("c")), NotComparable);
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

/// The refusal when comparing two runs of one case whose data have these digests.
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
  plan.erase("sha256");  // changed on purpose
  testing_results::write_text(folder.file("b/plan.json"), plan.dump());
  EXPECT_NE(note().find("lacks the digests of the data"), std::string::npos) << note();
  std::filesystem::remove(folder.file("b/plan.json"));
  EXPECT_NE(note().find("lacks the digests of the data"), std::string::npos) << note();
}

TEST(Compare, OneProcessASideGivesAdvice) {
  const TemporaryFolder folder;
  write_run(folder.file("one"), {{"x", 60, 1.0, "ok", "wall", 1}});
  write_run(folder.file("slow"), {{"x", 60, 2.0, "ok", "wall", 1}});
  write_run(folder.file("five"), {{"x", 12, 2.0}});
  for (const auto& [a, b, words] : {std::tuple{"one", "slow", "one process a side"},
                                    {"one", "five", "one process against 5 processes"},
                                    {"five", "one", "5 processes against one process"}}) {
    const CompareReport report = compare_runs(folder.file(a), folder.file(b));
    const Comparison& item = report.cases.at(0);
    EXPECT_EQ(item.verdict, "UNSURE");
    EXPECT_EQ(report.outcome, GateOutcome::undecided);
    EXPECT_NE(item.note.find(words), std::string::npos) << item.note;
    EXPECT_NE(item.note.find("measure with --rounds 5"), std::string::npos) << item.note;
    EXPECT_TRUE(std::isnan(item.ci99_low));
  }
}

TEST(Compare, ACaseOfOneSideNamesTheDifferenceFromItsNearest) {
  const TemporaryFolder folder;
  const auto write = [&](const std::string& name, const std::vector<std::pair<std::string, Json>>& cases) {
    RunDirectory run(folder.file(name), Json::array(), Json{{"host_class", {{"text", "host A"}}}}, false);
    for (const auto& [id, json] : cases) write_case(run, {id}, json, "s");
  };
  Json vertex = case_json(2, "vertex"), wide = case_json();
  wide["model"]["hidden"] = 32;
  wide["seed"] = 9;
  write("a", {{"snapshot", case_json()}});
  write("b", {{"snapshot", case_json()}, {"vertex", vertex}, {"wide", wide}});
  const auto notes = [&](const std::string& a, const std::string& b) {
    std::string all;
    for (const Comparison& item : compare_runs(folder.file(a), folder.file(b)).cases)
      all += item.case_id + " " + item.verdict + ": " + item.note + "\n";
    return all;
  };
  const std::string added = notes("a", "b"), missing = notes("b", "a");
  for (const char* line :
       {"vertex NEW: the nearest case, snapshot, has strategy snapshot instead of vertex",
        "wide NEW: the nearest case, snapshot, has model.hidden 6 instead of 32, seed 3 instead of 9"})
    EXPECT_NE(added.find(line), std::string::npos) << added;
  EXPECT_NE(missing.find("vertex MISSING: the nearest case"), std::string::npos) << missing;
  write("c", {{"vertex", vertex}});
  try {
    compare_runs(folder.file("a"), folder.file("c"));
    FAIL() << "no case is in both";
  } catch (const NotComparable& error) {
    EXPECT_NE(std::string(error.what()).find("has strategy vertex instead of snapshot"), std::string::npos)
        << error.what();
  }
}

/// Two sides of a run whose processes are fast or slow as a whole; by case the factor of the second.
void write_noisy_runs(const TemporaryFolder& folder, std::uint64_t seed, int cases, double factor, double spread) {
  for (const bool changed : {false, true}) {
    RunDirectory run(folder.file(changed ? "new" : "base"), Json::array(), Json{{"host_class", {{"text", "host A"}}}},
                     false);
    for (int c = 0; c < cases; ++c) {
      const RandomStream noise(seed, random_purpose::test, static_cast<std::uint32_t>(2 * c + (changed ? 1 : 0)));
      std::vector<RoundRecord> records;
      std::vector<EpochSample> all;
      const std::string id = "case " + std::to_string(c);
      for (int round = 0; round < 5; ++round) {
        const double speed = std::exp(spread * noise.normal(static_cast<std::uint64_t>(round)));
        CaseResult result = make_result(6, speed * (changed ? factor : 1.0));
        records.push_back({id, round, "s", {}, summarise(case_json(), id, result)});
        number_repetitions(result.samples, round, 1);
        run.append_round(records.back(), result.samples);
        all.insert(all.end(), result.samples.begin(), result.samples.end());
      }
      run.add_row(row_of_rounds(records, all, 5));
    }
  }
}

TEST(Compare, SelfCheckCountsFalseVerdictsAndFindsPlantedDifferences) {
  const TemporaryFolder quiet, noisy, slower;
  write_noisy_runs(quiet, 1, 8, 1.0, 0.005);
  const SelfCheck calm = self_check(quiet.file("base"), quiet.file("new"), {});
  EXPECT_EQ(calm.judged, 8);
  EXPECT_EQ(calm.verdicts.count("SLOWER") + calm.verdicts.count("FASTER"), 0u);
  EXPECT_GE(calm.found_planted, 8);
  EXPECT_TRUE(std::is_sorted(calm.widths.begin(), calm.widths.end()));
  write_noisy_runs(noisy, 2, 8, 1.0, 0.3);
  const SelfCheck loud = self_check(noisy.file("base"), noisy.file("new"), {});
  EXPECT_GE(loud.verdicts.at("UNSURE"), 7) << "two speeds of a machine are no verdict";
  EXPECT_GT(loud.widths.front(), calm.widths.back());
  write_noisy_runs(slower, 3, 8, 1.2, 0.005);
  const SelfCheck wrong = self_check(slower.file("base"), slower.file("new"), {});
  EXPECT_EQ(wrong.verdicts.at("SLOWER"), 8) << "runs that are no A/A are all false verdicts";
  EXPECT_EQ(self_check_to_json(wrong).at("false_verdicts"), 8);
  EXPECT_NE(self_check_text(wrong).find("8 of them false"), std::string::npos) << self_check_text(wrong);
}

TEST(Compare, FactsOfAKindOfTrainingThatDifferAreNoted) {
  const TemporaryFolder folder;
  for (const auto& [name, lost] : {std::pair{"a", 0.1}, {"b", 0.2}}) {
    testing_results::MadeRun run(folder, name);
    run.add({.rounds = {1.0, 1.01, 1.02}, .facts = {{"mails_lost_share", lost}, {"local_batch", 600}}});
  }
  const CompareReport report = compare_runs(folder.file("a"), folder.file("b"));
  const std::string& note = report.cases.at(0).note;
  EXPECT_NE(note.find("mails_lost_share is 0.1 for base and 0.2 for new"), std::string::npos) << note;
  EXPECT_EQ(note.find("local_batch"), std::string::npos) << "it is equal";
}

}  // namespace
}  // namespace strobe
