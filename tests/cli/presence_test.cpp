// `--presence`: the report and figure of `strobe inspect` on existing cells, and the notes and refusals of a run.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/cli/program.hpp"

namespace strobe::cli_test {
namespace {

namespace fs = std::filesystem;

class Presences : public Program {
 protected:
  Json facts(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "inspect");
    arguments.push_back("--json");
    const Outcome outcome = strobe(arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return Json::parse(outcome.out.empty() ? "{}" : outcome.out);
  }
};

/// 0 -> 1 at steps 0, 1 and 3; 2 -> 1 at step 3; nothing at step 2.
constexpr const char* four_steps = "source,target,step\n0,1,0\n0,1,1\n0,1,3\n2,1,3\n";

TEST_F(Presences, ByHand) {
  write_text(path("w.csv"), four_steps);
  const Json found = facts({"w.csv", "--presence", "all,seen,lifetime,active"}).at("presence");
  EXPECT_EQ(found.at("all").at("cells"), 12);
  EXPECT_EQ(found.at("all").at("sequence_length").at("counts"), Json::parse("[[4, 3]]"));
  EXPECT_EQ(found.at("seen").at("cells"), 9);
  EXPECT_EQ(found.at("seen").at("sequence_length").at("counts"), Json::parse("[[1, 1], [4, 2]]"));
  EXPECT_EQ(found.at("seen").at("sequence_length").at("mean"), 3.0);
  EXPECT_EQ(found.at("lifetime").at("cells_per_step"), Json::parse("[2, 2, 2, 3]"));
  EXPECT_EQ(found.at("active").at("cells_per_step"), Json::parse("[2, 2, 0, 3]"));
  EXPECT_EQ(found.at("active").at("sequences"), 5) << "0 and 1 twice, 2 once";
  EXPECT_EQ(found.at("active").at("sequence_length").at("counts"), Json::parse("[[1, 3], [2, 2]]"));
  EXPECT_EQ(found.at("active").at("sequence_length").at("median"), 1);
  EXPECT_EQ(found.at("active").at("sequence_length").at("p75"), 2);
  EXPECT_EQ(found.at("active").at("vertices"), 3);
  EXPECT_NEAR(found.at("active").at("share").get<double>(), 7.0 / 12, 1e-15);
}

TEST_F(Presences, SumsAgreeOnABundledGraph) {
  const Json report = facts({"ucsocial", "--window", "1d", "--presence", "seen,lifetime,active"});
  for (const auto& [kind, found] : report.at("presence").items()) {
    std::int64_t of_sequences = 0, sequences = 0, of_steps = 0;
    for (const Json& entry : found.at("sequence_length").at("counts")) {
      of_sequences += entry.at(0).get<std::int64_t>() * entry.at(1).get<std::int64_t>();
      sequences += entry.at(1).get<std::int64_t>();
    }
    for (const Json& count : found.at("cells_per_step")) of_steps += count.get<std::int64_t>();
    EXPECT_EQ(found.at("cells"), of_sequences) << kind;
    EXPECT_EQ(found.at("cells"), of_steps) << kind;
    EXPECT_EQ(found.at("sequences"), sequences) << kind;
    EXPECT_EQ(found.at("vertices"), 1899) << kind << ": every vertex of the file has an edge";
  }
  EXPECT_EQ(report.at("presence").at("active").at("cells_per_step"), report.at("active_vertices_per_step"));
  EXPECT_EQ(report.at("presence").at("seen").at("sequences"), 1899);
  EXPECT_EQ(report.at("presence").at("lifetime").at("sequences"), 1899);
  EXPECT_FALSE(facts({"ucsocial"}).contains("presence")) << "unless it is asked for";
  const Outcome text = strobe({"inspect", "ucsocial", "--presence", "seen,active"});
  for (const char* words : {"steps of a sequence, seen", "steps of a sequence, active", "sequences"})
    EXPECT_NE(text.out.find(words), std::string::npos) << words << "\n" << text.out;
  EXPECT_EQ(text.out.find("counts"), std::string::npos) << "single counts are for programs";
}

TEST_F(Presences, TheFigureHasBothDistributions) {
  setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
  const Outcome first = strobe({"inspect", "ucsocial", "--presence", "seen,active", "--figure", "a/f.png"});
  if (first.status == 5) GTEST_SKIP() << first.err;
  ASSERT_EQ(first.status, 0) << first.err;
  EXPECT_GT(fs::file_size(path("a/f.png")), 10000u);
  const std::string svg = read_text(path("a/f.svg"));
  for (const char* words : {"Edges of a step", "Lengths of sequences", "seen: ", "active: "})
    EXPECT_NE(svg.find(words), std::string::npos) << words;
  ASSERT_EQ(strobe({"inspect", "ucsocial", "--presence", "seen,active", "--figure", "b/f.svg"}).status, 0);
  EXPECT_EQ(svg, read_text(path("b/f.svg"))) << "the same every time";
}

TEST_F(Presences, WhatCannotBeIsRefused) {
  expect_refusal(strobe({"inspect", "chess", "--presence", "seen,livetime"}), 2, {"did you mean 'lifetime'?"});
  expect_refusal(strobe({"inspect", "chess", "--presence", "seen,seen"}), 2, {"--presence", "named twice"});
  expect_refusal(strobe({"inspect", "epinions", "--presence", "seen"}), 2, {"--presence", "epinions is a shape"});
  const std::vector<std::string> run = {"run", "--dry-run", "--workload"};
  const auto refused = [&](const std::vector<std::string>& more, const std::vector<std::string>& words) {
    std::vector<std::string> all = run;
    all.insert(all.end(), more.begin(), more.end());
    expect_refusal(strobe(all), 2, words);
  };
  refused({"epinions", "--model", "tm-gcn", "--device", "sim", "--strategy", "snapshot", "--presence", "seen"},
          {"--presence", "epinions is a shape", "use presence=all, or a graph"});
  refused({"ucsocial", "--model", "tgn-attn", "--presence", "seen"}, {"--presence", "leave it out"});
  refused({"chess", "--model", "tm-gcn", "--presence", "seem"}, {"--presence", "did you mean 'seen'?"});
  refused({"ucsocial:window=1d", "--model", "tm-gcn", "--presence", "active"},
          {"--presence", "needs cells that do not exist", "all 204 test samples", "take another presence"});
}

TEST_F(Presences, ARunCountsWhatItLeavesOut) {
  const Outcome planned =
      strobe({"run", "--workload", "ucsocial:window=1d", "--model", "cd-gcn", "--presence", "lifetime", "--dry-run"});
  EXPECT_EQ(planned.status, 0) << planned.err;
  for (const char* words :
       {"presence=lifetime looks ahead", "2,911 of 6,798 training samples", "201 of 204 test samples"})
    EXPECT_NE(planned.out.find(words), std::string::npos) << words << "\n" << planned.out;
}

TEST_F(Presences, DumpedSamplesAreThoseThatAreLeft) {
  const auto samples = [&](const std::string& presence) {
    const std::string file = path(presence + ".csv");
    const Outcome outcome =
        strobe({"run", "--workload", "uniform:steps=8,vertices=60,density=0.5", "--model", "evolve-gcn-o", "--epochs",
                "1", "--warmup", "0", "--presence", presence, "--dump-samples", file, "--out", path(presence)});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    const Json rows = read_json(path(presence) + "/summary.json").at("rows");
    EXPECT_EQ(rows.at(0).at("settings").value("presence", "all"), presence);
    std::multiset<std::string> lines;
    std::istringstream text(read_text(file));
    for (std::string line; std::getline(text, line);) {
      if (line.rfind("train,", 0) == 0) lines.insert(line);
    }
    return lines;
  };
  const std::multiset<std::string> all = samples("all"), seen = samples("seen"), active = samples("active");
  EXPECT_GT(active.size(), 0u);
  EXPECT_LT(active.size(), seen.size());
  EXPECT_LT(seen.size(), all.size());
  EXPECT_TRUE(std::includes(all.begin(), all.end(), seen.begin(), seen.end()));
  EXPECT_TRUE(std::includes(seen.begin(), seen.end(), active.begin(), active.end()));
}

}  // namespace
}  // namespace strobe::cli_test
