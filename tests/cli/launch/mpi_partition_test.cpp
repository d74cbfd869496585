// Runs under mpirun whose processes partition the graph together: same owners as one process where promised, the same
// again, and bytes as planned.
#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/cli/launch/mpi_program.hpp"

namespace strobe::cli_test {
namespace {

class MpiPartition : public MpiProgram {
 protected:
  std::vector<std::string> request(const std::string& strategy, const std::string& out) const {
    return {"run", "--workload",  tiny,   "--strategy", strategy, "--ranks",          "3",         "--epochs",
            "2",   "--precision", "fp64", "--out",      out,      "--dump-placement", out + ".csv"};
  }

  Json row_of_mpi(const std::string& strategy, const std::string& out) {
    std::vector<std::string> words = request(strategy, out);
    words.insert(words.end(), {"--comm", "mpi"});
    const Outcome outcome = mpirun("3", words);
    EXPECT_EQ(outcome.status, 0) << strategy << outcome.err;
    const Json row = rows(out)[0];
    EXPECT_EQ(row.at("status"), "ok") << row;
    return row;
  }
};

TEST_F(MpiPartition, OnePassGivesTheOwnersAndLossesOfThreads) {
  for (const std::string strategy : {"vertex:partitioner=ldg", "vertex:partitioner=fennel"}) {
    const std::string name = strategy.substr(strategy.find('=') + 1);
    ASSERT_EQ(strobe(request(strategy, "local-" + name)).status, 0);
    const Json here = rows("local-" + name)[0], there = row_of_mpi(strategy, "mpi-" + name);
    EXPECT_EQ(read_text(folder_ / ("local-" + name + ".csv")), read_text(folder_ / ("mpi-" + name + ".csv")));
    EXPECT_EQ(here.at("sent_bytes"), there.at("sent_bytes"));
    for (std::size_t e = 0; e < 2; ++e) {
      const double loss = here.at("loss")[e].get<double>();
      EXPECT_NEAR(loss, there.at("loss")[e].get<double>(), 1e-10 * std::abs(loss)) << name;
    }
  }
}

/// The run itself compares the bytes that each rank sends with the plan of its process.
TEST_F(MpiPartition, LibrariesGiveTheSameOwnersAgain) {
  for (const std::string name : {"ptscotch", "hypergraph_parallel"}) {
    if (!lists("partitioners", name)) continue;
    const std::string strategy = "vertex:partitioner=" + name;
    const Json first = row_of_mpi(strategy, name + "-1"), second = row_of_mpi(strategy, name + "-2");
    EXPECT_EQ(read_text(folder_ / (name + "-1.csv")), read_text(folder_ / (name + "-2.csv"))) << name;
    EXPECT_EQ(first.at("sent_bytes"), second.at("sent_bytes"));
    EXPECT_EQ(first.at("loss"), second.at("loss"));
  }
}

TEST_F(MpiPartition, GroupsAndHybridBatchesPartitionTogether) {
  for (const std::string name : {"ldg", "ptscotch"}) {
    if (!lists("partitioners", name)) continue;
    row_of_mpi("snapshot_groups:group_size=3,partitioner=" + name, "groups-" + name);
    row_of_mpi("hybrid_batch:partitioner=" + name, "hybrid-" + name);
  }
}

}  // namespace
}  // namespace strobe::cli_test
