// Runs: the files on disk afterwards, going on, interruptions, and repetition to the byte.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "tests/cli/program.hpp"
#include "tests/cli/support/edited_json.hpp"

namespace strobe::cli_test {
namespace {

class Run : public Program {
 protected:
  Json rows(const std::string& folder) { return read_json(folder_ / folder / "summary.json").at("rows"); }

  std::size_t lines(const std::string& file) {
    const std::string text = read_text(folder_ / file);
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }

  std::string two_cases(const std::string& extra = "") {
    return suite(
        R"({"name": "two", "defaults": {"workload": {"name": "uniform", "steps": 8, "vertices": 60}, "epochs": 2)" +
        extra + R"(}, "cases": [{"strategy": "sequential"}, {"strategy": "snapshot", "ranks": 2}]})");
  }

  /// Waits until the run directory has `count` rows; false after half a minute.
  bool wait_for_rows(const std::string& folder, std::size_t count) {
    for (int tries = 0; tries < 1500; ++tries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      const Json summary = Json::parse(read_text(folder_ / folder / "summary.json"), nullptr, false);
      if (summary.is_object() && summary.at("rows").size() >= count) return true;
    }
    return false;
  }

  void interrupt_and_check(int signal);
};

TEST_F(Run, AFileTakesParametersAsANameDoes) {
  std::string lines;
  for (int i = 0; i < 60; ++i) lines += fmt::format("{} {} {}\n", i % 7, (i * 3 + 1) % 7, 1000000 + i * 3600);
  for (const char* name : {"trades.txt", "with:colon.txt"}) {
    write_text(path(name), lines);
    const Outcome outcome =
        strobe({"run", "--workload", std::string(name) + ":window=12h", "--epochs", "1", "--dry-run", "--json"});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("\"window\": \"12h\""), std::string::npos) << outcome.out;
  }
  const Outcome misspelt = strobe({"run", "--workload", "trades.txt:windw=12h"});
  EXPECT_EQ(misspelt.status, 2);
  EXPECT_NE(misspelt.err.find("window"), std::string::npos) << misspelt.err;
}

TEST_F(Run, RunsBegunInOneSecondKeepApart) {
  const std::time_t now = std::time(nullptr);
  for (std::time_t second = now; second < now + 60; ++second) {
    std::tm utc{};
    gmtime_r(&second, &utc);
    char stamp[32];
    std::strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", &utc);
    std::filesystem::create_directories(folder_ / "runs" / fmt::format("two-{}", stamp));
  }
  const Outcome outcome = strobe({"run", two_cases()});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  std::vector<std::string> written;
  for (const auto& run : std::filesystem::directory_iterator(folder_ / "runs")) {
    if (std::filesystem::exists(run.path() / "summary.json")) written.push_back(run.path().filename().string());
  }
  ASSERT_EQ(written.size(), 1u);
  EXPECT_EQ(written[0].substr(written[0].size() - 3), "Z-2");
}

TEST_F(Run, LeavesAllFilesAndPrintsATable) {
  const Outcome outcome = strobe({"run", two_cases(), "--out", "out", "--trace"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  for (const char* name :
       {"plan.json", "env.json", "samples.jsonl", "summary.json", "summary.csv", "logs/strobe.log"}) {
    EXPECT_TRUE(std::filesystem::exists(folder_ / "out" / name)) << name;
  }
  ASSERT_EQ(rows("out").size(), 2u);
  for (const Json& row : rows("out")) {
    EXPECT_EQ(row.at("status"), "ok");
    EXPECT_EQ(row.at("loss").size(), 3u);  // one warm-up epoch and two measured ones
    EXPECT_NE(outcome.out.find(row.at("case_id").get<std::string>()), std::string::npos);
    EXPECT_NE(outcome.err.find(row.at("case_id").get<std::string>()), std::string::npos);
  }
  EXPECT_EQ(lines("out/samples.jsonl"), 3u * (1 + 2));
  std::size_t traces = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder_ / "out/trace")) {
    EXPECT_FALSE(read_json(file.path()).at("traceEvents").empty()) << file.path();
    ++traces;
  }
  EXPECT_EQ(traces, 2u);
}

TEST_F(Run, JsonIsTheSummaryAlone) {
  const Outcome outcome = strobe({"run", "--workload", tiny, "--epochs", "2", "--out", "out", "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(Json::parse(outcome.out), read_json(folder_ / "out/summary.json"));
}

TEST_F(Run, DryRunPrintsPlansAndWritesNothing) {
  const Outcome outcome = strobe({"run", two_cases(), "--dry-run", "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json plan = Json::parse(outcome.out);
  EXPECT_EQ(plan.at("plan_hash").get<std::string>().size(), 64u);
  ASSERT_EQ(plan.at("cases").size(), 2u);
  EXPECT_EQ(plan.at("cases")[0].at("planned_bytes_per_epoch").at("total"), 0);
  EXPECT_GT(plan.at("cases")[1].at("planned_bytes_per_epoch").at("redistribute").get<double>(), 0.0);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "runs"));
}

TEST_F(Run, FilterKeepsOrDropsCases) {
  ASSERT_EQ(strobe({"run", two_cases(), "--out", "kept", "--filter", "snapshot"}).status, 0);
  ASSERT_EQ(rows("kept").size(), 1u);
  EXPECT_EQ(rows("kept")[0].at("strategy").at("name"), "snapshot");
  ASSERT_EQ(strobe({"run", two_cases(), "--out", "dropped", "--filter", "-snapshot"}).status, 0);
  ASSERT_EQ(rows("dropped").size(), 1u);
  EXPECT_EQ(rows("dropped")[0].at("strategy").at("name"), "sequential");
}

TEST_F(Run, VaryRunsEveryCombination) {
  const std::vector<std::string> one_case = {"run", "--workload", "uniform:steps=8,vertices=60", "--epochs", "1"};
  const auto varied = [&](std::vector<std::string> more) {
    more.insert(more.begin(), one_case.begin(), one_case.end());
    return strobe(more);
  };
  ASSERT_EQ(varied({"--vary", "strategy=snapshot,vertex", "--vary", "ranks=1,2", "--out", "four"}).status, 0);
  std::vector<std::string> found;
  for (const Json& row : rows("four")) {
    found.push_back(fmt::format("{} {}", row.at("strategy").at("name").get<std::string>(), row.at("ranks").get<int>()));
  }
  EXPECT_EQ(found, (std::vector<std::string>{"snapshot 1", "snapshot 2", "vertex 1", "vertex 2"}));
  // Equal values give one case. Each case of a suite is varied by itself.
  ASSERT_EQ(varied({"--vary", "model.window=3,3", "--out", "once"}).status, 0);
  EXPECT_EQ(rows("once").size(), 1u);
  ASSERT_EQ(strobe({"run", two_cases(), "--vary", "seed=1,2", "--out", "suite"}).status, 0);
  EXPECT_EQ(rows("suite").size(), 4u);
}

TEST_F(Run, VaryRefusesWhatItCannotVary) {
  for (const auto& [typed, named] : {std::pair{"ranks", "key=value"},
                                     {"ranks=", "no value"},
                                     {"ranks=1,two", "ranks"},
                                     {"rank=1,2", "ranks"},
                                     {"epochs=1,2", "already set"}}) {
    const Outcome outcome =
        strobe({"run", "--workload", "uniform:steps=8,vertices=60", "--epochs", "1", "--vary", typed});
    EXPECT_EQ(outcome.status, 2) << typed;
    EXPECT_NE(outcome.err.find("--vary"), std::string::npos) << typed << ": " << outcome.err;
    EXPECT_NE(outcome.err.find(named), std::string::npos) << typed << ": " << outcome.err;
  }
}

TEST_F(Run, AFailingCaseIsARowAndTheOthersRun) {
  const std::string name =
      suite(R"({"defaults": {"workload": {"name": "uniform", "steps": 8, "vertices": 600}, "epochs": 1},
    "cases": [{"memory_limit_gib": 0.00001}, {"strategy": "snapshot", "ranks": 2}]})");
  const Outcome outcome = strobe({"run", name, "--out", "out"});
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  ASSERT_EQ(rows("out").size(), 2u);
  EXPECT_EQ(rows("out")[0].at("status"), "out_of_memory");
  EXPECT_FALSE(rows("out")[0].at("reason").get<std::string>().empty());
  EXPECT_EQ(rows("out")[1].at("status"), "ok");
}

TEST_F(Run, ResumeRunsOnlyWhatIsMissing) {
  ASSERT_EQ(strobe({"run", two_cases(), "--out", "out"}).status, 0);
  Json summary = read_json(folder_ / "out/summary.json");
  const Json kept = summary.at("rows")[0];
  summary.at("rows").erase(1);  // as if the second case had never finished
  write_text(folder_ / "out/summary.json", summary.dump());
  const Outcome outcome = strobe({"run", two_cases(), "--out", "out", "--resume"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  ASSERT_EQ(rows("out").size(), 2u);
  EXPECT_EQ(rows("out")[0], kept);
  EXPECT_EQ(rows("out")[1].at("status"), "ok");
  EXPECT_EQ(lines("out/samples.jsonl"), 3u * (1 + 2));
  EXPECT_NE(outcome.err.find("kept"), std::string::npos);
}

TEST_F(Run, RetryFailedRunsWhatIsNotOkAgain) {
  ASSERT_EQ(strobe({"run", two_cases(), "--out", "out"}).status, 0);
  Json summary = read_json(folder_ / "out/summary.json");
  summary.at("rows")[1].at("status") = "timeout";
  write_text(folder_ / "out/summary.json", without_digests(summary).dump());
  EXPECT_EQ(strobe({"run", two_cases(), "--out", "out", "--resume"}).status, 1);
  EXPECT_EQ(rows("out")[1].at("status"), "timeout");
  const Outcome outcome = strobe({"run", two_cases(), "--out", "out", "--resume", "--retry-failed"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  ASSERT_EQ(rows("out").size(), 2u);
  EXPECT_EQ(rows("out")[1].at("status"), "ok");
  EXPECT_EQ(lines("out/samples.jsonl"), 3u * (1 + 2));
  expect_refusal(strobe({"run", two_cases(), "--out", "new", "--retry-failed"}), 2, {"--retry-failed", "--resume"});
}

TEST_F(Run, AnotherPlanIsNotResumedAndARunIsNotWrittenOver) {
  ASSERT_EQ(strobe({"run", two_cases(), "--out", "out"}).status, 0);
  const std::string before = read_text(folder_ / "out/summary.json");
  expect_refusal(strobe({"run", two_cases(), "--out", "out"}), 2, {"--out"});
  expect_refusal(strobe({"run", two_cases(R"(, "seed": 5)"), "--out", "out", "--resume"}), 2, {"--resume", "seed"});
  EXPECT_EQ(read_text(folder_ / "out/summary.json"), before);
}

void Run::interrupt_and_check(int signal) {
  const std::string name = suite(R"({"defaults": {"workload": {"name": "uniform", "steps": 8, "vertices": 60}},
    "cases": [{"epochs": 2}, {"epochs": 100000000, "strategy": "snapshot", "ranks": 2}]})");
  const pid_t pid = start({STROBE_BINARY, "run", name, "--out", "out"});
  const bool first_finished = wait_for_rows("out", 1);
  // Waits until two epochs of the second case are on disk, which may take long on a busy machine.
  for (int tries = 0; tries < 1500 && lines("out/samples.jsonl") < 3 + 2 * 2; ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  kill(pid, signal);
  const Outcome outcome = finish(pid);
  ASSERT_TRUE(first_finished) << outcome.err;
  EXPECT_EQ(outcome.status, 128 + signal) << outcome.err;
  ASSERT_EQ(rows("out").size(), 2u);
  EXPECT_EQ(rows("out")[0].at("status"), "ok");
  const Json stopped = rows("out")[1];
  EXPECT_EQ(stopped.at("status"), "interrupted");
  // The file has three epochs of the first case, and those of the second that both ranks had finished, one for warm-up.
  // The last epoch may lack its loss.
  const auto epochs = (lines("out/samples.jsonl") - 3) / 2;
  EXPECT_GT(epochs, 1u);
  EXPECT_EQ(lines("out/samples.jsonl"), 3 + 2 * epochs);
  EXPECT_EQ(stopped.at("epoch_seconds").at("n"), epochs - 1);
  EXPECT_GE(stopped.at("loss").size() + 1, epochs);
  EXPECT_LE(stopped.at("loss").size(), epochs);
}

TEST_F(Run, InterruptKeepsFinishedCases) { interrupt_and_check(SIGINT); }

TEST_F(Run, TerminationKeepsFinishedCases) { interrupt_and_check(SIGTERM); }

TEST_F(Run, AKilledRunLeavesTheEpochsThatAllRanksHadFinished) {
  const std::string name = suite(R"({"defaults": {"workload": {"name": "uniform", "steps": 8, "vertices": 60}},
    "cases": [{"epochs": 2}, {"epochs": 100000000, "strategy": "snapshot", "ranks": 2}]})");
  const pid_t pid = start({STROBE_BINARY, "run", name, "--out", "out"});
  for (int tries = 0; tries < 1500 && lines("out/samples.jsonl") < 3 + 2 * 5; ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  kill(pid, SIGKILL);
  finish(pid);
  ASSERT_EQ(rows("out").size(), 1u);
  // A kill during a write can leave only the first of an epoch's two lines; readers ignore it.
  const auto epochs = (lines("out/samples.jsonl") - 3) / 2, alone = (lines("out/samples.jsonl") - 3) % 2;
  EXPECT_GE(epochs, 5u);
  const auto expect_each_once = [&](std::size_t count, std::size_t more) {
    std::set<std::pair<int, int>> of_second;
    std::istringstream text(read_text(folder_ / "out/samples.jsonl"));
    for (std::string line; std::getline(text, line) && !text.eof();) {
      const Json sample = Json::parse(line);
      if (sample.at("case_id") == rows("out")[0].at("case_id")) continue;
      EXPECT_LT(sample.at("epoch").get<std::size_t>(), count + more);
      EXPECT_TRUE(of_second.emplace(sample.at("epoch").get<int>(), sample.at("rank").get<int>()).second) << line;
    }
    EXPECT_EQ(of_second.size(), 2 * count + more);
  };
  expect_each_once(epochs, alone);
  // The case has no row, so it runs again, and its first results are removed.
  EXPECT_EQ(strobe({"run", name, "--out", "out", "--resume", "--time-limit", "1s"}).status, 1);
  ASSERT_EQ(rows("out").size(), 2u);
  EXPECT_EQ(rows("out")[1].at("status"), "timeout");
  expect_each_once((lines("out/samples.jsonl") - 3) / 2, 0);
  EXPECT_EQ(lines("out/samples.jsonl"), 3 + 2 * (rows("out")[1].at("epoch_seconds").at("n").get<std::size_t>() + 1));
}

TEST_F(Run, AFullDiskEndsTheRunAndKeepsFinishedCases) {
  const std::string name = suite(R"({"defaults": {"workload": {"name": "uniform", "steps": 8, "vertices": 60}},
    "cases": [{"epochs": 1, "matrix": {"seed": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
                                              11, 12, 13, 14, 15, 16, 17, 18, 19, 20]}}]})");
  // Files may grow to 32 KiB: enough for the plan and some rows, not for twenty.
  const std::string run = "exec '" STROBE_BINARY "' run " + name + " --out out";
  const Outcome outcome =
      finish(start_shell("cd '" + folder_.string() + "' && trap '' XFSZ && ulimit -f 64 && " + run));
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_NE(outcome.err.find("cannot write out/"), std::string::npos) << outcome.err;
  EXPECT_GE(rows("out").size(), 1u);
  EXPECT_LT(rows("out").size(), 20u);
  for (const Json& row : rows("out")) EXPECT_EQ(row.at("status"), "ok");
}

TEST_F(Run, SimulationRepeatsToTheByte) {
  const std::vector<std::string> words = {"run",    "--workload", tiny, "--device", "sim", "--strategy",
                                          "vertex", "--ranks",    "16", "--epochs", "3",   "--trace"};
  for (const char* folder : {"a", "b"}) {
    std::vector<std::string> command = words;
    command.insert(command.end(), {"--out", folder});
    const Outcome outcome = strobe(command);
    ASSERT_EQ(outcome.status, 0) << outcome.err;
  }
  for (const char* name : {"summary.json", "summary.csv", "samples.jsonl", "plan.json"}) {
    EXPECT_EQ(read_text(folder_ / "a" / name), read_text(folder_ / "b" / name)) << name;
  }
  for (const auto& file : std::filesystem::directory_iterator(folder_ / "a/trace")) {
    EXPECT_EQ(read_text(file.path()), read_text(folder_ / "b/trace" / file.path().filename()));
  }
  EXPECT_EQ(rows("a")[0].at("time_source"), "virtual");
}

}  // namespace
}  // namespace strobe::cli_test
