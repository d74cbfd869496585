// Runs under mpirun: they give the same numbers as threads, and lose no epoch and leave no rank waiting when a process
// ends.
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/cli/launch/mpi_program.hpp"

namespace strobe::cli_test {
namespace {

class Mpi : public MpiProgram {
 protected:
  std::vector<Json> samples(const std::string& folder) {
    std::ifstream file(folder_ / folder / "samples.jsonl");
    std::vector<Json> all;
    for (std::string line; std::getline(file, line);) all.push_back(Json::parse(line));
    return all;
  }

  pid_t start_endless() { return start_two_endless({"--workload", tiny, "--strategy", "snapshot"}); }

  /// Fails unless the epochs of the only row are in the file of samples.
  void expect_kept_epochs(const std::string& status) {
    ASSERT_EQ(rows("out").size(), 1u);
    EXPECT_EQ(rows("out")[0].at("status"), status) << rows("out")[0];
    expect_whole_epochs();
  }

  /// Fails unless the file of samples has the same epochs of both ranks.
  void expect_whole_epochs() {
    std::vector<std::vector<int>> epochs(2);
    for (const Json& sample : samples("out")) epochs[sample.at("rank")].push_back(sample.at("epoch"));
    ASSERT_GE(epochs[0].size(), 1u);
    EXPECT_EQ(epochs[0], epochs[1]);
    for (std::size_t e = 0; e < epochs[0].size(); ++e) EXPECT_EQ(epochs[0][e], e);
  }
};

TEST_F(Mpi, FourProcessesGiveTheLossesOfFourThreads) {
  const std::vector<std::string> request = {"run", "--workload", tiny, "--strategy",  "snapshot", "--ranks",
                                            "4",   "--epochs",   "3",  "--precision", "fp64"};
  std::vector<std::string> local = request, mpi = request;
  local.insert(local.end(), {"--out", "local"});
  mpi.insert(mpi.end(), {"--comm", "mpi", "--out", "mpi", "--trace"});
  ASSERT_EQ(strobe(local).status, 0);
  const Outcome outcome = mpirun("4", mpi);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json here = rows("local")[0], there = rows("mpi")[0];
  ASSERT_EQ(here.at("loss").size(), there.at("loss").size());
  for (std::size_t i = 0; i < here.at("loss").size(); ++i) {
    const double a = here.at("loss")[i].get<double>(), b = there.at("loss")[i].get<double>();
    EXPECT_LE(std::abs(a - b), 1e-10 * std::abs(a)) << "epoch " << i;
  }
  EXPECT_EQ(here.at("sent_bytes"), there.at("sent_bytes"));
  EXPECT_EQ(samples("mpi").size(), 4u * 4u);
  // Only one process prints: the case's id occurs in one line of the table.
  const std::string id = there.at("case_id").get<std::string>();
  const std::size_t first = outcome.out.find(id);
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(outcome.out.find(id, first + 1), std::string::npos);
}

/// Options with which a process plans its own part: slices, units of chunks, and cells that come and go.
TEST_F(Mpi, ProcessesThatPlanTheirPartTrainAsThreadsDo) {
  const std::vector<std::vector<std::string>> cases{
      {"--strategy", "snapshot", "--overlap", "2"},
      {"--strategy", "snapshot_groups:group_size=2,partitioner=hash", "--overlap", "2"},
      {"--strategy", "snapshot_groups:group_size=2,partitioner=hash", "--presence", "active"},
      {"--strategy", "vertex:partitioner=hash", "--presence", "active"},
      {"--strategy", "chunk:max_cells=9,fusion=none", "--nb", "2"},
      {"--strategy", "chunk:max_cells=9,fusion=spatial,fusion_gib=0.00001"},
      {"--strategy", "chunk:max_cells=9,fusion=both,fusion_gib=0.00001,propagation=synchronous", "--nb", "3"},
      {"--strategy", "chunk:max_cells=9,fusion_memory=measured,fusion_gib=0.00001"}};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    std::vector<std::string> request = {"run",      "--workload", tiny,          "--ranks", "4",
                                        "--epochs", "3",          "--precision", "fp64"};
    request.insert(request.end(), cases[i].begin(), cases[i].end());
    std::vector<std::string> local = request, mpi = request;
    local.insert(local.end(), {"--out", "here" + std::to_string(i)});
    mpi.insert(mpi.end(), {"--comm", "mpi", "--out", "there" + std::to_string(i)});
    const Outcome threads = strobe(local), processes = mpirun("4", mpi);
    ASSERT_EQ(threads.status, 0) << threads.err;
    ASSERT_EQ(processes.status, 0) << processes.err;
    const Json here = rows("here" + std::to_string(i))[0], there = rows("there" + std::to_string(i))[0];
    for (const char* key : {"loss", "sent_bytes", "fusion_units", "loaded_bytes", "padded_share"})
      EXPECT_EQ(here.at(key), there.at(key)) << key << " of case " << i;
  }
}

TEST_F(Mpi, ProcessesAndThreadsSendTheSameStaleRows) {
  for (const std::string distances : {"host", "device"}) {
    const std::vector<std::string> request = {
        "run",     "--workload", tiny,       "--strategy", "vertex:stale=adaptive,distances=" + distances,
        "--ranks", "4",          "--epochs", "5",          "--precision",
        "fp64"};
    std::vector<std::string> local = request, mpi = request;
    local.insert(local.end(), {"--out", "local-" + distances});
    mpi.insert(mpi.end(), {"--comm", "mpi", "--out", "mpi-" + distances});
    ASSERT_EQ(strobe(local).status, 0);
    const Outcome outcome = mpirun("4", mpi);
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const Json here = rows("local-" + distances)[0], there = rows("mpi-" + distances)[0];
    EXPECT_EQ(here.at("loss"), there.at("loss"));
    EXPECT_EQ(here.at("sent_share"), there.at("sent_share"));
    EXPECT_EQ(here.at("sent_bytes_by_epoch"), there.at("sent_bytes_by_epoch"));
    EXPECT_LT(here.at("sent_share")[1].get<double>(), 1) << "nothing was stale";
  }
}

TEST_F(Mpi, ProcessesPushAndPullThroughServersAsThreadsDo) {
  for (const std::string strategy : {"vertex:partitioner=hash", "chunk"}) {
    const auto row = [&](const std::string& servers, const std::string& comm) {
      const std::string out = comm + "-" + strategy.substr(0, 5) + servers;
      const std::vector<std::string> request = {"run",
                                                "--workload",
                                                tiny,
                                                "--model",
                                                "t-gcn",
                                                "--strategy",
                                                strategy + (strategy == "chunk" ? ":" : ",") + "servers=" + servers,
                                                "--ranks",
                                                "4",
                                                "--epochs",
                                                "3",
                                                "--comm",
                                                comm,
                                                "--out",
                                                out};
      const Outcome outcome = comm == "mpi" ? mpirun("4", request) : strobe(request);
      EXPECT_EQ(outcome.status, 0) << outcome.err;
      return rows(out)[0];
    };
    const Json peers = row("0", "mpi");
    for (const std::string servers : {"1", "3"}) {
      const Json there = row(servers, "mpi");
      EXPECT_EQ(there.at("loss"), peers.at("loss")) << servers;
      EXPECT_EQ(there.at("sent_bytes"), row(servers, "local").at("sent_bytes"));
      EXPECT_NE(there.at("sent_bytes"), peers.at("sent_bytes"));
    }
  }
}

/// Timelines that begin and end at any step, cut between processes: rounds, states and halos of earlier steps.
TEST_F(Mpi, ProcessesWalkCellsThatExistAsThreadsDo) {
  for (const std::string model : {"t-gcn", "dysat"}) {
    const std::vector<std::string> request = {
        "run",        "--workload", "chess:window=180d", "--model", model,      "--presence", "active",
        "--strategy", "pss",        "--ranks",           "3",       "--epochs", "2",          "--precision",
        "fp64"};
    std::vector<std::string> local = request, mpi = request;
    local.insert(local.end(), {"--out", "local-" + model});
    mpi.insert(mpi.end(), {"--comm", "mpi", "--out", "mpi-" + model});
    ASSERT_EQ(strobe(local).status, 0);
    const Outcome outcome = mpirun("3", mpi);
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const Json here = rows("local-" + model)[0], there = rows("mpi-" + model)[0];
    EXPECT_EQ(here.at("loss"), there.at("loss"));
    EXPECT_EQ(here.at("sent_bytes"), there.at("sent_bytes"));
    EXPECT_GT(here.at("sent_bytes").at(model == "dysat" ? "halo" : "state").get<double>(), 0);
  }
}

TEST_F(Mpi, ProcessesTrainInHybridBatchesAsThreadsDo) {
  for (const std::string averaging : {"sync", "async"}) {
    const std::vector<std::string> request = {"run",
                                              "--workload",
                                              "ucsocial",
                                              "--model",
                                              "dcrnn",
                                              "--strategy",
                                              "hybrid_batch:generator=inline,interval=2,averaging=" + averaging,
                                              "--ranks",
                                              "3",
                                              "--epochs",
                                              "4",
                                              "--task",
                                              "link-prediction"};
    std::vector<std::string> local = request, mpi = request;
    local.insert(local.end(), {"--precision", "fp64", "--out", "local-" + averaging});
    mpi.insert(mpi.end(), {"--precision", "fp64", "--comm", "mpi", "--out", "mpi-" + averaging});
    ASSERT_EQ(strobe(local).status, 0);
    const Outcome outcome = mpirun("3", mpi);
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const Json here = rows("local-" + averaging)[0], there = rows("mpi-" + averaging)[0];
    EXPECT_EQ(here.at("sent_bytes"), there.at("sent_bytes"));
    EXPECT_GT(here.at("sent_bytes").at(averaging == "sync" ? "gradient" : "parameters").get<double>(), 0);
    for (std::size_t e = 0; e < 4; ++e)
      EXPECT_NEAR(here.at("loss")[e].get<double>(), there.at("loss")[e].get<double>(), 1e-10) << averaging;
  }
}

/// A process holds the samples of the steps that its windows reach, and all vertices that exist in them.
TEST_F(Mpi, ProcessesTrainTheirWindowsAsThreadsDo) {
  for (const std::string presence : {"all", "active"}) {
    std::vector<std::string> local = {"run",
                                      "--workload",
                                      "ucsocial",
                                      "--model",
                                      "dcrnn",
                                      "--task",
                                      "vertex-regression",
                                      "--strategy",
                                      "dynagraph:snapshots=2",
                                      "--ranks",
                                      "3",
                                      "--epochs",
                                      "3",
                                      "--presence",
                                      presence,
                                      "--precision",
                                      "fp64"};
    std::vector<std::string> mpi = local;
    local.insert(local.end(), {"--out", "local-" + presence});
    mpi.insert(mpi.end(), {"--comm", "mpi", "--out", "mpi-" + presence});
    ASSERT_EQ(strobe(local).status, 0);
    const Outcome outcome = mpirun("3", mpi);
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const Json here = rows("local-" + presence)[0], there = rows("mpi-" + presence)[0];
    for (const char* key : {"loss", "sent_bytes", "cached_bytes", "evaluation_bytes"})
      EXPECT_EQ(here.at(key), there.at(key)) << presence << " " << key;
  }
}

/// One process can plan for any number of ranks. In a launch every process finishes the dry run, because partitioners
/// that start MPI, such as Zoltan's, wait for all of them.
TEST_F(Mpi, DryRunNeedsNoWorldAndEndsInOne) {
  const bool hypergraph = lists("partitioners", "hypergraph");
  const std::string strategy = std::string("vertex:partitioner=") + (hypergraph ? "hypergraph" : "hash");
  std::vector<std::string> request = {"run",     "--workload", tiny,        "--strategy", strategy,
                                      "--ranks", "2",          "--dry-run", "--json"};
  const Json local = Json::parse(strobe(request).out);
  request.insert(request.end(), {"--comm", "mpi"});
  const Outcome alone = strobe(request), together = mpirun("2", request);
  ASSERT_EQ(alone.status, 0) << alone.err;
  ASSERT_EQ(together.status, 0) << together.err;
  EXPECT_EQ(Json::parse(together.out), Json::parse(alone.out));
  EXPECT_EQ(Json::parse(alone.out)["cases"][0]["blocks"], local["cases"][0]["blocks"]);
}

TEST_F(Mpi, FailureOfTheFirstProcessAloneEndsTheOthers) {
  write_text(folder_ / "file", "not a folder");
  const auto begin = std::chrono::steady_clock::now();
  const Outcome outcome = mpirun("2", {"run", "--workload", tiny, "--strategy", "vertex", "--ranks", "2", "--comm",
                                       "mpi", "--out", "file/run", "--set", "timeout=600"});
  EXPECT_EQ(outcome.status, 2) << outcome.err;
  EXPECT_NE(outcome.err.find("--out"), std::string::npos) << outcome.err;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(300));
}

