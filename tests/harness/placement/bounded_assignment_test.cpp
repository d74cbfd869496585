// Cells that are assigned to ranks within a bound of memory: the same as without one, and their nets and edges lie
// outside of the private memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "harness/placement/chunks/assign/cell_assignment.hpp"
#include "harness/placement/chunks/assign/cell_blocks.hpp"
#include "harness/placement/chunks/assign/rank_refinement.hpp"
#include "tests/harness/placement/tried_cells.hpp"
#include "tests/workloads/reading/bounded_support.hpp"
#include "workloads/partitioners/partitioner.hpp"

namespace strobe {
namespace {

/// The rank of each cell, and the chunk of each cell afterwards.
struct Assigned {
  std::vector<Rank> rank;
  std::vector<std::uint32_t> chunk;
  friend bool operator==(const Assigned&, const Assigned&) = default;
};

Assigned assigned(unsigned seed, std::size_t kind, double price, const std::string& method) {
  const test::Tried tried(seed, 60, 8, kind);
  ChunkGraph chunks = tried.chunks(9);
  const std::vector<double> work =
      chunk_workloads(tried.graph, tried.super, chunks, {tried.layers, true}, "cost_model");
  const GrowingColumn<Rank> rank =
      assign_cells({tried.graph, tried.super, {tried.layers}, tried.load, 3, seed, price}, chunks, work, method);
  split_by_rank(tried.super, rank, tried.load, 3, chunks);
  return {{rank.begin(), rank.end()}, chunks.of_node.copy()};
}

class BoundedAssignment : public testing::TestWithParam<std::size_t> {};

TEST_P(BoundedAssignment, IsThatMadeInMemory) {
  const test::TemporaryFolder folder;
  for (unsigned seed = 1; seed <= 3; ++seed) {
    for (const std::string method : {"metis", "refined"}) {
      if (method == "metis" && !has_metis()) continue;
      const double price = seed == 3 && method == "refined" ? 50 : 0;
      const Assigned whole = assigned(seed, GetParam(), price, method);
      const BoundedReading bound(1 << 10, test::folder_of(folder));  // columns of more than 32 bytes go into files
      EXPECT_EQ(assigned(seed, GetParam(), price, method), whole) << seed << method;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Layers, BoundedAssignment, testing::Range<std::size_t>(0, 6));

/// Cells of a random graph, far more than fit into the memory of the bound.
struct ManyCells {
  PreparedGraph graph = test::random_rows(10000, 4, 3);
  std::vector<LayerShape> layers{test::kinds_of_layers()[0]};
  SuperGraph super = super_graph(graph, traffic_weights(layers, false, "traffic"));
  Column<double> load = cell_workloads(graph, super, {layers, true}, "cost_model");

  template <class Work>
  double bytes_of_cell(bool bounded, const Work& work) const {
    return test::most_private_bytes_within(bounded ? std::uint64_t{1} << 18 : 0, work) /
           static_cast<double>(super.nodes());
  }
};

TEST(BoundedAssignmentMemory, OfNetsDoesNotGrowWithCells) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers take memory of their own";
#endif
  const ManyCells cells;
  const auto refine = [&] {
    const CellNets nets = cell_nets(cells.graph, cells.super, {cells.layers}, cells.load);
    GrowingColumn<Rank> rank = runs_of_steps(cells.super, cells.graph.steps, cells.load, 4);
    const std::vector<double> load = load_of_ranks(nets, rank, 4);
    const RefinementLimits limits{4, 1.03 * *std::max_element(load.begin(), load.end()), 1, 0, 1};
    const std::int64_t before = sent_columns(nets, rank);
    balance_ranks(nets, limits, {rank.data(), rank.size()});
    refine_ranks(nets, limits, {rank.data(), rank.size()});
    EXPECT_LT(sent_columns(nets, rank), before);
  };
  // Nets of 7 pins a cell: 36 bytes a pin of what is refined, 24 a net.
  EXPECT_GT(cells.bytes_of_cell(false, refine), 250.0);
  EXPECT_LT(cells.bytes_of_cell(true, refine), 12.0);
}

TEST(BoundedAssignmentMemory, OfEdgesDoesNotGrowWithCells) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers take memory of their own";
#endif
  const ManyCells cells;
  const auto collect = [&] {
    const WeightedGraph graph = edges_between(cells.super, single_cells(cells.super), cells.load);
    EXPECT_GT(graph.neighbours.size(), static_cast<std::size_t>(6 * cells.super.nodes()));
  };
  EXPECT_GT(cells.bytes_of_cell(false, collect), 16.0 * 6);
  EXPECT_LT(cells.bytes_of_cell(true, collect), 4.0);
}

}  // namespace
}  // namespace strobe
