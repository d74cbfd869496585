// Partitioners in parts over the processes of an MPI world: all get the same owners, the same again with the same seed,
// balanced, and with a cut near the one that a single process finds.
#include <gtest/gtest.h>
#include <mpi.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>

#include "backends/mpi/runtime.hpp"
#include "tests/workloads/partitioners/random_graphs.hpp"
#include "workloads/partitioners/partitioner.hpp"
#include "workloads/partitioners/partitioning.hpp"

namespace strobe {
namespace {

const mpi::Runtime& world() { return mpi::Runtime::instance(); }

ShareHolders holders() {
  return {world().rank(), world().size(),
          [](const std::string& own) { return mpi::Runtime::instance().gather(own, 60); },
          [](const std::vector<std::string>& to) { return mpi::Runtime::instance().all_to_all(to, 60); }};
}

std::vector<std::string> in_parts() {
  std::vector<std::string> names;
  for (const auto& [name, entry] : PartitionerRegistry::instance().entries())
    if (entry.value.in_parts != nullptr) names.push_back(name);
  return names;
}

/// The owners, which every process must have alike.
std::vector<Rank> together(const std::string& name, const PreparedGraph& graph, int parts, std::uint64_t seed) {
  const ShareHolders all = holders();
  const std::vector<Rank> own = PartitionerRegistry::instance().find(name).value(graph, parts, seed, 2, nullptr, all);
  for (int rank = 0; rank < all.size; ++rank) EXPECT_EQ(all.broadcast(rank, own), own) << name << ", rank " << rank;
  return own;
}

/// Messages travel in units of 1024 bytes.
TEST(PartitionersOverMpi, ExchangeTextsOfAnyLength) {
  const ShareHolders all = holders();
  const auto text = [](int from, int to) {
    constexpr std::size_t lengths[] = {0, 1, 1023, 1024, 1025, 70'000};
    return std::string(lengths[(from + 3 * to) % 6], static_cast<char>('a' + from + to));
  };
  for (int shift = 0; shift < 6; ++shift) {
    std::vector<std::string> sent;
    for (int to = 0; to < all.size; ++to) sent.push_back(text(all.rank + shift, to));
    const std::vector<std::string> received = all.all_to_all(sent);
    for (int from = 0; from < all.size; ++from) EXPECT_EQ(received[from], text(from + shift, all.rank));
  }
}

/// The last process may take 16 MiB more than it has, and gets 96 MiB.
TEST(PartitionersOverMpi, AProcessWithoutMemoryStopsAll) {
  const ShareHolders all = holders();
  const int last = all.size - 1;
  const std::vector<std::string> none(all.size);
  all.all_to_all(none);
  std::vector<std::string> sent(all.size);
  if (all.rank == 0) sent[last].assign(96 << 20, 'a');
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  std::ifstream pages_of_process("/proc/self/statm");
  std::uint64_t pages = 0;
  pages_of_process >> pages;
  const rlimit low{pages * 4096 + (16 << 20), before.rlim_max};
  if (all.rank == last) setrlimit(RLIMIT_AS, &low);
  std::string said;
  try {
    all.all_to_all(sent);
  } catch (const std::exception& error) {
    said = error.what();
  }
  setrlimit(RLIMIT_AS, &before);
  EXPECT_EQ(said,
            all.rank == last ? "std::bad_alloc" : "rank " + std::to_string(last) + " lacks memory for an exchange");
  EXPECT_EQ(all.all_to_all(none), none) << "all meet again";
}

TEST(PartitionersOverMpi, AgreeOnOwnersAndRepeatThem) {
  for (std::uint32_t seed = 1; seed <= 2; ++seed) {
    const PreparedGraph graph = testing_partitioners::random_graph(700, 3, 4, seed);
    for (const std::string& name : in_parts()) {
      for (const int parts : {1, 2, 7}) {
        const std::vector<Rank> first = together(name, graph, parts, seed);
        for (int again = 0; again < 2; ++again) EXPECT_EQ(together(name, graph, parts, seed), first) << name << parts;
        EXPECT_EQ(*std::max_element(first.begin(), first.end()), parts - 1) << name;
        EXPECT_LT(work_imbalance(vertex_work(graph), first, parts), 1.10) << name << parts;
      }
    }
  }
}

TEST(PartitionersOverMpi, CutAsLittleAsOneProcess) {
  for (std::uint32_t seed = 1; seed <= 2; ++seed) {
    const PreparedGraph graph = testing_partitioners::planted_graph(2000, 8, 10, 1, seed);
    const auto volume = [&](const std::vector<Rank>& part) { return connectivity_minus_one(graph, part, 8); };
    const std::int64_t hash = volume(PartitionerRegistry::instance().find("hash").value(graph, 8, seed));
    for (const std::string& name : in_parts()) {
      const std::int64_t alone = volume(PartitionerRegistry::instance().find(name).value(graph, 8, seed));
      const std::int64_t parts = volume(together(name, graph, 8, seed));
      EXPECT_LT(static_cast<double>(parts), 1.3 * static_cast<double>(alone)) << name;
      EXPECT_LT(static_cast<double>(parts), 0.6 * static_cast<double>(hash)) << name;
    }
  }
}

/// Shares without vertices, without edges, and more parts than some share has vertices. Zoltan takes no share without
/// vertices.
TEST(PartitionersOverMpi, TakeSharesWithoutVertices) {
  for (const std::string& name : in_parts()) {
    for (const std::int64_t vertices : {1, 2, 5, 12}) {
      PreparedGraph graph = testing_partitioners::random_graph(vertices, 2, 1, 4);
      if (name == "hypergraph_parallel" && vertices < world().size()) {
        EXPECT_THROW(together(name, graph, 2, 1), InvalidRequest);
        continue;
      }
      EXPECT_EQ(together(name, graph, 2, 1).size(), static_cast<std::size_t>(vertices)) << name;
      graph.columns.clear();
      graph.row_offsets.assign(graph.row_offsets.size(), 0);
      EXPECT_EQ(together(name, graph, 2, 1).size(), static_cast<std::size_t>(vertices)) << name;
    }
  }
}

}  // namespace
}  // namespace strobe
