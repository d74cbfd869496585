// Wrong requests: a clear message on standard error, the documented exit status, nothing measured.
#include "tests/cli/program.hpp"

namespace strobe::cli_test {
namespace {

class Refusals : public Program {};

TEST_F(Refusals, UnknownCommandNamesTheNearest) {
  expect_refusal(strobe({"lst"}), 2, {"unknown command 'lst'", "did you mean 'list'?"});
  expect_refusal(strobe({}), 2, {"which command?", "run"});
}

TEST_F(Refusals, HelpIsAWordAndAnOptionAndTheVersionNamesTheSource) {
  const Outcome help = strobe({"--help"}), of_run = strobe({"run", "--help"}), version = strobe({"--version"});
  EXPECT_EQ(strobe({"help"}).out, help.out);
  EXPECT_EQ(strobe({"help", "run"}).out, of_run.out);
  EXPECT_NE(help.out, of_run.out);
  EXPECT_EQ(strobe({"help", "run"}).status, 0);
  expect_refusal(strobe({"help", "lst"}), 2, {"unknown command 'lst'", "did you mean 'list'?"});
  EXPECT_EQ(version.status, 0);
  EXPECT_EQ(version.out.find("strobe 0."), 0u) << version.out;
}

TEST_F(Refusals, UnknownOptionNamesTheNearest) {
  expect_refusal(strobe({"run", "--wokload", "chess"}), 2, {"'--wokload'", "did you mean '--workload'?"});
  expect_refusal(strobe({"run", "--workload", tiny, "--epoch=3"}), 2, {"'--epoch'", "did you mean '--epochs'?"});
  expect_refusal(strobe({"--verbos"}), 2, {"unknown option '--verbos'"});
  expect_refusal(strobe({"inspect", "--workload", "chess"}), 2,
                 {"'--workload'", "Without an option: strobe inspect W."});
  expect_refusal(strobe({"env", "now"}), 2, {"does not expect 'now'"});
}

TEST_F(Refusals, OptionWithoutValue) { expect_refusal(strobe({"run", "--workload"}), 2, {"--workload"}); }

TEST_F(Refusals, NothingToRun) { expect_refusal(strobe({"run"}), 2, {"suite file", "--workload"}); }

struct WrongValue {
  std::vector<std::string> flags;
  std::vector<std::string> words;
};

TEST_F(Refusals, WrongNamesAndValuesNameTheOption) {
  const std::vector<WrongValue> cases = {
      {{"--model", "tm-gcm"}, {"--model", "did you mean 'tm-gcn'?"}},
      {{"--strategy", "snapshots"}, {"--strategy", "did you mean 'snapshot'?"}},
      {{"--strategy", "pts"}, {"--strategy", "it is 'vertex' here"}},
      {{"--strategy", "pss-ts"}, {"--strategy", "it is 'snapshot' here"}},
      {{"--task", "link-predicton"}, {"--task", "did you mean 'link-prediction'?"}},
      {{"--optimizer", "adm"}, {"--optimizer", "did you mean 'adam'?"}},
      {{"--device", "cpus"}, {"--device", "did you mean 'cpu'?"}},
      {{"--comm", "locl"}, {"--comm", "did you mean 'local'?"}},
      {{"--precision", "fp16"}, {"--precision", "fp32"}},
      {{"--epochs", "0"}, {"--epochs", "out of range"}},
      {{"--epochs", "many"}, {"--epochs", "an integer"}},
      {{"--timeout", "-1"}, {"--timeout", "out of range"}},
      {{"--set", "model.windw=3"}, {"--set model.windw", "did you mean 'window'?"}},
      {{"--set", "rank=3"}, {"--set rank", "did you mean 'ranks'?"}},
      {{"--set", "ranks.of=3"}, {"--set ranks.of", "has no parameters"}},
      {{"--set", "ranks"}, {"--set", "key=value"}},
      {{"--model", "tm-gcn:window=wide"}, {"--model window", "an integer"}},
      {{"--ranks", "2", "--set", "ranks=4"}, {"--set ranks", "already set by --ranks"}},
      {{"--filter", "("}, {"--filter", "regular expression"}},
      {{"--filter", "nothing-like-it"}, {"--filter", "no case matches"}},
      {{"--cluster", "aimos-v100"}, {"--cluster", "runs on this machine"}},
      {{"--device", "sim", "--comm", "local"}, {"--comm", "comm sim"}},
      {{"--device", "sim", "--cluster", "aimos-v10"}, {"--cluster", "aimos-v100"}},
      {{"--numerics", "none"}, {"--numerics", "computes values"}},
      {{"--resume"}, {"--resume", "--out"}},
      {{"--device", "sim", "--save-model", "m.safetensors"}, {"--save-model", "needs values"}},
      {{"--dump-embeddings", "no-such-folder/z.npy"}, {"--dump-embeddings", "no-such-folder"}},
      {{"--dump-samples", "no-such-folder/z.csv"}, {"--dump-samples", "no-such-folder"}},
      {{"--load-model", "no-such-file"}, {"no-such-file"}},
  };
  for (const WrongValue& wrong : cases) {
    SCOPED_TRACE(::testing::PrintToString(wrong.flags));
    std::vector<std::string> words{"run", "--workload", tiny};
    words.insert(words.end(), wrong.flags.begin(), wrong.flags.end());
    expect_refusal(strobe(words), 2, wrong.words);
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "runs")) << "a refused request left a run directory";
}

TEST_F(Refusals, StaleWithoutHalosAndThresholdsOutOfRange) {
  const std::vector<WrongValue> cases = {
      {{"--strategy", "snapshot:stale=adaptive"}, {"--strategy stale", "no halos", "snapshot_groups or vertex"}},
      {{"--strategy", "sequential:stale=static"}, {"--strategy stale", "no halos", "leave stale out"}},
      {{"--strategy", "vertex:stale=static,stale_theta=1.5"}, {"--strategy stale_theta", "between 0 and 1"}},
      {{"--strategy", "snapshot:servers=1", "--ranks", "2"}, {"--strategy servers", "no halos", "leave servers out"}},
      {{"--strategy", "vertex:servers=3", "--ranks", "2"}, {"--strategy servers", "set servers=2 or fewer"}},
  };
  for (const WrongValue& wrong : cases) {
    std::vector<std::string> words{"run", "--workload", tiny};
    words.insert(words.end(), wrong.flags.begin(), wrong.flags.end());
    expect_refusal(strobe(words), 2, wrong.words);
  }
}

TEST_F(Refusals, AParameterThatHappensToBeGivenIsNotBlamedForTheWholeModel) {
  expect_refusal(strobe({"run", "--workload", "chess:edge_life=3", "--model", "evolve-gcn-o:hidden=3"}), 2,
                 {"strobe: --model: the workload's steps already repeat events", "set edge_life=1"});
}

TEST_F(Refusals, StepsOfAllEdgesHaveNoNegatives) {
  std::string complete = "source,target,time\n";
  for (const char* time : {"0", "1", "2"}) {
    for (const char* edge : {"0,1,", "1,0,", "0,2,", "2,0,", "1,2,", "2,1,"})
      complete += std::string(edge) + time + "\n";
  }
  write_text(folder_ / "complete.csv", complete);
  expect_refusal(strobe({"run", "--workload", "complete.csv:window_count=3", "--task", "link-prediction:theta=0.5"}), 2,
                 {"--task theta", "step 0 has too few non-edges to draw 3 negatives", "set task.theta lower"});
}

TEST_F(Refusals, UnknownWorkload) {
  expect_refusal(strobe({"run", "--workload", "ches"}), 2, {"--workload", "'chess'"});
  expect_refusal(strobe({"run", "--workload", "no/such/file.txt"}), 2, {"no/such/file.txt"});
  expect_refusal(strobe({"inspect", "ches"}), 2, {"'chess'"});
}

TEST_F(Refusals, ImpossibleRankCounts) {
  expect_refusal(strobe({"run", "--workload", tiny, "--ranks", "0"}), 2, {"--ranks", "between 1"});
  expect_refusal(strobe({"run", "--workload", tiny, "--ranks", "2"}), 2, {"sequential", "2"});
  // 8 snapshots leave 7 to train on, which cannot be spread over 8 ranks.
  expect_refusal(strobe({"run", "--workload", tiny, "--strategy", "snapshot", "--ranks", "8"}), 2,
                 {"--ranks", "7", "8"});
  expect_refusal(strobe({"run", "--workload", tiny, "--strategy", "vertex", "--ranks", "61"}), 2,
                 {"--ranks", "60", "61"});
  // A plan for a million ranks needs terabytes, so Strobe refuses before it begins.
  expect_refusal(strobe({"run", "--workload", "uniform:steps=3,vertices=1000000,density=1", "--strategy", "vertex",
                         "--ranks", "1000000", "--dry-run"}),
                 2, {"--ranks", "1000000 ranks with nb=1 take about 4.0", " TB to plan", "fewer ranks"});
  expect_refusal(finish(start({"env", "STROBE_KEPT_PLANS_GIB=much", STROBE_BINARY, "run", "--workload", tiny})), 2,
                 {"STROBE_KEPT_PLANS_GIB", "expected a number of GiB"});
}

TEST_F(Refusals, StrictlyAnImpossibleCaseOfASuiteIsFoundBeforeAnythingIsMeasured) {
  const std::string name = suite(R"({"defaults": {"workload": {"name": "uniform", "steps": 8, "vertices": 60}},
    "cases": [{"strategy": "sequential"}, {"strategy": "snapshot", "ranks": 30}]})");
  expect_refusal(strobe({"run", name, "--strict", "--out", "out"}), 2, {"/cases/1/ranks", "30"});
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
}

