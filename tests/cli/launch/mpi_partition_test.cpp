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

  /// Equal bytes, and losses that differ by the order of sums at most.
  static void expect_same_training(const Json& one, const Json& other) {
    EXPECT_EQ(one.at("sent_bytes"), other.at("sent_bytes")) << one.at("case_id");
    ASSERT_EQ(one.at("loss").size(), other.at("loss").size());
    for (std::size_t e = 0; e < one.at("loss").size(); ++e) {
      const double loss = one.at("loss")[e].get<double>();
      EXPECT_NEAR(loss, other.at("loss")[e].get<double>(), 1e-10 * std::abs(loss)) << one.at("case_id");
    }
  }
};

TEST_F(MpiPartition, TheOwnersAndLossesOfThreadsWherePromised) {
  for (const std::string strategy : {"vertex:partitioner=ldg", "vertex:partitioner=fennel",
                                     "chunk:propagation=synchronous", "chunk:propagation=synchronous,cost=edges"}) {
    const std::string name = strategy.substr(strategy.rfind('=') + 1);
    ASSERT_EQ(strobe(request(strategy, "local-" + name)).status, 0);
    const Json here = rows("local-" + name)[0], there = row_of_mpi(strategy, "mpi-" + name);
    EXPECT_EQ(read_text(folder_ / ("local-" + name + ".csv")), read_text(folder_ / ("mpi-" + name + ".csv")));
    expect_same_training(here, there);
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
  for (const std::string kind : {"snapshot_groups:group_size=3,", "hybrid_batch:"}) {
    const std::string out = kind.substr(0, kind.find(':'));
    ASSERT_EQ(strobe(request(kind + "partitioner=ldg", "local-" + out)).status, 0);
    expect_same_training(rows("local-" + out)[0], row_of_mpi(kind + "partitioner=ldg", "mpi-" + out));
    if (!lists("partitioners", "ptscotch")) continue;
    const Json first = row_of_mpi(kind + "partitioner=ptscotch", "first-" + out),
               second = row_of_mpi(kind + "partitioner=ptscotch", "second-" + out);
    EXPECT_EQ(first.at("loss"), second.at("loss"));
  }
}

}  // namespace
}  // namespace strobe::cli_test
