// Processes of one node share the graph as a file: the numbers stay the same, no process is left waiting, and no file
// stays.
#include <fmt/format.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/launch/mpi_program.hpp"

namespace strobe::cli_test {
namespace {

namespace fs = std::filesystem;

class NodeData : public MpiProgram {
 protected:
  void SetUp() override {
    MpiProgram::SetUp();
    setenv("STROBE_CACHE_DIR", path("cache").c_str(), 1);
  }

  static std::vector<std::string> words(const std::vector<std::string>& before, const std::string& schedule,
                                        const std::string& out) {
    std::vector<std::string> all = before;
    const std::vector<std::string> same = {"--epochs", "2", "--precision", "fp64", "--out", out};
    const std::vector<std::string> of_case =
        schedule == "hybrid_batch"
            ? std::vector<std::string>{"--workload", tiny, "--model", "t-gcn", "--strategy", "hybrid_batch"}
            : std::vector<std::string>{"--workload", tiny, "--strategy", schedule};
    all.insert(all.end(), of_case.begin(), of_case.end());
    all.insert(all.end(), same.begin(), same.end());
    return all;
  }

  std::size_t left_files() const {
    std::size_t count = 0;
    for (const std::string& folder : {path("cache"), path("temporary")}) {
      if (!fs::exists(folder)) continue;
      for (const auto& entry : fs::directory_iterator(folder))
        count += entry.path().filename().string().starts_with("strobe-node-");
    }
    return count;
  }

  /// Processes that map a file of the cache's folder now.
  std::size_t mapping_processes() const {
    std::size_t count = 0;
    for (const auto& entry : fs::directory_iterator("/proc")) {
      if (std::atoi(entry.path().filename().c_str()) <= 0) continue;
      count += read_text(entry.path() / "maps").find(path("cache") + "/strobe-node-") != std::string::npos;
    }
    return count;
  }

  /// The share of the mapped file of the cache's folder that each process has touched.
  std::vector<double> touched_shares() const {
    std::vector<double> shares;
    for (const auto& entry : fs::directory_iterator("/proc")) {
      if (std::atoi(entry.path().filename().c_str()) <= 0) continue;
      std::istringstream smaps(read_text(entry.path() / "smaps"));
      double size = 0, touched = 0, kilobytes = 0;
      bool ours = false;
      for (std::string line, name; std::getline(smaps, line);) {
        std::istringstream(line) >> name >> kilobytes;
        if (!name.ends_with(':')) ours = line.find(path("cache") + "/strobe-node-") != std::string::npos;
        if (ours && name == "Size:") size += kilobytes;
        if (ours && name == "Rss:") touched += kilobytes;
      }
      if (size > 0) shares.push_back(touched / size);
    }
    return shares;
  }

  static void await(const std::function<bool()>& there) {
    for (int tries = 0; tries < 15000 && !there(); ++tries) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }

