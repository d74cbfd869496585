// Sweeps as people type them: a case that cannot run becomes a row with its reason, plug-ins take parameters, ranges
// are expanded, and paths of files are relative to their suite.
#include <algorithm>
#include <set>

#include "harness/request/case.hpp"
#include "harness/request/varied_values.hpp"
#include "tests/cli/program.hpp"

namespace strobe {
namespace {

using cli_test::expect_refusal;
using cli_test::Outcome;
using cli_test::Program;
using cli_test::read_json;
using cli_test::tiny;
using cli_test::write_text;
using Texts = std::vector<std::string>;

class Sweeps : public Program {
 protected:
  Outcome run(std::vector<std::string> more) {
    more.insert(more.begin(), {"run", "--workload", tiny, "--epochs", "1"});
    return strobe(more);
  }
  Json rows(const std::string& run) { return read_json(folder_ / run / "summary.json").at("rows"); }
};

TEST(VariedValues, CommasInJsonAndInQuotesDoNotSeparate) {
  EXPECT_EQ(varied_values("ranks", "1,2,4"), (Texts{"1", "2", "4"}));
  EXPECT_EQ(varied_values("strategy", "snapshot,vertex:partitioner=metis,stale=static,pss"),
            (Texts{"snapshot", "vertex:partitioner=metis,stale=static", "pss"}));
  EXPECT_EQ(varied_values("strategy", R"({"name":"vertex","partitioner":"hash"},snapshot)"),
            (Texts{R"({"name":"vertex","partitioner":"hash"})", "snapshot"}));
  EXPECT_EQ(varied_values("ranks", "[1,2]"), (Texts{"1", "2"}));
  EXPECT_EQ(varied_values("workload", R"("a,b.csv",c.csv)"), (Texts{R"("a,b.csv")", "c.csv"}));
  EXPECT_EQ(varied_values("until", "converged,loss=100"), (Texts{"converged", "loss=100"}));
  EXPECT_THROW(varied_values("strategy", R"({"name":"vertex")"), InvalidRequest);
}

TEST(VariedValues, RangesAreTheirNumbers) {
  EXPECT_EQ(varied_values("seed", "1..5"), (Texts{"1", "2", "3", "4", "5"}));
  EXPECT_EQ(varied_values("seed", "3..3,8..9"), (Texts{"3", "8", "9"}));
  EXPECT_EQ(varied_values("workload", "1..5"), (Texts{"1..5"})) << "a file may have that name";
  EXPECT_THROW(varied_values("seed", "5..1"), InvalidRequest);
  EXPECT_THROW(varied_values("seed", "0..10000"), InvalidRequest);
  EXPECT_EQ(varied_values("seed", "0..9999").size(), most_cases);
  EXPECT_EQ(varied_values("seed", "1..x"), (Texts{"1..x"}));
}

TEST(VariedValues, APluginComesWithItsParameters) {
  const auto texts = [](const std::string& path, const std::string& value) {
    std::string all;
    for (const Setting& setting : settings_of_value(path, value)) all += setting.path + "=" + setting.text + ";";
    return all;
  };
  EXPECT_EQ(texts("strategy", "vertex:partitioner=metis,stale=none"),
            "strategy=vertex;strategy.partitioner=metis;strategy.stale=none;");
  EXPECT_EQ(texts("strategy", R"({"name":"chunk","max_cells":7,"rates":""})"),
            "strategy=chunk;strategy.max_cells=7;strategy.rates=;");
  EXPECT_EQ(texts("cluster", R"({"name":"p5-h100","gpu":{"memory_bytes":5}})"),
            "cluster=p5-h100;cluster.gpu.memory_bytes=5;");
  EXPECT_EQ(texts("ranks", "4"), "ranks=4;");
}

TEST_F(Sweeps, WhatCannotBeDividedIsARowWithItsReason) {
  const Texts sweep{"--vary", "model=tm-gcn,t-gcn", "--vary", "strategy=sequential,snapshot,vertex", "--ranks", "2"};
  Texts asked = sweep;
  asked.insert(asked.end(), {"--out", "run"});
  const Outcome outcome = run(asked);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  ASSERT_EQ(rows("run").size(), 6u);
  for (const Json& row : rows("run")) {
    const bool impossible = row.at("strategy").at("name") == "sequential";
    EXPECT_EQ(row.at("status"), impossible ? "skipped" : "ok") << row.at("case_id");
    EXPECT_EQ(row.at("reason"), impossible ? "strategy sequential runs on 1 rank, not 2" : "");
    EXPECT_EQ(row.at("epoch_seconds").is_null(), impossible);
  }
  EXPECT_EQ(strobe({"run", "--resume", "run"}).status, 0) << "rows that are kept say the same";
  EXPECT_EQ(strobe({"run", "--resume", "run", "--retry-failed"}).status, 0);
  EXPECT_EQ(rows("run").size(), 6u);
  const Outcome report = strobe({"report", "run"});
  EXPECT_TRUE(report.status == 0 || report.status == 5) << report.err;  // 5: no Python here

  asked = sweep;
  asked.insert(asked.end(), {"--strict", "--out", "strict"});
  expect_refusal(run(asked), 2, {"--ranks", "uniform/tm-gcn/sequential/cpu/r2#", "runs on 1 rank, not 2"});
  EXPECT_FALSE(std::filesystem::exists(folder_ / "strict"));
}

TEST_F(Sweeps, ARunOfNothingButImpossibleCasesIsRefused) {
  expect_refusal(run({"--strategy", "sequential", "--vary", "ranks=2,3", "--out", "run"}), 2,
                 {"--vary ranks", "none of the 2 cases can run", "runs on 1 rank, not 2"});
  expect_refusal(run({"--strategy", "sequential", "--ranks", "2", "--out", "run"}), 2, {"--ranks", "1 rank, not 2"});
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run"));
}

TEST_F(Sweeps, MistakesAreStillRefused) {
  for (const auto& [typed, words] : std::vector<std::pair<std::string, Texts>>{
           {"strategy=vertex,snapshto", {"--vary strategy", "did you mean 'snapshot'"}},
           {"strategy=snapshot,vertex:partitioner=mettis", {"mettis"}},
           {"ranks=1,two", {"--vary ranks", "two"}},
           {"model.width=1,2", {"--vary model.width", "unknown"}},
           {"seed=5..1", {"--vary", "ends before it begins"}},
           {R"(strategy={"name":"vertex")", {"--vary", "nothing closes"}}})
    expect_refusal(run({"--vary", typed, "--out", "run"}), 2, words);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run"));
}

TEST_F(Sweeps, AFlagWithSeveralValuesNamesTheVaryToType) {
  const auto refused = [&](const std::string& flag, const std::string& text, const std::string& vary) {
    expect_refusal(strobe({"run", "--workload", tiny, flag, text, "--out", "run"}), 2, {"type --vary " + vary});
  };
  std::size_t numbers = 0;
  for (const Field& field : case_fields().fields()) {
    if (field.type != FieldType::integer && field.type != FieldType::real) continue;
    std::string flag = "--" + field.name;
    std::replace(flag.begin(), flag.end(), '_', '-');
    refused(flag, "1,2", field.name + "=1,2");
    ++numbers;
  }
  EXPECT_GT(numbers, 5u);
  for (const std::string range : {"1-4", "1..4"}) refused("--ranks", range, "ranks=" + range);
  refused("--nb", "1,auto", "nb=1,auto");
  refused("--precision", "fp32,fp64", "precision=fp32,fp64");
  refused("--model", "tm-gcn,t-gcn", "model=tm-gcn,t-gcn");
  refused("--set", "model.window=1..4", "model.window=1..4");
  refused("--model", "tm-gcn:window=3-5", "model.window=3-5");
  const Outcome one = run({"--ranks", "two", "--out", "run"});
  EXPECT_EQ(one.status, 2);
  EXPECT_EQ(one.err.find("--vary"), std::string::npos) << one.err;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run"));
}

TEST_F(Sweeps, CasesThatFitNoClusterAndModelsOfOtherStrategiesAreSkipped) {
  ASSERT_EQ(run({"--vary", "ranks=2,8,1024", "--strategy", "vertex", "--device", "sim", "--cluster", "p5-h100", "--out",
                 "sim"})
                .status,
            0);
  const Json simulated = rows("sim");
  ASSERT_EQ(simulated.size(), 3u);
  EXPECT_EQ(simulated[1].at("status"), "ok");
  EXPECT_EQ(simulated[2].at("status"), "skipped");
  EXPECT_EQ(simulated[2].at("time_source"), "virtual");
  EXPECT_NE(simulated[2].at("reason").get<std::string>().find("do not fit cluster p5-h100"), std::string::npos);
  ASSERT_EQ(strobe({"run", "--resume", "sim"}).status, 0) << "the plan gives the same cases again";

  const std::string two_kinds = "--vary=model=t-gcn,jodie";
  const Outcome families = strobe({"run", "--workload", "ucsocial", two_kinds, "--vary", "strategy=vertex,event_batch",
                                   "--epochs", "1", "--dry-run", "--json"});
  ASSERT_EQ(families.status, 0) << families.err;
  std::set<std::string> skipped;
  const Json plans = Json::parse(families.out).at("cases");
  for (const Json& plan : plans)
    if (plan.contains("skipped")) skipped.insert(plan.at("case_id").get<std::string>().substr(0, 24));
  EXPECT_EQ(skipped, (std::set<std::string>{"ucsocial/jodie/vertex/cp", "ucsocial/t-gcn/event_bat"}));
}

TEST_F(Sweeps, ASuiteNamesFilesRelativeToItself) {
  std::filesystem::create_directories(folder_ / "studies");
  std::string events = "source,target,time\n";
  for (int i = 0; i < 400; ++i)
    events += std::to_string(i % 17) + "," + std::to_string((i * 7 + 3) % 19) + "," + std::to_string(i) + "\n";
  write_text(folder_ / "studies" / "mine.csv", events);
  write_text(folder_ / "studies" / "suite.json",
             R"({"cases": [{"workload": {"name": "mine.csv", "window": "50"}, "epochs": 1}]})");
  ASSERT_EQ(strobe({"run", "studies/suite.json", "--out", "beside"}).status, 0);
  EXPECT_EQ(rows("beside")[0].at("workload").at("name"), "studies/mine.csv");

  std::filesystem::rename(folder_ / "studies" / "mine.csv", folder_ / "mine.csv");
  ASSERT_EQ(strobe({"run", "studies/suite.json", "--out", "here"}).status, 0) << "or where the program was started";
  EXPECT_EQ(rows("here")[0].at("workload").at("name"), "mine.csv");
  expect_refusal(strobe({"run", "studies/suite.json", "--workload", "suite.csv", "--out", "x"}), 2, {"suite.csv"});

  std::string owners = "step,vertex,rank\n";
  for (int v = 0; v < 17; ++v) owners += "," + std::to_string(v) + "," + std::to_string(v % 2) + "\n";
  write_text(folder_ / "studies" / "owners.csv", owners);
  write_text(folder_ / "studies" / "placed.json",
             R"({"cases": [{"workload": {"name": "uniform", "vertices": 17, "steps": 4}, "epochs": 1, "ranks": 2,
                 "strategy": {"name": "file", "owners": "owners.csv"}}]})");
  ASSERT_EQ(strobe({"run", "studies/placed.json", "--out", "placed"}).status, 0);
  EXPECT_EQ(rows("placed")[0].at("strategy").at("owners"), "studies/owners.csv");
  EXPECT_EQ(strobe({"run", "--resume", "placed"}).status, 0);
  write_text(folder_ / "studies" / "owners.csv", owners + "\n");
  expect_refusal(strobe({"run", "--resume", "placed"}), 2, {"studies/owners.csv"});
}

}  // namespace
}  // namespace strobe
