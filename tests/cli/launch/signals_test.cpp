// Signals that end a run: those of a terminal and those of job schedulers, with and without a checkpoint.
#include <sys/wait.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/system/interrupt.hpp"
#include "tests/cli/program.hpp"

namespace strobe::cli_test {
namespace {

using std::chrono::milliseconds;

class Signals : public Program {
 protected:
  /// Starts an endless case and returns when its first epochs are on disk. The shell text `before` precedes the
  /// program.
  pid_t start_endless(const std::vector<std::string>& more, const std::string& before = "") {
    std::string command = "cd '" + folder_.string() + "' && " + before + " exec '" STROBE_BINARY "' run --workload '" +
                          tiny + "' --strategy snapshot --ranks 2 --epochs 100000000 --out out";
    for (const std::string& word : more) command += " '" + word + "'";
    const pid_t pid = start_shell(command);
    for (int tries = 0; tries < 1500 && read_text(folder_ / "out/samples.jsonl").empty(); ++tries)
      std::this_thread::sleep_for(milliseconds(20));
    return pid;
  }
  Json row(const std::string& out = "out") { return read_json(folder_ / out / "summary.json").at("rows").at(0); }

  static bool runs(pid_t pid) { return waitpid(pid, nullptr, WNOHANG) == 0; }
};

TEST_F(Signals, EveryOneLeavesACheckpointOfWholeEpochsAndARow) {
  for (const int signal : signals_that_stop) {
    std::filesystem::remove_all(folder_ / "out");
    std::filesystem::remove(folder_ / "state");
    const pid_t pid = start_endless({"--checkpoint", "state"});
    kill(pid, signal);
    const Outcome outcome = finish(pid);
    EXPECT_EQ(outcome.status, 128 + signal) << outcome.err;
    const Json stopped = row();
    EXPECT_EQ(stopped.at("status"), "interrupted");
    const auto epochs = stopped.at("loss").size();
    const std::string reason = "interrupted by signal " + std::to_string(signal) + " after " + std::to_string(epochs) +
                               " of 100000001 epochs; the checkpoint has the last of them";
    EXPECT_EQ(stopped.at("reason"), reason);
    EXPECT_NE(outcome.err.find(reason), std::string::npos) << outcome.err;
    EXPECT_EQ(stopped.at("metrics").at("auc").size(), epochs);
    EXPECT_FALSE(stopped.at("metrics").at("auc").back().is_null());
    const Json& seconds = stopped.at("epoch_seconds");  // null when only the warm-up epoch is done
    EXPECT_EQ(seconds.is_null() ? 0 : seconds.at("n").get<std::size_t>(), epochs - 1);
    ASSERT_TRUE(std::filesystem::exists(folder_ / "state"));
  }
  const auto epochs = row().at("loss").size();
  const std::vector<std::string> whole = {
      "run",  "--workload", tiny, "--strategy", "snapshot", "--ranks", "2", "--epochs", std::to_string(epochs + 1),
      "--out"};
  std::vector<std::string> rest = whole, all = whole;
  rest.insert(rest.end(), {"rest", "--checkpoint", "state", "--resume-training"});
  all.push_back("all");
  ASSERT_EQ(strobe(rest).status, 0);
  ASSERT_EQ(strobe(all).status, 0);
  EXPECT_EQ(row("rest").at("loss"), row("all").at("loss"));
  EXPECT_EQ(row("rest").at("metrics"), row("all").at("metrics"));
}

TEST_F(Signals, WithoutACheckpointTheyLeaveARow) {
  for (const int signal : {SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU}) {
    std::filesystem::remove_all(folder_ / "out");
    const pid_t pid = start_endless({});
    kill(pid, signal);
    const Outcome outcome = finish(pid);
    EXPECT_EQ(outcome.status, 128 + signal);
    EXPECT_NE(outcome.err.find("interrupted by signal " + std::to_string(signal)), std::string::npos) << outcome.err;
    EXPECT_EQ(row().at("status"), "interrupted");
  }
}

TEST_F(Signals, LeaveTheCheckpointAloneWhereThatIsAskedFor) {
  for (const std::string flag : {"--no-checkpoint-on-signal", "--checkpoint-on-signal=false"}) {
    std::filesystem::remove_all(folder_ / "out");
    const pid_t pid = start_endless({"--checkpoint", "state", flag});
    kill(pid, SIGTERM);
    EXPECT_EQ(finish(pid).status, 128 + SIGTERM);
    EXPECT_EQ(row().at("status"), "interrupted");
    EXPECT_FALSE(std::filesystem::exists(folder_ / "state"));
  }
}

TEST_F(Signals, OfASchedulerStayIgnoredWhereTheyWere) {
  const pid_t pid = start_endless({}, "trap '' HUP USR1;");
  kill(pid, SIGHUP);
  kill(pid, SIGUSR1);
  std::this_thread::sleep_for(milliseconds(300));
  EXPECT_TRUE(runs(pid));
  kill(pid, SIGTERM);
  EXPECT_EQ(finish(pid).status, 128 + SIGTERM);
}

/// An epoch of a second or more, so that the second signal comes before its end.
TEST_F(Signals, ASecondOneEndsAtOnce) {
  const pid_t pid = start_endless({"--checkpoint", "state", "--model", "tm-gcn:hidden=1000,output=1000"});
  kill(pid, SIGUSR1);
  std::this_thread::sleep_for(milliseconds(20));
  kill(pid, SIGTERM);
  EXPECT_EQ(finish(pid).status, 128 + SIGTERM);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "state"));
  EXPECT_EQ(read_json(folder_ / "out/summary.json").at("rows").size(), 0u);
}

}  // namespace
}  // namespace strobe::cli_test