  /// The keys of a row that only the graph and its placement decide.
  static Json numbers_of(const Json& row) {
    Json numbers;
    for (const char* key : {"status", "loss", "metrics", "sent_bytes", "transfer_bytes"}) numbers[key] = row.at(key);
    return numbers;
  }
};

TEST_F(NodeData, FourProcessesGiveTheNumbersOfFourThreadsAndLeaveNoFile) {
  for (const std::string schedule : {"snapshot", "vertex", "hybrid_batch"}) {
    const std::string here = "local-" + schedule, there = "mpi-" + schedule;
    ASSERT_EQ(strobe(words({"run", "--ranks", "4"}, schedule, here)).status, 0);
    const Outcome outcome = mpirun("4", words({"run", "--ranks", "4", "--comm", "mpi"}, schedule, there));
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(numbers_of(rows(here)[0]), numbers_of(rows(there)[0])) << schedule;
    EXPECT_EQ(outcome.err.find("note:"), std::string::npos) << outcome.err;
    EXPECT_EQ(left_files(), 0u);
  }
}

TEST_F(NodeData, TheFilesOfAKilledRunAreMappedByAllAndRemovedByTheNext) {
  const pid_t endless = start_two_endless({"--workload", tiny, "--strategy", "snapshot"});
  EXPECT_EQ(mapping_processes(), 2u);
  EXPECT_GT(left_files(), 0u);
  kill_rank(endless, 0);
  ASSERT_EQ(mpirun("2", words({"run", "--ranks", "2", "--comm", "mpi"}, "snapshot", "next")).status, 0);
  EXPECT_EQ(left_files(), 0u);
}

/// Pages come in groups of 64 KiB, and all ranks read some counts of all steps; hence more than half.
TEST_F(NodeData, ARankOfSnapshotTouchesOnlyItsSteps) {
  const pid_t endless = start_two_endless(
      {"--workload", "uniform:steps=16,vertices=60000,density=4", "--model", "t-gcn", "--strategy", "snapshot"});
  const std::vector<double> shares = touched_shares();
  EXPECT_EQ(shares.size(), 2u);
  for (const double share : shares) {
    EXPECT_GT(share, 0.3);
    EXPECT_LT(share, 0.65);
  }
  kill_rank(endless, 0);
}

TEST_F(NodeData, AProcessThatIsKilledWhileItReadsEndsTheRun) {
  const pid_t launch = start({"timeout", "100", "mpirun", "-n", "2", STROBE_BINARY, "run", "--workload",
                              "uniform:steps=16,vertices=100000,density=4", "--strategy", "vertex", "--ranks", "2",
                              "--comm", "mpi", "--epochs", "1", "--out", "killed"});
  await([&] { return left_files() > 0; });
  pid_t reader = 0;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string line = read_text(entry.path() / "cmdline");
    const bool ours = line.rfind(STROBE_BINARY, 0) == 0 &&
                      read_text(entry.path() / "environ").find(path("cache")) != std::string::npos;
    if (ours) reader = std::atoi(entry.path().filename().c_str());
  }
  ASSERT_GT(reader, 0);
  kill(reader, SIGKILL);
  const Outcome outcome = finish(launch);
  EXPECT_NE(outcome.status, 0);
  EXPECT_NE(outcome.status, 124) << "the run hung";
  ASSERT_EQ(mpirun("2", words({"run", "--ranks", "2", "--comm", "mpi"}, "snapshot", "next")).status, 0);
  EXPECT_EQ(left_files(), 0u);
}

/// Whichever processes meet the two bad steps, all end with the first, which is said once.
TEST_F(NodeData, AStepThatCannotBePreparedEndsAllProcessesWithTheReason) {
  std::string text = "source,target,time,weight\n";
  for (int step = 0; step < 12; ++step) {
    const char* weight = step == 5 || step == 6 ? "-9" : "1";
    for (int v = 0; v < 8; ++v) text += fmt::format("{},{},{},{}\n", v, (v + 1) % 8, 10 * step, weight);
  }
  write_text(folder_ / "bad.csv", text);
  const Outcome outcome = mpirun("4", {"run", "--workload", "bad.csv:window=10s,weights=file", "--strategy", "snapshot",
                                       "--ranks", "4", "--comm", "mpi", "--epochs", "1", "--out", "bad"});
  EXPECT_EQ(outcome.status, 2) << outcome.err;
  EXPECT_NE(outcome.err.find("at step 5 sum to "), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find("at step 6"), std::string::npos) << outcome.err;
  EXPECT_EQ(left_files(), 0u);
}

TEST_F(NodeData, TwoRunsAtOnceInOneFolder) {
  std::vector<pid_t> launches;
  for (const std::string out : {"one", "two"}) {
    std::vector<std::string> all = {"timeout", "100", "mpirun", "-n", "2", STROBE_BINARY};
    const std::vector<std::string> rest = words({"run", "--ranks", "2", "--comm", "mpi"}, "vertex", out);
    all.insert(all.end(), rest.begin(), rest.end());
    launches.push_back(start(all));
  }
  for (const pid_t launch : launches) EXPECT_EQ(finish(launch).status, 0);
  EXPECT_EQ(numbers_of(rows("one")[0]), numbers_of(rows("two")[0]));
  EXPECT_EQ(left_files(), 0u);
}

TEST_F(NodeData, ACacheFolderThatCannotBeWrittenIsPassedOver) {
  std::ofstream(path("file")) << "x";
  fs::create_directory(path("temporary"));
  setenv("STROBE_CACHE_DIR", path("file/inside").c_str(), 1);
  setenv("TMPDIR", path("temporary").c_str(), 1);
  const Outcome outcome = mpirun("2", words({"run", "--ranks", "2", "--comm", "mpi"}, "vertex", "out"));
  unsetenv("TMPDIR");  // the next test's own folder must not lie in this one's
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err.find("note:"), std::string::npos) << outcome.err;
  EXPECT_EQ(left_files(), 0u);
}

}  // namespace
}  // namespace strobe::cli_test
