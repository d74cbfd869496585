// The law of memory with real processes: when other ranks own twice as many vertices, a rank's private memory grows by
// what it exchanges with them, and not by what they hold.
#include <array>
#include <nlohmann/json.hpp>

#include "tests/cli/launch/mpi_program.hpp"
#include "tests/cli/launch/private_memory.hpp"

namespace strobe::cli_test {
namespace {

constexpr int community = 30000, windows = 12;  // vertices of each rank, and steps

class OthersVertices : public MpiProgram, public testing::WithParamInterface<std::string> {
 protected:
  /// As many communities as ranks, of consecutive vertices. Each vertex reads three near ones of its own community. One
  /// edge leads from each community to the next.
  void write_graph(int communities, const std::string& name) {
    std::string text = "source,target,time\n";
    const auto add = [&](int from, int to, int step) {
      text += std::to_string(from) + ',' + std::to_string(to) + ',' + std::to_string(10 * step) + '\n';
    };
    for (int t = 0; t < windows; ++t) {
      for (int c = 0; c < communities; ++c) {
        for (int v = 0; v < community; ++v)
          for (int k = 1; k <= 3; ++k) add(c * community + v, c * community + (v + k * (3 + t)) % community, t);
        add(c * community, ((c + 1) % communities) * community, t);
      }
    }
    write_text(folder_ / (name + ".csv"), text);
    ASSERT_EQ(strobe({"convert", name + ".csv:window=10s", name + ".strobe"}).status, 0);
  }

  struct Measured {
    std::map<int, double> most;  // private bytes of each rank
    Json row;
  };
  Measured run(int ranks) {
    const std::string count = std::to_string(ranks);
    write_graph(ranks, count);
    Measured measured;
    Outcome outcome;
    const pid_t command = start({"mpirun",     "-n",
                                 count,        STROBE_BINARY,
                                 "run",        "--workload",
                                 count + ".strobe", "--model",
                                 "t-gcn:hidden=2,gcn_layers=1", "--strategy",
                                 GetParam(),   "--ranks",
                                 count,        "--comm",
                                 "mpi",        "--threads",
                                 "1",          "--epochs",
                                 "1",          "--warmup",
                                 "0",          "--host-memory-limit-gib",
                                 "2",          "--out",
                                 "out" + count});
    measured.most = most_private_bytes(command, [&] { outcome = finish(command); });
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    measured.row = rows("out" + count).at(0);
    return measured;
  }
};

TEST_P(OthersVertices, AddOnlyWhatIsExchanged) {
  const Measured some = run(2), twice = run(3);
  for (const Measured* of : {&some, &twice}) {
    std::cerr << GetParam() << ' ' << of->row.at("memory_bytes").dump() << ' ' << of->row.at("sent_bytes").dump() << '\n';
    for (const auto& [rank, bytes] : of->most) std::cerr << rank << ' ' << bytes << '\n';
  }
}

INSTANTIATE_TEST_SUITE_P(Strategies, OthersVertices, testing::Values("vertex", "snapshot", "chunk", "pss"));

}  // namespace
}  // namespace strobe::cli_test
