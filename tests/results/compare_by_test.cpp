// Cases that differ in one field, from rows that are made up, so that every number is known.
#include "results/compare/compare_by.hpp"

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "results/compare/case_difference.hpp"
#include "results/row/rounds.hpp"
#include "results/run/run_directory.hpp"
#include "tests/results/result_fixtures.hpp"

namespace strobe {
namespace {

using testing_results::case_json;
using testing_results::make_result;
using testing_results::TemporaryFolder;

Json case_with(const std::string& strategy, const std::string& kernels = "", int seed = 3) {
  Json json = case_json(2, strategy);
  json["kernels"] = kernels;
  json["seed"] = seed;
  return json;
}

/// A run of cases, each with the seconds of its processes.
struct MadeRun {
  MadeRun(const TemporaryFolder& folder, const std::string& name, const std::string& of_session)
      : directory(folder.file(name), Json::array(), Json{{"host_class", {{"text", "host A"}}}}, false),
        session(of_session) {}
  void add(const std::string& id, const Json& json, const std::vector<double>& seconds, double until = 0) {
    std::vector<RoundRecord> records;
    std::vector<EpochSample> all;
    for (std::size_t round = 0; round < seconds.size(); ++round) {
      CaseResult result = make_result(6, seconds[round]);
      if (until > 0) result.until = UntilOutcome{true, 12, until};
      records.push_back({id, static_cast<int>(round), session, {}, summarise(json, id, result)});
      number_repetitions(result.samples, static_cast<int>(round), 1);
      directory.append_round(records.back(), result.samples);
      all.insert(all.end(), result.samples.begin(), result.samples.end());
    }
    directory.add_row(row_of_rounds(records, all, static_cast<int>(seconds.size())));
  }
  RunDirectory directory;
  std::string session;
};

TEST(CompareBy, TheFastestOfEachGroupIsFirstWithIntervalsOfPairs) {
  const TemporaryFolder folder;
  MadeRun run(folder, "run", "s");
  // The machine drifts by half; each strategy keeps its place.
  run.add("slow", case_with("vertex"), {2.0, 3.0, 2.02, 3.03, 2.01}, 40);
  run.add("fast", case_with("snapshot"), {1.0, 1.5, 1.0, 1.5, 1.0}, 30);
  run.add("near", case_with("pss"), {1.01, 1.49, 1.0, 1.52, 0.99});
  run.add("lone", case_with("snapshot", "plain", 4), {1.0, 1.0});
  const ByReport report = compare_by({folder.file("run")}, "strategy");
  ASSERT_EQ(report.groups.size(), 1u);
  const CaseGroup& group = report.groups[0];
  ASSERT_EQ(group.members.size(), 3u);
  EXPECT_EQ(group.members[2].value, "vertex");
  EXPECT_EQ(group.members[2].slower.verdict, "SLOWER");
  EXPECT_NEAR(group.members[2].slower.ratio, 2, 0.02);
  EXPECT_GT(group.members[2].slower.ci99_low, 1.9) << "rounds of one session compare pair by pair";
  EXPECT_EQ(group.best, "snapshot is as fast as pss within the threshold");
  EXPECT_EQ(group.members[2].until_seconds, 40);
  EXPECT_NE(group.why.find("less compute"), std::string::npos) << group.why;
  ASSERT_EQ(report.alone.size(), 1u);
  EXPECT_EQ(report.alone[0].case_id, "lone");
  EXPECT_NE(report.alone[0].nearest.find("kernels \"\" instead of plain"), std::string::npos)
      << report.alone[0].nearest;
  const std::string text = by_text(report);
  for (const char* words : {"chess, tm-gcn", "times the fastest", "to the metric", "not reached", "lone has no case"})
    EXPECT_NE(text.find(words), std::string::npos) << text;
}

TEST(CompareBy, RunsAreComparedAsOneIsAndRestrictedToOneMachine) {
  const TemporaryFolder folder;
  MadeRun best(folder, "best", "s"), plain(folder, "plain", "t");
  best.add("a", case_with("vertex"), {1.0, 1.0, 1.01});
  plain.add("b", case_with("vertex", "plain"), {3.0, 3.03, 3.0});
  const ByReport report = compare_by({folder.file("best"), folder.file("plain")}, "kernels");
  ASSERT_EQ(report.groups.size(), 1u);
  EXPECT_EQ(report.groups[0].members[1].value, "plain");
  EXPECT_EQ(report.groups[0].best, "\"\" is the fastest");
  EXPECT_THROW(compare_by({folder.file("best")}, "kernels"), NotComparable);
  EXPECT_THROW(compare_by({folder.file("best")}, "kernel"), InvalidRequest);
  testing_results::write_text(folder.file("plain/env.json"), R"({"host_class": {"text": "host B"}})");
  EXPECT_THROW(compare_by({folder.file("best"), folder.file("plain")}, "kernels"), NotComparable);
  CompareOptions allowed;
  allowed.allow_different_host = true;
  EXPECT_NO_THROW(compare_by({folder.file("best"), folder.file("plain")}, "kernels", allowed));
}

TEST(CaseDifference, FieldsAreNamedAsTheyAreTyped) {
  Json a = case_with("vertex"), b = a;
  EXPECT_TRUE(differences_of(a, b).empty());
  b["model"]["hidden"] = 12;
  b["ranks"] = 4;
  const std::vector<FieldDifference> found = differences_of(a, b);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].field, "model.hidden");
  EXPECT_EQ(found[0].a + " " + found[0].b, "6 12");
  EXPECT_EQ(found[1].field, "ranks");
  b["model"] = {{"name", "dysat"}, {"heads", 8}};
  EXPECT_EQ(differences_of(a, b)[0].field, "model") << "another model has other parameters";
  EXPECT_EQ(value_at(a, "model"), "tm-gcn:hidden=6");
  EXPECT_EQ(value_at(a, "model", false), "tm-gcn");
  EXPECT_EQ(value_at(b, "model.hidden"), "-");
  EXPECT_FALSE(without_field(a, "model.hidden")["model"].contains("hidden"));
}

}  // namespace
}  // namespace strobe