TEST_F(Mpi, ASecondLaunchIntoADirectoryIsRefusedWhole) {
  const std::vector<std::string> request = {"run",       "--workload", tiny,     "--strategy", "snapshot",
                                            "--ranks",   "2",          "--comm", "mpi",        "--epochs",
                                            "100000000", "--out",      "out"};
  std::vector<std::string> words = {"timeout", "120", "mpirun", "-n", "2", STROBE_BINARY};
  words.insert(words.end(), request.begin(), request.end());
  const pid_t first = start(words);
  for (int tries = 0; tries < 1500 && !std::filesystem::exists(folder_ / "out/plan.json"); ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::string second = "cd '" + folder_.string() + "' && timeout 60 mpirun -n 2 '" STROBE_BINARY "'";
  for (const std::string& word : request) second += " '" + word + "'";
  EXPECT_EQ(std::system((second + " > refusal 2>&1").c_str()) / 256, 2) << read_text(folder_ / "refusal");
  EXPECT_NE(read_text(folder_ / "refusal").find("out already holds a run"), std::string::npos);
  EXPECT_EQ(std::system((second + " --resume > refusal 2>&1").c_str()) / 256, 2) << read_text(folder_ / "refusal");
  EXPECT_NE(read_text(folder_ / "refusal").find("another run is writing into out"), std::string::npos);
  kill(first, SIGTERM);  // `timeout` hands it on
  const Outcome outcome = finish(first);
  EXPECT_NE(outcome.status, 124) << "the first launch hung";
}

TEST_F(Mpi, AStopSignalKeepsTheEpochsThatAllProcessesHadFinished) {
  const pid_t mpirun = start_endless();
  kill(mpirun, SIGTERM);  // `timeout` hands it on
  const Outcome outcome = finish(mpirun);
  EXPECT_NE(outcome.status, 124) << "the run hung";
  expect_kept_epochs("interrupted");
}

TEST_F(Mpi, ASignalToOneProcessEndsAllAfterTheSameEpochWithACheckpoint) {
  for (const int rank : {0, 1}) {
    for (const char* left : {"out", "state"}) std::filesystem::remove_all(folder_ / left);
    const pid_t mpirun = start_endless();
    signal_rank(mpirun, rank, SIGUSR1);
    const Outcome outcome = finish(mpirun);
    EXPECT_NE(outcome.status, 124) << "the run hung";
    expect_kept_epochs("interrupted");
    const Json row = rows("out")[0];
    const auto epochs = row.at("loss").size();
    EXPECT_EQ(row.at("reason"), "interrupted by signal 10 after " + std::to_string(epochs) +
                                    " of 100000001 epochs; the checkpoint has the last of them");
    EXPECT_EQ(row.at("metrics").at("auc").size(), epochs);
    EXPECT_EQ(samples("out").size(), 2 * epochs);
  }
}

/// mpirun asks the others to stop when one process ends, and gives them a second.
TEST_F(Mpi, AKilledProcessTakesNoFinishedEpochWithIt) {
  const pid_t mpirun = start_endless();
  kill_rank(mpirun, 1);
  expect_kept_epochs("interrupted");
}

/// Without rank 0 no row is written, but the epochs are already on disk.
TEST_F(Mpi, TheFirstProcessKilledTakesNoFinishedEpochWithIt) {
  const pid_t mpirun = start_endless();
  kill_rank(mpirun, 0);
  EXPECT_EQ(rows("out").size(), 0u);
  expect_whole_epochs();
}

/// With --enable-recovery, mpirun does not end the other process. That process names the missing one soon after the
/// time limit of a collective.
TEST_F(Mpi, TheProcessThatIsLeftEndsSoonAndNamesTheMissingOne) {
  for (const int victim : {0, 1}) {
    std::filesystem::remove_all(folder_ / "out");
    const pid_t mpirun =
        start({"timeout",     "--foreground", "120",        "mpirun",   "--enable-recovery", "-n",        "2",
               STROBE_BINARY, "run",          "--workload", tiny,       "--strategy",        "snapshot",  "--ranks",
               "2",           "--comm",       "mpi",        "--epochs", "100000000",         "--timeout", "2",
               "--out",       "out"});
    for (int tries = 0; tries < 1500 && read_text(folder_ / "out/samples.jsonl").empty(); ++tries)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    signal_rank(mpirun, victim, SIGKILL);
    const auto begin = std::chrono::steady_clock::now();
    const Outcome outcome = finish(mpirun);
    EXPECT_NE(outcome.status, 124) << "the run hung";
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(40));
    EXPECT_NE(outcome.err.find("missing ranks: " + std::to_string(victim)), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("ontinue with --resume"), std::string::npos) << outcome.err;
    if (victim == 1) {
      EXPECT_EQ(rows("out").at(0).at("status"), "timeout");
    }
  }
}

TEST_F(Mpi, WrongNumberOfProcessesIsUnavailable) {
  const Outcome outcome =
      mpirun("2", {"run", "--workload", tiny, "--strategy", "vertex", "--ranks", "3", "--comm", "mpi", "--out", "out"});
  EXPECT_EQ(outcome.status, 5) << outcome.err;
}

TEST_F(Mpi, ThreadsUnderMpirunAreRefused) {
  const Outcome outcome =
      mpirun("2", {"run", "--workload", tiny, "--strategy", "vertex", "--ranks", "2", "--out", "out"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("--comm mpi"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace strobe::cli_test
