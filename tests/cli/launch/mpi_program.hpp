// A test that starts the program under mpirun.
#pragma once

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/cli/program.hpp"

namespace strobe::cli_test {

class MpiProgram : public Program {
 protected:
  void SetUp() override {
    if (!lists("communicators", "mpi")) GTEST_SKIP() << "this build has no mpi communicator";
    if (std::system("command -v mpirun > /dev/null") != 0) GTEST_SKIP() << "mpirun is not there";
    // Root and more ranks than cores are allowed; Open MPI 4 and 5 name the latter differently.
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 1);
    setenv("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe", 1);
    setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 1);  // containers may forbid it
  }

  Outcome mpirun(const std::string& processes, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"mpirun", "-n", processes, STROBE_BINARY});
    return finish(start(arguments));
  }

  /// Starts two processes of an endless case, and returns mpirun's process after the first epoch.
  pid_t start_two_endless(const std::vector<std::string>& of_case) {
    // Seconds between SIGTERM and SIGKILL. The default of one second is too short on a busy machine. mpirun always
    // waits the whole time, so other tests keep the default.
    setenv("OMPI_MCA_odls_base_sigkill_timeout", "5", 1);
    setenv("PRTE_MCA_odls_base_sigkill_timeout", "5", 1);
    // With --foreground, `timeout` forwards a signal once. Two signals, to mpirun and to its group, would end mpirun
    // before its ranks.
    std::vector<std::string> all = {"timeout", "--foreground", "120", "mpirun", "-n", "2", STROBE_BINARY, "run"};
    all.insert(all.end(), of_case.begin(), of_case.end());
    for (const char* word : {"--ranks", "2", "--comm", "mpi", "--epochs", "100000000", "--checkpoint", "state",
                             "--checkpoint-every", "1", "--out", "out"})
      all.emplace_back(word);
    const pid_t mpirun = start(all);
    for (int tries = 0; tries < 1500 && !std::filesystem::exists(folder_ / "state"); ++tries)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return mpirun;
  }

  /// Sends a signal to one of the two processes of `mpirun`.
  void signal_rank(pid_t mpirun, int rank, int signal) {
    const std::string children = "cat /proc/" + std::to_string(mpirun) +
                                 "/task/*/children > launcher; for p in $(cat "
                                 "launcher); do cat /proc/$p/task/*/children; done > ranks";
    ASSERT_EQ(std::system(("cd '" + folder_.string() + "' && " + children).c_str()), 0);
    std::ifstream ranks(folder_ / "ranks");
    pid_t pids[2] = {0, 0};
    ASSERT_TRUE(ranks >> pids[0] >> pids[1]) << read_text(folder_ / "ranks");
    kill(pids[rank], signal);
  }

  /// Kills one of the two processes of `mpirun`, and waits for its end.
  void kill_rank(pid_t mpirun, int rank) {
    signal_rank(mpirun, rank, SIGKILL);
    const Outcome outcome = finish(mpirun);
    EXPECT_NE(outcome.status, 0);
    EXPECT_NE(outcome.status, 124) << "the run hung";
  }

  Json rows(const std::string& folder) { return read_json(folder_ / folder / "summary.json").at("rows"); }
};

}  // namespace strobe::cli_test