TEST_F(Refusals, APlaceInASuiteOrClusterIsNamedWithItsFile) {
  const std::string name = suite(R"({"defaults": {"workload": {"name": "uniform", "density": true}}, "cases": [{}]})");
  expect_refusal(strobe({"run", name, "--dry-run"}), 2, {name + "#/defaults/workload/density", "found true"});
  write_text(folder_ / "mine.json", R"({"nodse": 2})");
  const std::vector<std::string> words = {"run", "--workload", tiny, "--device", "sim", "--cluster"};
  for (const std::string changes : {"", ":nodes=2"}) {
    std::vector<std::string> simulated = words;
    simulated.push_back(path("mine.json") + changes);
    expect_refusal(strobe(simulated), 2, {"--cluster: " + path("mine.json") + "#/nodse", "'nodse'"});
  }
}

TEST_F(Refusals, FileOfTheWrongFormat) {
  write_text(folder_ / "notes.txt", "this is not a graph\nat all\n");
  expect_refusal(strobe({"run", "--workload", path("notes.txt")}), 2, {"notes.txt"});
  expect_refusal(strobe({"inspect", path("notes.txt")}), 2, {"notes.txt"});
  expect_refusal(strobe({"convert", path("notes.txt"), path("notes.strobe")}), 2, {"notes.txt"});
  EXPECT_FALSE(std::filesystem::exists(folder_ / "notes.strobe"));
}

