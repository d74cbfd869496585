// `strobe plan` for models of events: groups of ranks, compared with DistTGL's rule and its options. Also the captured
// events of `strobe inspect`.
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/cli/program.hpp"

namespace strobe::cli_test {
namespace {

namespace fs = std::filesystem;

class PlanGroups : public Program {
 protected:
  static std::vector<std::string> words(std::vector<std::string> more, const std::string& cluster = "g4dn-t4",
                                        const std::string& vertices = "60") {
    std::vector<std::string> all = {"plan",
                                    "--workload",
                                    "bursty_events:events=2000,vertices=" + vertices,
                                    "--model",
                                    "tgn-attn:memory=6",
                                    "--task",
                                    "future-links",
                                    "--clusters",
                                    cluster,
                                    "--nodes",
                                    "1"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  Json groups(std::vector<std::string> more, const std::string& cluster = "g4dn-t4",
              const std::string& vertices = "60") {
    more.push_back("--json");
    const Outcome outcome = strobe(words(more, cluster, vertices));
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    plan_ = Json::parse(outcome.out.empty() ? "{}" : outcome.out);
    return plan_.value("training_groups", Json(nullptr));
  }
  Json plan_;
};

TEST_F(PlanGroups, TheRuleIsComparedWithAllConfigurations) {
  const Json advice = groups({"--strategy", "event_batch", "--max-missing", "0.6"});
  EXPECT_EQ(plan_.at("schema_version"), "1.9.0");
  EXPECT_EQ(advice.at("max_missing"), 0.6);
  EXPECT_TRUE(advice.at("max_missing_hubs").is_null());
  ASSERT_EQ(advice.at("places").size(), 3u) << "2, 4 and 8 GPUs";
  std::map<std::string, Json> points;
  for (const Json& point : plan_.at("points")) points[point.at("id")] = point;
  for (const Json& place : advice.at("places")) {
    const std::int64_t i = place.at("i"), j = place.at("j"), k = place.at("k");
    EXPECT_EQ(i * j * k, place.at("ranks"));
    const Json& rule = points.at(place.at("point"));
    EXPECT_EQ(rule.at("choices").at("i"), std::to_string(i));
    EXPECT_EQ(rule.at("choices").at("batch"), std::to_string(place.at("batch").get<std::int64_t>()));
    EXPECT_LE(rule.at("mails_lost_share").get<double>(), 0.6);
    const Json& fastest = points.at(place.at("fastest"));
    EXPECT_NEAR(place.at("epoch_over_fastest").get<double>(),
                rule.at("epoch_seconds").get<double>() / fastest.at("epoch_seconds").get<double>(), 1e-12);
    std::size_t same = 0;
    for (const auto& [id, point] : points) {
      if (point.at("ranks") != place.at("ranks")) continue;
      ++same;
      if (point.at("status") != "ok") continue;
      EXPECT_GE(point.at("epoch_seconds"), fastest.at("epoch_seconds")) << id;
    }
    EXPECT_EQ(place.at("simulated"), same);
    EXPECT_GE(place.at("why").size(), 7u);
    for (const Json& loss : place.at("missing_by_batch"))
      EXPECT_EQ(loss.at("missing_share").get<double>() <= 0.6, loss.at("batch") <= place.at("largest_batch"));
  }
}

TEST_F(PlanGroups, TextTellsTheStepsAndWhatTheRuleCosts) {
  const Outcome outcome = strobe(words({"--strategy", "event_batch"}));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  for (const char* part :
       {"DistTGL's rule compared with all simulated configurations", "of the rule's", "mails missed", "fastest of ",
        "the rule on 8 GPUs of g4dn-t4\n", "\n  saturation: one GPU trains ", "\n  largest batch ", " may be missing",
        "\n  copies: a host has 384 GB", "\n  batch = ", "\n  i = ", "\n  k = ", "\n  j = "})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
}

TEST_F(PlanGroups, SequentialIsAlsoTriedOnOneGpu) {
  const Json advice = groups({"--vary", "strategy.batch=50", "--max-missing", "1"});
  std::map<std::string, int> strategies;
  for (const Json& point : plan_.at("points")) ++strategies[point.at("strategy")];
  EXPECT_EQ(strategies, (std::map<std::string, int>{{"sequential", 1}, {"event_batch", 3 + 6 + 10}}));
  for (const Json& place : advice.at("places")) {
    EXPECT_EQ(place.at("batch"), 50);
    EXPECT_EQ(place.at("saturating_batch"), 50);
    EXPECT_EQ(place.at("largest_batch"), 800) << "50 times powers of two up to 1400 events";
    EXPECT_EQ(place.at("i"), place.at("ranks"));
  }
}

TEST_F(PlanGroups, StricterThresholdsAndLessMemoryChangeTheChoice) {
  const auto at_eight = [](const Json& advice) { return advice.at("places").back(); };
  const Json loose = at_eight(groups({"--max-missing", "0.9", "--strategy", "event_batch"}));
  const Json strict =
      at_eight(groups({"--max-missing", "0.9", "--max-missing-hubs", "0.5", "--strategy", "event_batch"}));
  EXPECT_LT(strict.at("largest_batch"), loose.at("largest_batch"));
  for (const Json& loss : strict.at("missing_by_batch"))
    EXPECT_GE(loss.at("hub_missing_share"), loss.at("missing_share")) << "of the generator's busiest vertices";
  EXPECT_EQ(loose.at("copies").get<std::int64_t>() * loose.at("i").get<std::int64_t>(), 8);
  const Json poor = at_eight(groups({"--strategy", "event_batch:batch=10", "--max-missing", "0.001"},
                                    "g4dn-t4:host.memory_bytes=3e6", "5000"));
  EXPECT_LT(poor.at("k"), 8);
  EXPECT_GT(poor.at("j"), 1);
  const Json unknown = at_eight(groups({"--strategy", "event_batch", "--max-missing", "0.7"}, "aimos-v100"));
  EXPECT_TRUE(unknown.at("copies").is_null());
  EXPECT_NE(unknown.at("why").dump().find("host.memory_bytes"), std::string::npos);
}

TEST_F(PlanGroups, WrongRequestsAreRefused) {
  for (const char* share : {"0", "-0.1", "1.5", "much", "nan"})
    expect_refusal(strobe(words({"--max-missing", share})), 2, {"--max-missing"});
  expect_refusal(strobe(words({"--max-missing-hubs", "2"})), 2, {"--max-missing-hubs", "up to 1"});
  for (const char* flag : {"--max-missing", "--max-missing-hubs"}) {
    expect_refusal(strobe({"plan", "--workload", tiny, "--clusters", "aimos-v100", "--nodes", "1", flag, "0.5"}), 2,
                   {flag, "trains on snapshots", "tgn-attn"});
    expect_refusal(strobe(words({flag, "0.5", "--strategy", "sequential"})), 2, {flag, "event_batch"});
    expect_refusal(strobe(words({flag, "0.5", "--strategy", "event_batch:i=2"})), 2, {flag, "nothing to choose"});
    expect_refusal(strobe({"plan", "--workload", "bursty_events:vertices=60,events=2000", "--model", "tgat",
                           "--clusters", "g4dn-t4", "--nodes", "1", flag, "0.5"}),
                   2, {flag, "keeps no node memory"});
  }
}

TEST_F(PlanGroups, AModelOfSnapshotsHasNoRule) {
  const Outcome outcome = strobe({"plan", "--workload", tiny, "--clusters", "aimos-v100", "--nodes", "1", "--vary",
                                  "nb=1", "--strategy", "sequential", "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json plan = Json::parse(outcome.out);
  EXPECT_TRUE(plan.at("training_groups").is_null());
  EXPECT_TRUE(plan.at("points")[0].at("mails_lost_share").is_null());
}

TEST_F(PlanGroups, EveryKeyOfTheRuleIsDocumented) {
  const Json advice = groups({"--strategy", "event_batch"});
  const std::string guide = read_text(fs::path(STROBE_SOURCE_DIR) / "docs" / "reference" / "plan_json.md");
  std::set<std::string> keys;
  for (const auto& [key, value] : advice.items()) keys.insert(key);
  const Json& place = advice.at("places")[0];
  for (const auto& [key, value] : place.items()) keys.insert(key);
  for (const char* list : {"missing_by_batch", "rate_by_batch"})
    for (const auto& [key, value] : place.at(list)[0].items()) keys.insert(key);
  for (const std::string& key : keys) EXPECT_NE(guide.find("`" + key + "`"), std::string::npos) << key;
}

class CapturedEventsCommand : public Program {};

TEST_F(CapturedEventsCommand, WritesALineForEachVertexAndDrawsIt) {
  write_text(path("e.csv"), "source,target,time\n1,2,1\n1,3,2\n2,1,3\n1,4,4\n1,1,5\n");
  const Outcome outcome = strobe({"inspect", "e.csv", "--captured-events", "1,2,5", "--csv", "captured.csv", "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  // Vertices 1, 2, 3, 4 (numbers 0 to 3) get 5, 2, 1 and 1 mails; a self-loop gives one. Batches of two: 01 | 23 | 4.
  EXPECT_EQ(read_text(path("captured.csv")),
            "position,vertex,events,captured_1,captured_2,captured_5\n1,0,5,5,3,1\n2,1,2,2,2,1\n3,2,1,1,1,1\n"
            "4,3,1,1,1,1\n");
  const Json reported = Json::parse(outcome.out).at("captured_events");
  ASSERT_EQ(reported.size(), 3u);
  EXPECT_EQ(reported[0].at("missing_share"), 0.0);
  EXPECT_NEAR(reported[1].at("missing_share").get<double>(), 2.0 / 9, 1e-12);
  EXPECT_NEAR(reported[2].at("missing_share").get<double>(), 5.0 / 9, 1e-12);
  EXPECT_NEAR(reported[2].at("hub_missing_share").get<double>(), 4.0 / 5, 1e-12) << "one vertex is the 1 %";
  const Outcome text = strobe({"inspect", "e.csv", "--captured-events", "2"});
  EXPECT_NE(text.out.find("missing_share"), std::string::npos) << text.out;
  const pid_t python = start({"/usr/bin/python3", "-c", "import matplotlib"});
  if (finish(python).status != 0) GTEST_SKIP() << "no Python with matplotlib (apt: python3-matplotlib)";
  const std::string script = std::string(STROBE_SOURCE_DIR) + "/scripts/figures/captured_events.py";
  const Outcome drawn = finish(start({"/usr/bin/python3", "-B", script, "captured.csv", "--out", "."}));
  ASSERT_EQ(drawn.status, 0) << drawn.err;
  EXPECT_GT(fs::file_size(path("captured_events.png")), 10000u);
  EXPECT_NE(read_text(path("captured_events.svg")).find("batch 5: 56 % missing"), std::string::npos);
  const Outcome other = finish(start({"/usr/bin/python3", "-B", script, "e.csv", "--out", "."}));
  EXPECT_EQ(other.status, 2);
  EXPECT_NE(other.err.find("--captured-events"), std::string::npos) << other.err;
}

TEST_F(CapturedEventsCommand, WrongRequestsAreRefused) {
  for (const char* batches : {"0", "1.5", "many", "600,600", "-3", ","})
    expect_refusal(strobe({"inspect", "ucsocial", "--captured-events", batches}), 2, {"--captured-events"});
  expect_refusal(strobe({"inspect", "ucsocial", "--csv", "f.csv"}), 2, {"--csv", "--captured-events"});
  expect_refusal(strobe({"inspect", "epinions", "--captured-events", "600"}), 2, {"--captured-events", "shape"});
  expect_refusal(strobe({"inspect", "uniform", "--captured-events", "600"}), 2, {"no events to capture"});
  EXPECT_FALSE(fs::exists(path("f.csv")));
}

}  // namespace
}  // namespace strobe::cli_test
