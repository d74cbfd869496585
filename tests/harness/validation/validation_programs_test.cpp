// Public programs measured and predicted: the bundled list, its halves counted by hand, and a whole validation of a
// program whose times are known.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/errors.hpp"
#include "harness/validation/measure_pairs.hpp"
#include "harness/validation/programs/programs.hpp"

namespace strobe {
namespace {

namespace fs = std::filesystem;

Json bundled_programs() {
  std::ifstream file(fs::path(STROBE_SOURCE_DIR) / "bench" / "peers" / "programs" / "programs.json");
  return Json::parse(file);
}

ProgramPlace place_on(const std::string& cluster, const std::string& python = "python3") {
  return {"/programs", python, "/strobe", cluster, "pytorch-eager", {}};
}

TEST(ValidationPrograms, EveryBundledRunIsAPairThatDiffersInWhoTrains) {
  const ProgramRuns found = program_runs(bundled_programs(), "all", "", place_on("aimos-v100"));
  EXPECT_EQ(found.runs.size(), 103u);  // 19 ways on 5 graphs of snapshots, 2 on 4 streams of events
  EXPECT_TRUE(found.left_out.empty());
  std::set<std::string> names, ids;
  for (const ProgramRun& run : found.runs) {
    names.insert(run.name), ids.insert(run.pair.id);
    const Json measured = case_to_json(run.pair.measured), predicted = case_to_json(run.pair.simulated);
    for (const char* key : {"workload", "model", "task", "ranks", "epochs", "warmup"})
      EXPECT_EQ(measured.at(key), predicted.at(key)) << run.name << " " << key;
    EXPECT_EQ(measured.at("strategy").at("name"), "external");
    EXPECT_EQ(predicted.at("software"), "pytorch-eager");
  }
  EXPECT_EQ(names.size(), found.runs.size());
  EXPECT_EQ(ids.size(), found.runs.size());
}

TEST(ValidationPrograms, HeldOutRunsAreThoseOfAHeldOutProgramOrGraph) {
  const ProgramRuns found = program_runs(bundled_programs(), "all", "", place_on("aimos-v100"));
  std::size_t held = 0;
  for (const ProgramRun& run : found.runs) {
    const std::string program = run.name.substr(0, run.name.find('/'));
    bool graph = false;
    for (const char* name : {"/medium/", "/chess/", "/events-medium/", "/chess-events/"})
      graph = graph || run.name.find(name) != std::string::npos;
    EXPECT_EQ(run.held_out, program == "t-gcn" || program == "evolve-gcn-h" || program == "dysat" || graph) << run.name;
    EXPECT_EQ(program == "tgn", run.name.find("events") != std::string::npos) << run.name;
    held += run.held_out;
  }
  EXPECT_EQ(held, 69u);  // 9 ways of held-out programs on 5 graphs, 10 others on 2, and 2 of TGN on 2
}

TEST(ValidationPrograms, TheCommandNamesGraphWindowWayAndRanks) {
  const ProgramRuns found = program_runs(bundled_programs(), "t-gcn", "chess/vertex-4", place_on("aimos-v100"));
  ASSERT_EQ(found.runs.size(), 1u);
  EXPECT_EQ(found.runs[0].pair.measured.strategy.at("command"),
            "STROBE_PROGRAM='/strobe' 'python3' -W ignore '/programs/snapshots.py' --model t-gcn --workload 'chess' "
            "--window 2678400 --way vertex --ranks {ranks} --seed {seed}");
  EXPECT_EQ(found.runs[0].pair.measured.ranks, 4);
  const ProgramRuns made = program_runs(bundled_programs(), "gconvgru", "small/alone", place_on("aimos-v100"));
  EXPECT_NE(made.runs.at(0).pair.measured.strategy.at("command").get<std::string>().find(
                "--workload 'uniform:vertices=2000,steps=17,density=4' --window 0 --way alone"),
            std::string::npos);
}

TEST(ValidationPrograms, AProgramWhoseModuleIsMissingIsLeftOut) {
  ProgramPlace place = place_on("aimos-v100");
  place.has_module = [](const std::string& module) { return module != "dgl"; };
  const ProgramRuns found = program_runs(bundled_programs(), "t-gcn,dgl-t-gcn", "small/alone", place);
  ASSERT_EQ(found.runs.size(), 1u);
  EXPECT_EQ(found.runs[0].name, "t-gcn/small/alone");
  ASSERT_EQ(found.left_out.size(), 1u);
  EXPECT_EQ(found.left_out[0].id, "dgl-t-gcn/small/alone");
  EXPECT_EQ(found.left_out[0].reason, "python3 has no module dgl");
}

TEST(ValidationPrograms, AProgramOfEventsHasItsOwnScript) {
  const ProgramRuns found = program_runs(bundled_programs(), "tgn", "events-small/batches-2", place_on("aimos-v100"));
  ASSERT_EQ(found.runs.size(), 1u);
  EXPECT_EQ(found.runs[0].pair.measured.strategy.at("command"),
            "STROBE_PROGRAM='/strobe' 'python3' -W ignore '/programs/events.py' --model tgn --workload "
            "'bursty_events:vertices=1000,events=10000' --window 0 --way batches --ranks {ranks} --seed {seed}");
  EXPECT_EQ(found.runs[0].pair.simulated.strategy.at("name"), "event_batch");
}

TEST(ValidationPrograms, DriftIsARunsKernelOverTheTypicalOne) {
  ProgramRuns runs;
  for (const char* id : {"a", "b", "c", "d"}) runs.runs.push_back({id, false, {id, {}, {}}});
  set_drifts(runs, {{"a", {1, 9, 2}}, {"b", {4}}, {"c", {5, 3}}});
  // Medians 2, 4 and 4: the typical one is 4.
  EXPECT_EQ(runs.runs[0].drift, 0.5);
  EXPECT_EQ(runs.runs[1].drift, 1);
  EXPECT_EQ(runs.runs[2].drift, 1);
  EXPECT_EQ(runs.runs[3].drift, 1);  // states no kernel
  set_drifts(runs, {});
  EXPECT_EQ(runs.runs[0].drift, 0.5);
}

TEST(ValidationPrograms, RefusesWhatIsNotInTheList) {
  const Json list = bundled_programs();
  EXPECT_THROW(program_runs(list, "no-such", "", place_on("aimos-v100")), InvalidRequest);
  EXPECT_THROW(program_runs(list, "t-gcn", "no-such-graph", place_on("aimos-v100")), InvalidRequest);
}

TEST(ValidationPrograms, HalvesAreTheMeansAndOrdersOfTheirRuns) {
  ProgramRuns runs;
  Judgement judgement;
  const auto add = [&](const std::string& name, bool held, double predicted, double measured, double drift = 1) {
    runs.runs.push_back({name, held, {}, drift});
    CaseJudgement one;
    one.judged = measured > 0;
    one.predicted_seconds = predicted, one.measured_seconds = measured;
    one.error = predicted / measured - 1;
    one.baseline_error = 2;
    judgement.cases.push_back(one);
  };
  add("a/g/alone", true, 1, 2, 2);  // -50 %, but the machine was half as fast
  add("a/g/ddp-2", true, 3, 1);     // +200 %, and the order is wrong
  add("a/h/alone", true, 9, 9);     // another graph: not compared with a/g
  add("b/g/alone", false, 1.1, 1);
  add("b/g/ddp-2", false, 2, 4);
  add("b/g/ddp-4", false, 1, 0);  // failed
  const std::vector<ProgramHalf> halves = program_halves(runs, judgement);
  ASSERT_EQ(halves.size(), 2u);
  EXPECT_EQ(halves[0].name, "held_out");
  EXPECT_EQ(halves[0].epoch.count, 3u);
  EXPECT_NEAR(halves[0].epoch.mean_absolute, 2.5 / 3, 1e-12);
  EXPECT_NEAR(halves[0].epoch.factor, std::exp((std::log(2) + std::log(3)) / 3), 1e-12);
  EXPECT_NEAR(halves[0].steady.mean_absolute, 2.0 / 3, 1e-12);
  EXPECT_NEAR(halves[0].roofline.factor, 3, 1e-12);
  EXPECT_EQ(halves[0].ordered.right, 0u);
  EXPECT_EQ(halves[0].ordered.of, 1u);
  EXPECT_EQ(halves[1].epoch.count, 2u);
  EXPECT_NEAR(halves[1].epoch.mean_absolute, 0.3, 1e-12);
  EXPECT_EQ(halves[1].ordered.right, 1u);
  EXPECT_EQ(halves[1].ordered.of, 1u);
}

/// A program in place of Python that states half a second for every epoch.
class FakePython {
 public:
  FakePython() : path_((fs::temp_directory_path() / ("strobe-fake-" + std::to_string(getpid()))).string()) {
    std::ofstream(path_) << "#!/bin/sh\nfor i in $(seq $STROBE_EPOCHS); do\n"
                            "  echo '{\"epoch_seconds\": 0.5, \"edges\": 7}' >> $STROBE_EPOCH_FILE\ndone\n";
    fs::permissions(path_, fs::perms::owner_all);
  }
  ~FakePython() { fs::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(ValidationPrograms, EveryProgramOfKnownTimesIsMeasuredAndJudgedAgainstItsPrediction) {
  const FakePython python;
  const ProgramRuns runs = program_runs(bundled_programs(), "all", "small/", place_on("aimos-v100", python.path()));
  std::vector<ValidationPair> pairs;
  for (const ProgramRun& run : runs.runs) pairs.push_back(run.pair);
  const PairListener silent{[](const std::string&) {}, [](const std::string&, const CaseResult&) {},
                            [](const PairResult&) {}};
  const Judgement judgement = judge_pairs(measure_pairs(pairs, true, silent));
  for (std::size_t i = 0; i < judgement.cases.size(); ++i)
    EXPECT_TRUE(judgement.cases[i].judged)
        << runs.runs[i].name << ": " << judgement.cases[i].measured.reason << judgement.cases[i].predicted.reason;
  ASSERT_EQ(judgement.judged, 21u);  // 19 ways on the small graph, 2 on the small stream
  EXPECT_EQ(judgement.failed, 0u);
  for (const CaseJudgement& one : judgement.cases) {
    EXPECT_EQ(one.measured_seconds, 0.5);
    EXPECT_GT(one.predicted_seconds, 0);
    EXPECT_NEAR(one.error, one.predicted_seconds / 0.5 - 1, 1e-12);
    EXPECT_FALSE(one.bytes_equal);  // another program's bytes are not known
  }
  std::map<std::string, std::size_t> groups;
  for (const GroupJudgement& group : judgement.groups) groups[group.group] = group.strategies;
  EXPECT_EQ(groups.at("t-gcn/small"), 5u);
  EXPECT_EQ(groups.at("dgl-t-gcn/small"), 2u);  // the same model and graph, and another program
  for (std::size_t i = 0; i < runs.runs.size(); ++i) {
    const std::string way = runs.runs[i].name.substr(runs.runs[i].name.rfind('/') + 1);
    const std::map<char, std::string> strategies = {
        {'a', "sequential"}, {'d', "pss"}, {'v', "vertex"}, {'b', "event_batch"}};
    EXPECT_EQ(judgement.cases[i].strategy.rfind(strategies.at(way[0]) + " ", 0), 0u) << runs.runs[i].name;
  }
}

}  // namespace
}  // namespace strobe