TEST_F(Refusals, TooFewEdgesForATaskNameTheOption) {
  write_text(folder_ / "few.csv", "source,target,time\n1,2,10\n2,3,20\n3,1,35\n1,3,50\n2,1,60\n4,2,75\n");
  const std::string few = path("few.csv") + ":window_count=3";
  expect_refusal(strobe({"run", "--workload", few}), 2, {"theta = 0.1", "2 training steps", "set task.theta higher"});
  EXPECT_EQ(strobe({"run", "--workload", few, "--set", "task.theta=1", "--out", path("few")}).status, 0);
}

TEST_F(Refusals, MalformedLineIsNamed) {
  write_text(folder_ / "graph.txt", "1 2 10\n2 3 20\n3 x 30\n");
  expect_refusal(strobe({"run", "--workload", path("graph.txt")}), 2, {"graph.txt:3"});
}

TEST_F(Refusals, EmptyFile) {
  write_text(folder_ / "empty.txt", "");
  expect_refusal(strobe({"run", "--workload", path("empty.txt")}), 2, {"empty.txt"});
}

TEST_F(Refusals, UnwritableOutput) {
  write_text(folder_ / "file", "");
  expect_refusal(strobe({"run", "--workload", tiny, "--out", path("file") + "/below"}), 2, {"--out", "file"});
  expect_refusal(strobe({"run", "--workload", tiny, "--out", "/proc/strobe"}), 2, {"--out", "/proc/strobe"});
}

