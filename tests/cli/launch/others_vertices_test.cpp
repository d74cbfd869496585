// The law of memory with real processes: when other ranks own twice as many vertices, a rank's private memory grows by
// what it exchanges with them, and not by what they hold.
#include <nlohmann/json.hpp>

#include "tests/cli/launch/mpi_program.hpp"
#include "tests/cli/launch/private_memory.hpp"

namespace strobe::cli_test {
namespace {

constexpr int windows = 13;             // steps; the last one is judged
constexpr int few = 300, many = 30000;  // vertices of each rank

class OthersVertices : public MpiProgram, public testing::WithParamInterface<std::string> {
 protected:
  /// As many communities as ranks, of consecutive vertices. Each vertex reads three near ones of its own community. One
  /// edge leads from each community to the next.
  void write_graph(int communities, int size, const std::string& name) {
    std::string text = "source,target,time\n";
    const auto add = [&](int from, int to, int step) {
      text += std::to_string(from) + ',' + std::to_string(to) + ',' + std::to_string(10 * step) + '\n';
    };
    for (int t = 0; t < windows; ++t) {
      for (int c = 0; c < communities; ++c) {
        for (int v = 0; v < size; ++v)
          for (int k = 1; k <= 3; ++k) add(c * size + v, c * size + (v + k * (3 + t)) % size, t);
        add(c * size, ((c + 1) % communities) * size, t);
      }
    }
    write_text(folder_ / (name + ".csv"), text);
    ASSERT_EQ(strobe({"convert", name + ".csv:window=10s", name + ".strobe"}).status, 0);
  }

  struct Measured {
    std::map<int, double> most;  // private bytes of each rank
    Json memory;
    double sent = 0;  // bytes of an epoch and rank, on average
  };
  Measured run(int ranks, int size) {
    const std::string count = std::to_string(ranks), name = count + "x" + std::to_string(size);
    write_graph(ranks, size, name);
    Outcome outcome;
    const std::string words = "mpirun -n " + count + " " STROBE_BINARY " run --workload " + name +
                              ".strobe --model t-gcn:hidden=2,gcn_layers=1 --strategy " + GetParam() + " --ranks " +
                              count + " --comm mpi --threads 1 --epochs 1 --warmup 0 --host-memory-limit-gib 2 --out " +
                              name;
    const pid_t command = start_shell("cd '" + folder_.string() + "' && exec " + words);
    Measured measured{most_private_bytes(command, [&] { outcome = finish(command); }), {}, 0};
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    const Json row = rows(name).at(0);
    measured.memory = row.at("memory_bytes");
    measured.sent = row.at("sent_bytes").at("total").get<double>() / ranks;
    return measured;
  }

  /// Bytes of a rank by its row: tensors at their peak, and data of the host.
  static double counted(const Json& memory, int rank) {
    double sum = 0;
    for (const char* part : {"state", "graph", "features", "buffers", "samples"})
      for (const Json* parts : {&memory, &memory.at("host")})
        sum += parts->at(part).at(static_cast<std::size_t>(rank)).get<double>();
    return sum;
  }
};

/// Two ranks and three, with equal parts, so that others own once and twice as many vertices. Graphs of few vertices
/// tell what the program and MPI take.
TEST_P(OthersVertices, AddOnlyWhatIsExchanged) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers take memory of their own";
#endif
  const Measured once = run(2, many), twice = run(3, many), small = run(2, few), more = run(3, few);
  // The matrix, features and samples of a vertex of another rank take more than 1,200 bytes.
  // Connections to a third process took .3 MB more in one run than in the next.
  constexpr double planned_of_vertex = 64, kept_of_vertex = 16, connections = 1 << 20;
  for (int rank = 0; rank < 2; ++rank) {
    const double grown = twice.most.at(rank) - more.most.at(rank) - (once.most.at(rank) - small.most.at(rank));
    const double explained = counted(twice.memory, rank) - counted(once.memory, rank);
    const double exchanged = std::max(0.0, 2 * (twice.sent - once.sent));
    EXPECT_LE(grown, explained + exchanged + planned_of_vertex * many + connections);
    for (const char* data : {"graph", "features", "samples"}) {
      const auto held = [&](const Measured& of) {
        return of.memory.at("host").at(data).at(static_cast<std::size_t>(rank)).get<double>();
      };
      EXPECT_LE(held(twice), held(once) + kept_of_vertex * many) << data;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Strategies, OthersVertices, testing::Values("vertex", "snapshot", "chunk", "pss"));

}  // namespace
}  // namespace strobe::cli_test
