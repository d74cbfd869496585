// Chunks over the processes of an MPI world: the same as by one process, within the memory of a share, from its rows
// alone.
#include <gtest/gtest.h>
#include <malloc.h>
#include <mpi.h>
#include <sys/mman.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "backends/mpi/runtime.hpp"
#include "harness/placement/chunks/chunks_together.hpp"
#include "tests/workloads/partitioners/random_graphs.hpp"
#include "workloads/partitioners/graph_share.hpp"

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

/// Process 1 cannot read a message, at different places.
TEST(ChunksOverMpi, AProcessThatFailsStopsAll) {
  const ShareHolders holders = launched();
  const PreparedGraph graph = testing_partitioners::random_graph(60, 4, 3, 1);
  for (const int place : {1, 2, 9, 11, 13, 14, 15, 16, 17, 30}) {
    ShareHolders reading = holders;
    reading.all_to_all = [left = holders.rank == 1 ? place : 0](const std::vector<std::string>& to) mutable {
      std::vector<std::string> received = mpi::Runtime::instance().all_to_all(to, 60);
      if (--left == 0) received[0].replace(0, received[0].size() - 1, 8, '\xff');
      return received;
    };
    std::string said;
    try {
      chunks_of(graph, 20, reading);
    } catch (const std::exception& error) {
      said = error.what();
    }
    EXPECT_EQ(said.find("vector") != std::string::npos, holders.size > 1) << said;
    EXPECT_EQ(holders.sums({1}), std::vector<std::int64_t>{holders.size}) << "all meet again";
  }
}

constexpr std::int64_t vertices = 60'000, steps = 8;

/// Communities of neighbouring numbers, so that few edges leave a share.
PreparedGraph neighbouring_communities() {
  const std::int64_t size = 100, degree = 8;
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
  return graph;
}

/// The values in memory whose pages can be read only where they hold one of the ranges [first, end).
template <class T>
Column<T> guarded(const Column<T>& values, const std::vector<std::pair<std::int64_t, std::int64_t>>& readable) {
  constexpr std::size_t page = 4096;
  const std::size_t bytes = (values.size() * sizeof(T) / page + 1) * page;
  void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw std::runtime_error("mmap failed");
  const std::shared_ptr<const void> keeper(at, [bytes](void* mapping) { munmap(mapping, bytes); });
  std::copy(values.begin(), values.end(), static_cast<T*>(at));
  mprotect(at, bytes, PROT_NONE);
  for (const auto& [first, end] : readable) {
    const std::size_t from = first * sizeof(T) / page * page, to = (end * sizeof(T) + page - 1) / page * page;
    mprotect(static_cast<char*>(at) + from, to - from, PROT_READ);
  }
  return {keeper, static_cast<const T*>(at), values.size()};
}

/// A process that reads pages without its own rows ends with a signal.
TEST(ChunksOverMpi, ReadTheRowsOfAShareAlone) {
  const ShareHolders holders = launched();
  PreparedGraph graph = neighbouring_communities();
  const strobe::Run own = even_share(vertices, holders.size, holders.rank);
  std::vector<std::pair<std::int64_t, std::int64_t>> rows, entries;
  for (Step t = 0; t < steps; ++t) {
    const std::int64_t first = t * vertices + own.first, end = first + own.count;
    rows.emplace_back(first, end + 1);
    entries.emplace_back(graph.row_offsets[first], graph.row_offsets[end]);
  }
  graph.row_offsets = guarded(graph.row_offsets, rows), graph.columns = guarded(graph.columns, entries);
  const ChunksTogether made = chunks_of(graph, vertices * steps / 64, holders);
  EXPECT_EQ(made.chunks.of_node.size(), static_cast<std::size_t>(vertices * steps));
  const GraphShare share = share_of(graph, holders);
  EXPECT_EQ(share.lists(share.own).vertices, own);
  EXPECT_GT(share.nets().nets(), 0);
}

TEST(ChunksOverMpi, TakeTheMemoryOfAShare) {
  const PreparedGraph graph = neighbouring_communities();
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
