// Models of events on many ranks on the command line: threads and MPI processes, a schedule as a file, a simulated
// cluster, a trainer that dies, and contradictory requests.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/random.hpp"
#include "tests/cli/launch/mpi_program.hpp"

namespace strobe::cli_test {
namespace {

class EventGroups : public MpiProgram {
 protected:
  void SetUp() override {
    MpiProgram::SetUp();
    const RandomStream random(4, random_purpose::test);
    std::string text = "source,target,time\n";
    for (std::uint64_t e = 0; e < 300; ++e) {
      const std::uint64_t user = random.below(2 * e, 12), item = (user + random.below(2 * e + 1, 4)) % 15;
      text += std::to_string(user) + "," + std::to_string(100 + item) + "," + std::to_string(e) + "\n";
    }
    write_text(folder_ / "visits.csv", text);
  }

  static std::vector<std::string> run(const std::string& strategy, int ranks, std::vector<std::string> more) {
    std::vector<std::string> all = {
        "run",     "--workload",          "visits.csv", "--model", "tgn-attn:memory=6,time=4", "--strategy", strategy,
        "--ranks", std::to_string(ranks), "--epochs",   "3"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
};

TEST_F(EventGroups, ProcessesTrainAsThreadsDo) {
  for (const std::string groups : {"i=2,j=1,k=2", "i=1,j=2,k=1", "i=2,j=2,k=1"}) {
    const int ranks = groups == "i=1,j=2,k=1" ? 2 : 4;
    const std::string strategy = "event_batch:batch=17," + groups;
    const Outcome threads = strobe(run(strategy, ranks, {"--out", "threads" + groups}));
    ASSERT_EQ(threads.status, 0) << threads.err;
    const Outcome processes =
        mpirun(std::to_string(ranks), run(strategy, ranks, {"--comm", "mpi", "--out", "mpi" + groups}));
    ASSERT_EQ(processes.status, 0) << processes.err;
    const Json a = rows("threads" + groups).at(0), b = rows("mpi" + groups).at(0);
    for (const char* key : {"loss", "metrics", "sent_bytes", "planned_bytes", "mails_lost_share", "global_batch"})
      EXPECT_EQ(a.at(key), b.at(key)) << groups << " " << key;
    EXPECT_EQ(a.at("global_batch"), 17 * ranks);
    EXPECT_EQ(a.at("local_batch"), 17);
    EXPECT_GT(a.at("mails_lost_share").get<double>(), 0);
    EXPECT_GT(a.at("mean_staleness_seconds").get<double>(), 0);
  }
}

TEST_F(EventGroups, ProcessesKeepAMemoryOnSeveralNodesAsThreadsDo) {
  for (const std::string how : {"nodes=2,presample=disk", "nodes=2", "nodes=4,prefetch=3"}) {
    const std::string strategy = "event_batch:batch=17,i=2,j=2,memory_layout=distributed," + how;
    const Outcome threads = strobe(run(strategy, 4, {"--out", "threads" + how}));
    ASSERT_EQ(threads.status, 0) << threads.err;
    const Outcome processes = mpirun("4", run(strategy, 4, {"--comm", "mpi", "--out", "mpi" + how}));
    ASSERT_EQ(processes.status, 0) << processes.err;
    const Json a = rows("threads" + how).at(0), b = rows("mpi" + how).at(0);
    for (const char* key : {"loss", "metrics", "sent_bytes", "planned_bytes"})
      EXPECT_EQ(a.at(key), b.at(key)) << how << " " << key;
    EXPECT_GT(a.at("sent_bytes").at("memory").get<double>(), 0);
  }
}

/// A killed trainer ends its group, with or without the memory daemon in its process: no rank waits for it, and
/// finished epochs stay.
TEST_F(EventGroups, ATrainerThatIsKilledEndsItsGroup) {
  for (const int rank : {1, 0}) {
    std::filesystem::remove_all(folder_ / "out");
    std::filesystem::remove(folder_ / "state");
    kill_rank(start_two_endless({"--workload", "visits.csv", "--model", "tgn-attn:memory=6,time=4", "--strategy",
                                 "event_batch:batch=17,i=2"}),
              rank);
    std::ifstream file(folder_ / "out" / "samples.jsonl");
    std::string first;
    EXPECT_TRUE(std::getline(file, first)) << rank;
    if (rank == 0) continue;  // only rank 0 could have written a row
    ASSERT_EQ(rows("out").size(), 1u);
    EXPECT_EQ(rows("out")[0].at("status"), "interrupted") << rows("out")[0];
    EXPECT_GE(rows("out")[0].at("loss").size(), 1u);
  }
}

TEST_F(EventGroups, TheScheduleIsWrittenInADryRunToo) {
  const Outcome plan =
      strobe(run("event_batch:i=2,j=2,batch=30", 4, {"--dry-run", "--dump-schedule", "order.csv", "--json"}));
  ASSERT_EQ(plan.status, 0) << plan.err;
  EXPECT_NE(plan.out.find("\"batches_of_sweep\": 4"), std::string::npos) << plan.out;
  const std::string text = read_text(folder_ / "order.csv");
  const std::string first =
      "iteration,trainer,copy,sweep,first_event,last_event,negatives,operation\n"
      "0,0,0,0,0,29,0,read\n"
      "0,1,0,0,30,59,0,read\n"
      "0,0,0,0,0,29,0,train\n"
      "0,1,0,0,30,59,0,train\n"
      "0,0,0,0,0,29,0,write\n"
      "0,1,0,0,30,59,0,write\n"
      "1,2,0,0,60,89,0,read\n"
      "1,3,0,0,90,119,0,read\n"
      "1,0,0,0,0,29,1,train\n";
  EXPECT_EQ(text.substr(0, first.size()), first);
}

/// The last batch of 210 events has only 2, so two of four ranks have none.
TEST_F(EventGroups, TheScheduleHasNoLineWithoutEvents) {
  const Outcome plan = strobe(run("event_batch:i=4,batch=26", 4, {"--dry-run", "--dump-schedule", "order.csv"}));
  ASSERT_EQ(plan.status, 0) << plan.err;
  std::ifstream file(folder_ / "order.csv");
  std::string line;
  std::getline(file, line);
  std::int64_t trained = 0, lines = 0;
  while (std::getline(file, line)) {
    std::vector<std::string> cells;
    std::istringstream row(line);
    for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
    const std::int64_t first = std::stoll(cells.at(4)), last = std::stoll(cells.at(5));
    EXPECT_LE(first, last) << line;
    if (cells.at(7) == "train") trained += last - first + 1, ++lines;
  }
  EXPECT_EQ(trained % 210, 0) << "every event of every sweep";
  EXPECT_EQ(trained / 210 * 10, lines) << "two batches of four lines, and one of two";
}

TEST_F(EventGroups, ASimulatedClusterTrainsWithoutValues) {
  const Outcome outcome =
      strobe(run("event_batch:k=16,batch=10", 16,
                 {"--device", "sim", "--cluster", "g4dn-t4", "--numerics", "none", "--out", "sim"}));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json row = rows("sim").at(0);
  EXPECT_EQ(row.at("sent_bytes").at("gradient"), row.at("planned_bytes").at("gradient"));
  EXPECT_GT(row.at("epoch_seconds").at("median").get<double>(), 0);
}

/// The file's ranks give the row's MRR.
TEST_F(EventGroups, RanksOfJudgedEventsAreWritten) {
  const Outcome outcome = strobe(run("event_batch:batch=17,k=2", 2, {"--dump-ranks", "ranks.csv", "--out", "ranks"}));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  std::ifstream file(folder_ / "ranks.csv");
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(line, "event,part,source,destination,candidates,rank,source_id,destination_id");
  double reciprocal = 0, count = 0, next = 210;
  while (std::getline(file, line)) {
    EXPECT_EQ(std::stod(line), next++);
    if (line.find(",test,") == std::string::npos) continue;
    std::vector<std::string> cells;
    std::istringstream row(line);
    for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
    const double rank = std::stod(cells.at(5));
    EXPECT_GE(rank, 1);
    reciprocal += 1 / rank, ++count;
  }
  EXPECT_EQ(next, 300);
  EXPECT_NEAR(rows("ranks").at(0).at("metrics").at("mrr").back().get<double>(), reciprocal / count, 1e-12);
  expect_refusal(strobe({"run", "--workload", "chess", "--dump-ranks", "x.csv"}), 2, {"--dump-ranks"});
}

TEST_F(EventGroups, RequestsThatDoNotFitSayWhatToChange) {
  expect_refusal(strobe(run("event_batch:i=3,batch=17", 4, {})), 2,
                 {"--strategy i", "4 ranks are not a multiple of 3"});
  expect_refusal(strobe(run("event_batch:i=2,k=1,batch=17", 4, {})), 2, {"k = 2 fits"});
  expect_refusal(strobe(run("event_batch:i=4,batch=100", 4, {})), 2, {"only 210 are trained on"});
  expect_refusal(strobe(run("event_batch:batch=100", 4, {})), 2, {"3 batches of 100, fewer than j x k = 4", "smaller"});
  expect_refusal(strobe(run("sequential:batch=17", 4, {})), 2, {"choose event_batch"});
  expect_refusal(
      strobe({"run", "--workload", "visits.csv", "--model", "t-gcn", "--strategy", "event_batch", "--ranks", "2"}), 2,
      {"is for snapshots", "tgn-attn"});
  expect_refusal(strobe(run("event_batch:i=16,batch=5", 16, {"--device", "sim", "--cluster", "g4dn-t4"})), 2,
                 {"k = 2 fits"});
  expect_refusal(
      strobe(run("event_batch:k=2,batch=17", 2, {"--device", "sim", "--cluster", "g4dn-t4:host.memory_bytes=10000"})),
      2, {"--strategy", "2 copies of the memory", "fewer copies"});
  expect_refusal(strobe(run("event_batch:presample=disk,batch=17", 1, {"--device", "sim", "--cluster", "g4dn-t4"})), 2,
                 {"--strategy presample", "host.disk_bytes_per_second"});
  expect_refusal(strobe(run("event_batch:memory_layout=distributed,nodes=2,batch=17", 2, {})), 2,
                 {"--strategy", "and k=1, or memory_layout=copy"});
  expect_refusal(strobe({"run", "--workload", "chess", "--model", "t-gcn", "--strategy", "sequential",
                         "--dump-schedule", "x.csv"}),
                 2, {"--dump-schedule"});
}

}  // namespace
}  // namespace strobe::cli_test