TEST_F(Refusals, ConvertNeedsAKnownExtensionAndEvents) {
  expect_refusal(strobe({"convert", "chess", "chess.parquet"}), 2, {".strobe", ".csv"});
  expect_refusal(strobe({"convert", "uniform", "uniform.csv"}), 2, {"uniform"});
  expect_refusal(strobe({"convert", "chess"}), 2, {"IN and OUT"});
}

TEST_F(Refusals, DeviceThatIsNotThereLeavesNoRunDirectory) {
  for (const auto& file : std::filesystem::directory_iterator("/dev"))
    if (file.path().filename().string().find("nvidia") == 0) GTEST_SKIP() << "this machine has a GPU";
  const std::string out = path("no-gpu");
  for (const std::string device : {"cuda", "cuda-graphs"}) {
    expect_refusal(strobe({"run", "--workload", tiny, "--device", device, "--out", out}), 5, {"cuda"});
    EXPECT_FALSE(std::filesystem::exists(out));
  }
}

TEST_F(Refusals, FullDiskIsAMessageNotACrash) {
  const Outcome outcome = finish(start_shell("exec '" STROBE_BINARY "' list models --json > /dev/full"));
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.err.find("standard output"), std::string::npos) << outcome.err;
}

TEST_F(Refusals, CompareNeedsTwoRunsWithACommonCase) {
  expect_refusal(strobe({"compare", "here"}), 2, {"BASE and NEW"});
  ASSERT_EQ(strobe({"run", "--workload", tiny, "--out", "a"}).status, 0);
  ASSERT_EQ(strobe({"run", "--workload", tiny, "--seed", "2", "--out", "b"}).status, 0);
  const Outcome different = strobe({"compare", "a", "b"});
  EXPECT_EQ(different.status, 4) << different.err;
  EXPECT_EQ(strobe({"compare", "a", "a"}).status, 0);
  expect_refusal(strobe({"compare", "a", "a", "--threshold", "-3"}), 2, {"--threshold"});
}

class Lists : public Program {};

TEST_F(Lists, AreWrittenWithSlashesWhereCommasSeparate) {
  const auto weights = [this](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"run", "--workload", "amlsim-20k", "--dry-run", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = strobe(words);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    std::vector<std::string> found;
    const Json plan = Json::parse(outcome.out.empty() ? "{}" : outcome.out);
    for (const Json& c : plan.at("cases")) found.push_back(c.at("case").at("task").at("class_weights"));
    return found;
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(weights({"--task", "vertex-classification:class_weights=0.1/0.9,train_share=0.6"}), Texts{"0.1/0.9"});
  EXPECT_EQ(weights({"--task", "vertex-classification", "--vary", "task.class_weights=0.1/0.9,balanced"}),
            (Texts{"0.1/0.9", "balanced"}));
  EXPECT_EQ(weights({"--task", "vertex-classification", "--set", "task.class_weights=0.1,0.9"}), Texts{"0.1,0.9"});
  expect_refusal(strobe({"run", "--workload", "amlsim-20k", "--task", "vertex-classification:class_weights=0.1,0.9"}),
                 2, {"'0.9' has no value", "written with /"});
}

}  // namespace
}  // namespace strobe::cli_test
