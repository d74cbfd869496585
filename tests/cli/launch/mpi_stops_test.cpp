// A signal stops a process of a launch in some phase. The others end soon after --timeout and name it, and finished
// files stay on disk.
#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/cli/launch/mpi_program.hpp"

namespace strobe::cli_test {
namespace {

using Seconds = std::chrono::duration<double>;
using std::chrono::milliseconds;

class StoppedRank : public MpiProgram {
 protected:
  static constexpr double limit = 5;     // seconds of every wait except collectives: the smallest allowed
  static constexpr double further = 30;  // seconds until mpirun itself ends, on a busy machine

  ~StoppedRank() override {
    for (const pid_t pid : ranks_) {
      if (!is_rank(pid)) continue;
      kill(pid, SIGCONT);
      kill(pid, SIGKILL);
    }
  }

  static std::string bytes_of(const std::string& file) { return read_text(file); }
  bool is_rank(pid_t pid) const {
    const std::string words = bytes_of("/proc/" + std::to_string(pid) + "/cmdline");
    return words.find(STROBE_BINARY) != std::string::npos && words.find(path("out")) != std::string::npos &&
           words.rfind("mpirun", 0) != 0 && words.rfind("timeout", 0) != 0;
  }
  /// The process of this launch with that rank; 0 when there is none.
  pid_t find(int rank) {
    const std::string variable = std::string("OMPI_COMM_WORLD_RANK=") + std::to_string(rank) + '\0';
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const pid_t pid = std::atoi(entry.path().filename().c_str());
      if (pid <= 0 || !is_rank(pid)) continue;
      ranks_.insert(pid);
      if (bytes_of(entry.path() / "environ").find(variable) != std::string::npos) return pid;
    }
    return 0;
  }

  pid_t launch(const std::string& epochs, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"timeout",   "100",        "mpirun", "-n",         "2",        STROBE_BINARY,
                                      "run",       "--workload", tiny,     "--strategy", "snapshot", "--ranks",
                                      "2",         "--comm",     "mpi",    "--timeout",  "2",        "--out",
                                      path("out"), "--epochs",   epochs};
    words.insert(words.end(), more.begin(), more.end());
    return start(words);
  }

  void await(const std::function<bool()>& there) {
    for (int tries = 0; tries < 30000 && !there(); ++tries) std::this_thread::sleep_for(milliseconds(1));
  }
  bool has_row() const { return read_text(folder_ / "out/summary.json").find("epoch_seconds") != std::string::npos; }

  /// Stops the rank, waits for the end of the launch, and returns its output.
  std::string stop(pid_t launch, int rank) {
    const pid_t pid = find(rank);
    EXPECT_NE(pid, 0) << "the launch is over";
    if (pid != 0) kill(pid, SIGSTOP);
    const auto begin = std::chrono::steady_clock::now();
    const Outcome outcome = finish(launch);
    EXPECT_LT(Seconds(std::chrono::steady_clock::now() - begin).count(), limit + further);
    EXPECT_NE(outcome.status, 0);
    EXPECT_NE(outcome.status, 124) << "the launch hung";
    EXPECT_NE(outcome.err.find("ontinue with --resume"), std::string::npos) << outcome.err;
    return outcome.err;
  }

  std::set<pid_t> ranks_;
};

TEST_F(StoppedRank, WhileTheyJoin) {
  for (const int rank : {0, 1}) {
    const pid_t mpirun = launch("2");
    await([&] { return find(rank) != 0; });
    const std::string said = stop(mpirun, rank);
    EXPECT_NE(said.find("rank " + std::to_string(rank) + " (stopped)"), std::string::npos) << said;
    EXPECT_NE(said.find("rank " + std::to_string(1 - rank) + " of 2: to "), std::string::npos) << said;
    EXPECT_FALSE(has_row());
  }
}

TEST_F(StoppedRank, WhileTheyTrain) {
  const pid_t mpirun = launch("100000000");
  await([&] { return !read_text(folder_ / "out/samples.jsonl").empty(); });
  const std::string said = stop(mpirun, 1);
  EXPECT_NE(said.find("ranks that do not answer any more: 1"), std::string::npos) << said;
  EXPECT_EQ(rows("out").at(0).at("status"), "timeout");
}

TEST_F(StoppedRank, WhenTheRowIsWritten) {
  for (const int rank : {0, 1}) {
    std::filesystem::remove_all(folder_ / "out");
    const pid_t mpirun = launch("2");
    await([&] { return has_row(); });
    if (find(rank) == 0) GTEST_SKIP() << "the launch ended before it could be stopped";
    const std::string said = stop(mpirun, rank);
    EXPECT_NE(said.find("to leave the launch takes longer than 5 s"), std::string::npos) << said;
    EXPECT_NE(said.find("rank " + std::to_string(rank) + " (stopped)"), std::string::npos) << said;
    EXPECT_EQ(rows("out").at(0).at("status"), "ok");
  }
}

/// A process of another program never joins.
TEST_F(StoppedRank, OneThatIsNoStrobe) {
  const Outcome outcome =
      finish(start({"timeout", "100",        "mpirun",    "-n",      "1",  STROBE_BINARY, "run",      "--workload",
                    tiny,      "--strategy", "vertex",    "--ranks", "2",  "--comm",      "mpi",      "--timeout",
                    "2",       "--out",      path("out"), ":",       "-n", "1",           "/bin/true"}));
  EXPECT_NE(outcome.status, 0);
  EXPECT_NE(outcome.status, 124) << "the launch hung";
  EXPECT_NE(outcome.err.find("to join the launch takes longer than 5 s"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("rank 1 (gone)"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace strobe::cli_test
