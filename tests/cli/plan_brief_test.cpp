// `strobe plan` as a brief: sizes of papers, tables by numbers of GPUs, what turns the winner, and requests that cannot
// be right.
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"

namespace strobe::cli_test {
namespace {

class PlanBrief : public Program {
 protected:
  Outcome brief(std::vector<std::string> more) {
    std::vector<std::string> words = {"plan",
                                      "--workload",
                                      "uniform:steps=8,vertices=400,density=3",
                                      "--strategy",
                                      "sequential,snapshot,vertex:partitioner=hash",
                                      "--vary",
                                      "nb=1"};
    words.insert(words.end(), more.begin(), more.end());
    return strobe(words);
  }
  Json brief_json(std::vector<std::string> more) {
    more.emplace_back("--json");
    const Outcome outcome = brief(more);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return Json::parse(outcome.out.empty() ? "{}" : outcome.out);
  }
};

TEST_F(PlanBrief, AModelWithoutSizesHasThoseOfItsPaperAndTheFirstLinesSaySo) {
  const auto says = [this](const std::string& model, const std::vector<std::string>& words) {
    const Outcome outcome = brief({"--model", model, "--clusters", "g4dn-t4", "--gpus", "1,2"});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    const std::string first = outcome.out.substr(0, outcome.out.find("\ntask "));
    for (const std::string& word : words) EXPECT_NE(first.find(word), std::string::npos) << word << "\n" << first;
  };
  says("dysat", {"hidden=128", "; sizes of the paper (dysat:preset=paper)"});
  says("dysat:scale=sqrt_T", {"hidden=128", "; sizes of the paper"});
  says("t-gcn:preset=small", {"; sizes for tests (t-gcn:preset=small)"});
  says("tm-gcn", {"; sizes of the paper (tm-gcn:preset=paper)"});
  const Json wide = brief_json({"--model", "t-gcn:preset=paper,hidden=24", "--clusters", "g4dn-t4", "--gpus", "1"});
  EXPECT_EQ(wide.at("points")[0].at("case").at("model").at("hidden"), 24);
}

TEST_F(PlanBrief, RunKeepsItsDefaultsAndTakesPresetsByName) {
  const auto hidden = [this](const std::string& model, const std::string& out) {
    const Outcome outcome =
        strobe({"run", "--workload", tiny, "--model", model, "--epochs", "1", "--device", "sim", "--out", out});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return read_json(folder_ / out / "plan.json");
  };
  EXPECT_EQ(hidden("t-gcn", "a").dump().find("\"hidden\":64"), std::string::npos);
  EXPECT_NE(hidden("t-gcn:preset=paper", "b").dump().find("\"hidden\":64"), std::string::npos);
  expect_refusal(strobe({"run", "--workload", tiny, "--model", "t-gcn:preset=papre"}), 2,
                 {"unknown preset 'papre'; did you mean 'paper'? Known: paper, small."});
}

TEST_F(PlanBrief, ListNamesPresetsWithValuesAndSources) {
  const Outcome text = strobe({"list", "models"});
  EXPECT_NE(text.out.find("preset=paper  hidden=128, structural_heads=16, temporal_heads=16 ("), std::string::npos);
  const Json json = Json::parse(strobe({"list", "models", "--json"}).out);
  for (const Json& entry : json.at("entries")) {
    if (entry.at("name") == "captured") continue;  // its sizes are those of its file
    EXPECT_TRUE(entry.contains("presets")) << entry.at("name");
    for (const Json& preset : entry.at("presets")) EXPECT_FALSE(preset.at("source").get<std::string>().empty());
  }
}

TEST_F(PlanBrief, ATableOfGpusHasARowForEachCountAndSaysWhyScalingStops) {
  const Json json = brief_json({"--clusters", "p4d-a100,g4dn-t4", "--gpus", "2,8..16", "--start-up", "60s"});
  ASSERT_EQ(json.at("by_gpus").size(), 2u);
  for (const Json& table : json.at("by_gpus")) {
    ASSERT_EQ(table.at("rows").size(), 3u);
    EXPECT_FALSE(table.at("why_it_stops").get<std::string>().empty());
    EXPECT_EQ(table.at("efficiency_against").get<std::string>().find("2 GPUs ("), 0u);
    for (const Json& row : table.at("rows")) {
      double least = 1e300;
      for (const Json& point : json.at("points")) {
        if (point.at("cluster") == table.at("cluster") && point.at("ranks") == row.at("ranks") &&
            point.at("status") == "ok")
          least = std::min(least, point.at("job_seconds").get<double>());
      }
      EXPECT_EQ(row.at("job_seconds"), least);
      EXPECT_GT(row.at("job_seconds").get<double>(), 60) << "start-up counts";
    }
  }
  const Outcome text = brief({"--clusters", "p4d-a100", "--gpus", "8,16"});
  for (const char* words : {"cost of the job", "efficiency is relative to 8 GPUs (",
                            "why it stops scaling: ", "no band", "what would change the answer: ", "re-simulations"})
    EXPECT_NE(text.out.find(words), std::string::npos) << words << "\n" << text.out;
}

TEST_F(PlanBrief, GpusBeyondAFileOfOneMachineAreRefusedInASentence) {
  Json one = read_json(std::filesystem::path(STROBE_SOURCE_DIR) / "backends/clusters/p4d-a100.json");
  one["nodes"]["value"] = 1;
  for (const char* key : {"inter_node_bytes_per_second", "inter_node_latency_seconds"}) one.erase(key);
  write_text(folder_ / "one.json", one.dump());
  EXPECT_EQ(brief({"--clusters", "one.json", "--gpus", "4,8"}).status, 0);
  const std::string says =
      "strobe: --gpus: one.json describes 1 node with 8 GPUs; 16 GPUs need 2 nodes, and for those the cluster file "
      "lacks "
      "inter_node_bytes_per_second\n";
  for (const char* counts : {"16", "8,16"}) {
    const Outcome refused = brief({"--clusters", "one.json", "--gpus", counts});
    EXPECT_EQ(refused.status, 2);
    EXPECT_EQ(refused.err, says);
  }
}

TEST_F(PlanBrief, WithGpusTheFrontIsPrintedOnlyIfAskedFor) {
  const std::vector<std::string> words = {"--clusters", "p4d-a100", "--gpus", "2,4"};
  const std::string plain = brief(words).out;
  const Json json = brief_json(words);
  std::size_t kept = 0;
  for (const Json& point : json.at("points")) kept += point.at("verdict") == "kept" ? 1 : 0;
  ASSERT_GT(kept, 1u);
  EXPECT_EQ(plain.find("\nfront "), std::string::npos) << plain;
  for (const Json& row : json.at("by_gpus")[0].at("rows"))
    EXPECT_NE(plain.find("best on " + row.at("ranks").dump() + " GPUs: " + row.at("point").get<std::string>() + "\n"),
              std::string::npos)
        << plain;
  std::vector<std::string> more = words;
  more.insert(more.end(), {"--top", "0"});
  const std::string whole = brief(more).out;
  std::size_t lines = 0;
  for (std::size_t at = whole.find("\nfront "); at != std::string::npos; at = whole.find("\nfront ", at + 1)) ++lines;
  EXPECT_EQ(lines + 1, kept) << whole;
}

TEST_F(PlanBrief, GpusBeyondTheClusterAreMarkedAsExtrapolated) {
  const Json json = brief_json({"--clusters", "p4d-a100", "--gpus", "8,64"});
  const Json& rows = json.at("by_gpus")[0].at("rows");
  EXPECT_EQ(rows[0].at("extrapolated"), false);
  EXPECT_EQ(rows[1].at("extrapolated"), true);
}

TEST_F(PlanBrief, WhatTurnsTheWinnerIsInTheJsonAndNotStudiedUntilAMetric) {
  const Json turning = brief_json({"--clusters", "g4dn-t4", "--gpus", "2,4"}).at("turning");
  EXPECT_EQ(turning.at("smallest_factor"), 0.25);
  EXPECT_EQ(turning.at("largest_factor"), 4.0);
  EXPECT_FALSE(turning.at("rivals").empty());
  for (const Json& constant : turning.at("constants")) {
    EXPECT_GT(constant.at("value").get<double>(), 0);
    for (const char* side : {"below", "above"}) EXPECT_TRUE(constant.contains(side));
  }
  const Outcome until = brief({"--clusters", "g4dn-t4", "--gpus", "2", "--task", "link-prediction:split=70/15/15",
                               "--until", "auc=0.01", "--epochs", "2"});
  EXPECT_NE(until.out.find("not studied with --until"), std::string::npos) << until.out << until.err;
}

TEST_F(PlanBrief, WhatCannotBeRightIsRefusedBeforeAnythingIsSimulated) {
  const auto refused = [this](const std::vector<std::string>& more, const std::vector<std::string>& words) {
    const Outcome outcome = brief(more);
    expect_refusal(outcome, 2, words);
    EXPECT_EQ(outcome.err.find("simulating"), std::string::npos) << outcome.err;
  };
  refused({"--clusters", "p4d-a100", "--budget", "50eur"}, {"--budget", "priced in EUR", "USD"});
  refused({"--clusters", "aimos-v100", "--budget", "50usd"}, {"--budget", "has a price"});
  refused({"--clusters", "aimos-v100", "--goal", "dollars"}, {"--goal", "none of these clusters has a price"});
  refused({"--clusters", "p4d-a100", "--deadline", "0s"}, {"--deadline"});
  refused({"--clusters", "p4d-a100", "--deadline", "1min", "--start-up", "2min"}, {"--deadline", "--start-up"});
  refused({"--clusters", "p4d-a100", "--gpus", "12"}, {"--gpus", "nearest numbers are 8 and 16"});
  refused({"--clusters", "p4d-a100", "--gpus", "8", "--nodes", "1"}, {"--gpus", "give one of them"});
  refused({"--clusters", "p4d-a100", "--gpus", "eight"}, {"--gpus", "'eight' is not a number"});
  refused({"--clusters", "p4d-a100", "--model", "dysat:preset=big"}, {"preset", "Known: paper, small."});
}

}  // namespace
}  // namespace strobe::cli_test
