// Chunks over the processes of an MPI world: the same as by one process, and within the memory of a share.
#include <gtest/gtest.h>
#include <malloc.h>
#include <mpi.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iostream>
#include <string>

#include "backends/mpi/runtime.hpp"
#include "harness/placement/chunks/chunks_together.hpp"
#include "tests/workloads/partitioners/random_graphs.hpp"

namespace strobe {
namespace {

ShareHolders launched() {
  const mpi::Runtime& world = mpi::Runtime::instance();
  return {world.rank(), world.size(), [](const std::string& own) { return mpi::Runtime::instance().gather(own, 60); },
          [](const std::vector<std::string>& to) { return mpi::Runtime::instance().all_to_all(to, 60); }};
}

ChunksTogether chunks_of(const PreparedGraph& graph, std::int64_t cap, const ShareHolders& holders) {
  SuperGraphShare share = super_graph_share(graph, {6, {{1, 6, 0}}, 0}, holders);
  return make_chunks_together(share, {cap, 30, 1}, 16, holders);
}

double status_mib_of(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind(name + ":", 0) == 0) return std::stod(line.substr(name.size() + 1)) / 1024;
  return 0;
}

/// The most memory of this process during the work, beyond what it had before.
double peak_mib(const std::function<void()>& work) {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << "5";  // resets the peak
  const double before = status_mib_of("VmRSS");
  work();
  return status_mib_of("VmHWM") - before;
}

TEST(ChunksOverMpi, AreThoseOfOneProcess) {
  for (std::uint32_t seed = 1; seed <= 3; ++seed) {
    for (const PreparedGraph& graph : {testing_partitioners::random_graph(300, 4, 3, seed),
                                       testing_partitioners::planted_graph(600, 12, 6, 1, seed)}) {
      for (const std::int64_t cap : {4, 60}) {
        const ChunksTogether alone = chunks_of(graph, cap, {}), together = chunks_of(graph, cap, launched());
        EXPECT_EQ(together.chunks.of_node, alone.chunks.of_node);
        EXPECT_EQ(together.chunks.cells, alone.chunks.cells);
        EXPECT_EQ(together.chunks.neighbours, alone.chunks.neighbours);
        EXPECT_EQ(together.chunks.traffic, alone.chunks.traffic);
        EXPECT_EQ(together.rounds, alone.rounds);
        EXPECT_EQ(together.levels, alone.levels);
      }
    }
  }
}

/// Communities of neighbouring numbers, so that few edges leave a share.
TEST(ChunksOverMpi, TakeTheMemoryOfAShare) {
  const std::int64_t vertices = 60'000, size = 100, steps = 8, degree = 8;
  const RandomStream random(23, random_purpose::test);
  PreparedGraph graph;
  graph.vertices = vertices, graph.steps = steps;
  graph.row_offsets = {0};
  for (std::int64_t row = 0, draw = 0; row < steps * vertices; ++row) {
    const std::int64_t home = row % vertices / size * size;
    for (std::int64_t i = 0; i < degree; ++i)
      graph.columns.push_back(static_cast<VertexId>(home + static_cast<std::int64_t>(random.below(draw++, size))));
    graph.row_offsets.push_back(static_cast<std::int64_t>(graph.columns.size()));
  }
  const ShareHolders holders = launched();
  const std::int64_t cap = vertices * steps / 64;
  double alone = 0;
  for (int turn = 0; turn < holders.size; ++turn)  // one after the other: a process alone takes the whole memory
    holders.together([&] {
      if (turn == holders.rank) alone = peak_mib([&] { chunks_of(graph, cap, {}); });
    });
  const double together = peak_mib([&] { chunks_of(graph, cap, holders); });
  const double result = 4.0 * vertices * steps / (1 << 20);
  std::cout << "process " << holders.rank << " of " << holders.size << ": " << alone << " MiB alone, " << together
            << " MiB together; " << result << " MiB of it name the chunk of every cell\n";
  EXPECT_LT(together, alone / holders.size + 3 * result + 8);
}

}  // namespace
}  // namespace strobe
