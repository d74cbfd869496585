// Names of other programs and papers: the refusal of each gives Strobe's name, and none of them is a name in Strobe.
#include "core/names_elsewhere.hpp"

#include <algorithm>
#include <set>

#include "harness/cli/command.hpp"
#include "harness/placement/strategy.hpp"
#include "harness/request/case_slots.hpp"
#include "models/snapshots/model.hpp"
#include "models/tasks/task.hpp"
#include "tests/cli/program.hpp"
#include "workloads/partitioners/partitioner.hpp"

namespace strobe {
namespace {

using cli_test::expect_refusal;
using cli_test::Outcome;
using cli_test::Program;
using cli_test::tiny;

class NamesElsewhere : public Program {};

std::vector<std::string> real_names(const std::string& kind) {
  if (kind == "model") return ModelRegistry::instance().names();
  if (kind == "strategy") return StrategyRegistry::instance().names();
  if (kind == "partitioner") return Registry<PartitionerTag>::instance().names();
  if (kind == "task") return TaskRegistry::instance().names();
  if (kind == "device") return {"cpu", "sim", "cuda"};  // not every build has cuda
  if (kind == "communicator") return {"local", "sim", "mpi", "nccl"};
  if (kind == "value of precision") return {"fp32", "fp64"};
  if (kind == "option") {
    std::vector<std::string> flags;
    for (const DescribedCommand& command : describe_program().commands)
      for (const DescribedOption& option : command.options)
        flags.insert(flags.end(), option.flags.begin(), option.flags.end());
    return flags;
  }
  std::vector<std::string> keys = case_fields().names();
  for (const CaseSlot& slot : case_slots()) keys.push_back(slot.name);
  return keys;
}

TEST_F(NamesElsewhere, AreNoNamesOfStrobeAndPointToSome) {
  std::set<std::pair<std::string, std::string>> seen;
  for (const NameElsewhere& entry : names_elsewhere()) {
    const std::vector<std::string> names = real_names(entry.kind);
    const auto has = [&](const std::string& name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    EXPECT_FALSE(has(entry.name)) << entry.name << " is a " << entry.kind << " of Strobe";
    const std::string here = entry.here;
    const bool points_to_none = !here.empty() && !has(here.substr(0, here.find('.')));
    EXPECT_FALSE(points_to_none) << entry.name << " points to " << here;
    EXPECT_TRUE(!here.empty() || *entry.about != '\0') << entry.name << " helps nobody";
    EXPECT_TRUE(seen.insert({entry.kind, entry.name}).second) << entry.name;
    EXPECT_EQ(name_elsewhere(entry.kind, entry.name), &entry) << "two names that read alike: " << entry.name;
  }
}

TEST_F(NamesElsewhere, EveryWordOnThemNamesWhatIsThere) {
  std::set<std::string> all;
  for (const char* kind : {"model", "strategy", "partitioner", "task", "key"})
    for (const std::string& name : real_names(kind)) all.insert(name);
  for (const NameElsewhere& entry : names_elsewhere()) {
    const std::string about = entry.about;
    const std::size_t nearest = about.find("nearest is ");
    if (nearest == std::string::npos) continue;
    const std::string rest = about.substr(nearest + 11);
    EXPECT_EQ(all.count(rest.substr(0, rest.find(','))), 1u) << about;
  }
}

TEST_F(NamesElsewhere, AreNamedInRefusals) {
  const auto refused = [&](const std::vector<std::string>& flags, const std::vector<std::string>& words) {
    std::vector<std::string> command{"run", "--workload", tiny};
    command.insert(command.end(), flags.begin(), flags.end());
    expect_refusal(strobe(command), 2, words);
  };
  refused({"--model", "tgn"}, {"unknown model 'tgn'; it is 'tgn-attn' here"});
  refused({"--model", "EvolveGCN"}, {"it is 'evolve-gcn-o' here", "evolve-gcn-h"});
  refused({"--model", "roland"}, {"Strobe does not have it", "t-gcn"});
  refused({"--model", "tmgcn"}, {"did you mean 'tm-gcn'?"});
  refused({"--strategy", "dgc"}, {"it is 'chunk' here"});
  refused({"--strategy", "data_parallel"}, {"it is 'hybrid_batch' here", "event_batch"});
  refused({"--strategy", "epoch-parallel"}, {"it is 'event_batch' here", "its parameter j"});
  refused({"--model", "gcn"}, {"did you mean one of 'cd-gcn'", "'t-gcn'", "'tm-gcn'?"});
  refused({"--strategy", "dp"}, {"it is 'hybrid_batch' here"});
  refused({"--task", "node-classification"},
          {"it is 'vertex-classification' here", "type --task vertex-classification"});
  refused({"--task", "edge-classification"}, {"type --task event-classification"});
  refused({"--device", "sim", "--cluster", "a100"}, {"did you mean one of", "'p4d-a100'"});
  refused({"--output", "x"}, {"unknown option '--output'; it is '--out' here."});
  refused({"--seeds", "3"}, {"type --vary seed=1..3"});
  refused({"--precision", "float32"}, {"it is 'fp32' here"});
  refused({"--precision", "bf16"}, {"Strobe does not have it", "fp32 or fp64"});
  refused({"--comm", "gloo"}, {"it is 'local' here", "mpi joins processes"});
  refused({"--set", "batch_size=600"}, {"it is 'strategy.batch' here"});
}

TEST_F(NamesElsewhere, OfFlagsAreAnsweredWithTheWordsAndTheValueToType) {
  const auto refused = [&](std::vector<std::string> command, const std::string& words) {
    expect_refusal(strobe(command), 2, {"; type " + words});
  };
  refused({"run", "--workload", tiny, "--lr", "0.1"}, "--set optimizer.rate=0.1");
  refused({"run", "--workload", tiny, "--hidden=8"}, "--set model.hidden=8");
  refused({"run", "--workload", tiny, "--window", "7d"}, "--set workload.window=7d");
  refused({"run", "--workload", tiny, "--batch-size", "600"}, "--set strategy.batch=600");
  refused({"run", "--workload", tiny, "--gpus", "4"}, "--ranks 4");
  refused({"run", "--workload", tiny, "-n", "4"}, "--ranks 4");
  refused({"run", "--workload", tiny, "--world", "4"}, "--ranks 4");
  refused({"run", "--workload", tiny, "--repetitions", "3"}, "--repeat 3");
  refused({"plan", "--workload", tiny, "--ranks", "8"}, "--gpus 8");
  refused({"run", "--workload", tiny, "--dropout", "0.1"}, "--set model.dropout=0.1");
  refused({"plan", "--workload", tiny, "--cluster", "p4d-a100"}, "--clusters p4d-a100");
  refused({"plan", "--workload", tiny, "--device", "sim"}, "--clusters NAMES; the search decides device itself");
  refused({"plan", "--workload", tiny, "--memory-limit-gib", "30"}, "--set memory_limit_gib=30");
  refused({"run", "--workload", tiny, "--lr"}, "--set optimizer.rate=VALUE");
  refused({"run", "--workload", tiny, "--lr", "--epochs", "2"}, "--set optimizer.rate=VALUE");
  refused({"run", "--lr", "-0.5", "--workload", tiny}, "--set optimizer.rate=-0.5");
  refused({"run", "--lr", "0.01"}, "--set optimizer.rate=0.01");
}

/// Whether cuda is built or not, the answer says how to train on a GPU here.
TEST_F(NamesElsewhere, AGpuIsTheDeviceCuda) {
  const Outcome refused = strobe({"run", "--workload", tiny, "--device", "gpu"});
  if (lists("devices", "cuda"))
    expect_refusal(refused, 2, {"it is 'cuda' here", "type --device cuda", "--device sim"});
  else
    expect_refusal(refused, 5, {"device cuda is not built", "CUDA Toolkit", "docs/cuda.md"});
}

TEST_F(NamesElsewhere, CommandsAndFiguresOfOnesOwnAreAnswered) {
  expect_refusal(strobe({"rnu"}), 2, {"did you mean 'run'?"});
  expect_refusal(strobe({"inpsect"}), 2, {"did you mean 'inspect'?"});
  expect_refusal(strobe({"plot", "./my.py", "run"}), 2, {"there is no file './my.py'"});
}

TEST_F(NamesElsewhere, SingularKindsAndRangesWithADashAreUnderstood) {
  EXPECT_EQ(strobe({"list", "strategy"}).out, strobe({"list", "strategies"}).out);
  EXPECT_EQ(strobe({"list", "model"}).out, strobe({"list", "models"}).out);
  const auto swept = strobe({"run", "--workload", tiny, "--vary", "ranks=1-3", "--strategy", "snapshot", "--dry-run"});
  EXPECT_EQ(swept.status, 0) << swept.err;
  EXPECT_NE(swept.err.find("3 cases"), std::string::npos) << swept.err;
}

}  // namespace
}  // namespace strobe
