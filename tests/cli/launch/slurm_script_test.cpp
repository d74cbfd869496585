// The job script for Slurm, with a srun and a scontrol of the test in place of Slurm's.
#include <algorithm>
#include <filesystem>
#include <string>

#include "tests/cli/program.hpp"

namespace strobe::cli_test {
namespace {

/// Starts SLURM_NTASKS ranks next to each other, two on each host, as srun does: without its own options, with the
/// variables of a step. Ends with the largest status of a rank. It joins ranks of MPI in the ways of SRUN_KNOWS.
constexpr const char* srun_text = R"(#!/bin/bash
[[ $1 != --mpi=list ]] || { printf 'MPI plugin types are...\n\t%s\n' ${SRUN_KNOWS:-none} >&2; exit; }
while [[ $1 == --* ]]; do
  [[ $1 != --mpi=* ]] || export SRUN_MPI=$1
  shift
done
waited=()
for ((rank = 0; rank < SLURM_NTASKS; ++rank)); do
  SLURM_PROCID=$rank SLURM_LOCALID=$((rank % 2)) SLURM_STEP_ID=0 "$@" &
  waited+=($!)
done
worst=0
for one in "${waited[@]}"; do
  status=0; wait "$one" || status=$?
  ((status <= worst)) || worst=$status
done
exit $worst
)";

class SlurmScript : public Program {
 protected:
  SlurmScript() {
    std::filesystem::create_directories(folder_ / "bin");
    program("srun", srun_text);
    program("scontrol", "#!/bin/sh\nprintf 'first\\nsecond\\n'\n");
    program("nvidia-smi", "#!/bin/sh\nexit 9\n");
    program("echo_arguments",
            "#!/bin/sh\necho \"$SLURM_PROCID at $MASTER_ADDR:$MASTER_PORT cores $SRUN_CPUS_PER_TASK"
            " gpu ${CUDA_VISIBLE_DEVICES:-none}: $*\"\n");
    program("third_fails", "#!/bin/sh\ntest \"$SLURM_PROCID\" != 2 || exit 143\n");
  }
  void program(const std::string& name, const std::string& text) {
    write_text(folder_ / "bin" / name, text);
    std::filesystem::permissions(folder_ / "bin" / name, std::filesystem::perms::owner_all);
  }
  /// Runs the script as a job of four tasks. Lines of its output are sorted, as ranks print in any order.
  Outcome job(const std::string& settings, const std::string& words) {
    Outcome outcome = finish(start_shell(
        "unset LOCAL_RANK RANK WORLD_SIZE OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_LOCAL_RANK CUDA_VISIBLE_DEVICES && "
        "export PATH='" +
        path("bin") + "':$PATH SLURM_SUBMIT_DIR='" + STROBE_SOURCE_DIR +
        "' SLURM_NTASKS=4 SLURM_JOB_ID=34567 SLURM_JOB_NODELIST='first,second' SLURM_CPUS_PER_TASK=8 " + settings +
        " && exec bash '" + STROBE_SOURCE_DIR + "/scripts/launch/slurm.sbatch' " + words));
    std::vector<std::string> lines;
    std::istringstream stream(outcome.out);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    std::sort(lines.begin(), lines.end());
    outcome.out.clear();
    for (const std::string& line : lines) outcome.out += line + "\n";
    return outcome;
  }
  std::string echoing() const { return "STROBE='" + path("bin/echo_arguments") + "' "; }
};

TEST_F(SlurmScript, AddsTheNumberOfRanksAndTheMeetingPlace) {
  const Outcome outcome = job(echoing(), "run suite.json --out here");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  std::string expected;
  for (const char* rank : {"0", "1", "2", "3"})
    expected += std::string(rank) + " at first:24567 cores 8 gpu none: run suite.json --out here --ranks 4\n";
  EXPECT_EQ(outcome.out, expected);
}

TEST_F(SlurmScript, KeepsTheRanksThatTheCommandAsksFor) {
  for (const std::string ranks : {"--ranks 2", "--ranks=2"}) {
    const Outcome outcome = job(echoing(), "run suite.json " + ranks);
    EXPECT_NE(outcome.out.find(": run suite.json " + ranks + "\n"), std::string::npos) << outcome.out;
  }
}

TEST_F(SlurmScript, GivesEachRankOfANodeItsGpu) {
  const Outcome outcome = job(echoing() + "SLURM_GPUS_ON_NODE=2 CUDA_VISIBLE_DEVICES=4,6", "list");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  std::string expected;
  for (const auto& [rank, gpu] : {std::pair{"0", "4"}, {"1", "6"}, {"2", "4"}, {"3", "6"}})
    expected += std::string(rank) + " at first:24567 cores 8 gpu " + gpu + ": list\n";
  EXPECT_EQ(outcome.out, expected);
}

TEST_F(SlurmScript, JoinsRanksOfMpiThroughPmixWhereSrunHasIt) {
  program("tell", "#!/bin/sh\necho \"${SRUN_MPI:-default}\"\n");
  const auto told = [&](const std::string& settings, const std::string& words) {
    const Outcome outcome = job("STROBE='" + path("bin/tell") + "' " + settings, words);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome.out.substr(0, outcome.out.find('\n'));
  };
  EXPECT_EQ(told("SRUN_KNOWS='pmi2 pmix'", "run s.json --comm mpi"), "--mpi=pmix");
  EXPECT_EQ(told("SRUN_KNOWS=pmi2", "run s.json --device cuda --comm nccl"), "default");
  EXPECT_EQ(told("SRUN_KNOWS=pmix SLURM_MPI_TYPE=pmix_v4", "run s.json --comm mpi"), "default");
  const Outcome without = job(echoing() + "SRUN_KNOWS=pmi2", "run s.json --comm mpi");
  EXPECT_EQ(without.status, 5);
  EXPECT_NE(without.err.find("needs PMIx"), std::string::npos) << without.err;
}

TEST_F(SlurmScript, SaysWhereEachRankSits) {
  const Outcome outcome = job("", "where");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  for (const std::string rank : {"0", "1", "2", "3"})
    EXPECT_NE(outcome.out.find("rank " + rank + " of 4 on "), std::string::npos) << outcome.out;
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 4);
  EXPECT_NE(outcome.out.find(", cores "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find(", no GPU\n"), std::string::npos) << outcome.out;
}

TEST_F(SlurmScript, EndsAsItsWorstRankDoes) {
  EXPECT_EQ(job("STROBE='" + path("bin/third_fails") + "'", "run suite.json").status, 143);
}

TEST_F(SlurmScript, RefusesAJobThatCannotRun) {
  const Outcome nothing = job("", "");
  EXPECT_EQ(nothing.status, 2);
  EXPECT_NE(nothing.err.find("give strobe's arguments"), std::string::npos) << nothing.err;
  const Outcome absent = job("STROBE=no-program", "run suite.json");
  EXPECT_EQ(absent.status, 2);
  EXPECT_NE(absent.err.find("'no-program' is not there"), std::string::npos) << absent.err;
}

}  // namespace
}  // namespace strobe::cli_test
