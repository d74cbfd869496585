// Chunks that are made within a bound of memory: the same as without one, and outside of the private memory.
#include <gtest/gtest.h>

#include <optional>
#include <tuple>

#include "core/system/process_memory.hpp"
#include "harness/placement/chunks/cell_placement.hpp"
#include "harness/placement/chunks/chunk_fusion.hpp"
#include "harness/placement/chunks/chunk_merging.hpp"
#include "harness/placement/chunks/label_propagation.hpp"
#include "tests/harness/placement/random_cells.hpp"
#include "tests/workloads/reading/bounded_support.hpp"
#include "workloads/storage/reading_bound.hpp"

namespace strobe {
namespace {

/// Chunks of cells, those of a few levels of merging, and the number of levels.
std::tuple<ChunkGraph, ChunkGraph, std::int64_t> chunks_of_cells(const PreparedGraph& graph,
                                                                 const TrafficWeights& weights, std::int64_t most,
                                                                 std::uint64_t seed) {
  SuperGraph super = super_graph(graph, weights);
  const ChunkGraph chunks = chunk_graph(super, propagate_labels(super, most, 9, seed).label);
  ChunkGraph merged = chunks;
  const std::int64_t levels = merge_chunks(merged, 4 * most, 5, 9, seed);
  return {chunks, merged, levels};
}

void expect_same(const ChunkGraph& a, const ChunkGraph& b) {
  EXPECT_EQ(a.of_node, b.of_node);
  EXPECT_EQ(a.cells, b.cells);
  EXPECT_EQ(a.offsets, b.offsets);
  EXPECT_EQ(a.neighbours, b.neighbours);
  EXPECT_EQ(a.traffic, b.traffic);
}

class BoundedChunks : public testing::TestWithParam<std::size_t> {};

TEST_P(BoundedChunks, AreThoseMadeInMemory) {
  const test::TemporaryFolder folder;
  const TrafficWeights weights = test::kinds_of_weights()[GetParam()];
  bool merged_some = false;
  for (unsigned seed = 1; seed <= 4; ++seed) {
    const PreparedGraph graph = test::random_cells(seed, 400, 9, 2.5, seed % 2 == 0);
    for (const std::int64_t most : {2, 7, 40}) {
      const auto [chunks, merged, levels] = chunks_of_cells(graph, weights, most, seed);
      const BoundedReading bound(1 << 10, folder.file(""));  // columns of more than 32 bytes go into files
      const auto [bounded_chunks, bounded_merged, bounded_levels] = chunks_of_cells(graph, weights, most, seed);
      expect_same(bounded_chunks, chunks);
      expect_same(bounded_merged, merged);
      EXPECT_EQ(bounded_levels, levels);
      merged_some = merged_some || levels > 0;
    }
  }
  EXPECT_TRUE(merged_some);
}

INSTANTIATE_TEST_SUITE_P(Weights, BoundedChunks, testing::Range<std::size_t>(0, 10));

TEST(BoundedUnits, AreThoseMadeInMemory) {
  const test::TemporaryFolder folder;
  for (unsigned seed = 1; seed <= 6; ++seed) {
    const PreparedGraph graph = test::random_cells(seed, 60, 9, 2.5, seed % 2 == 0);
    SuperGraph super = super_graph(graph, test::kinds_of_weights()[0]);
    const ChunkGraph chunks = chunk_graph(super, propagate_labels(super, 7, 9, seed).label);
    const std::vector<strobe::Run> blocks{{0, 4}, {4, 5}};
    const auto units = [&] {
      const CutChunks parts = cut_chunks(graph, chunks.of_node, chunks.cells.size(), blocks);
      return owners_by_step(graph, [&](NodeId node) { return static_cast<Rank>(parts.of_cell[node]); });
    };
    const std::vector<Column<Rank>> whole = units();
    const BoundedReading bound(1 << 10, folder.file(""));  // columns of more than 32 bytes go into files
    EXPECT_EQ(units(), whole) << seed;
  }
}

/// Cells are cut into parts of blocks, and the part of each cell is its unit.
TEST(BoundedUnits, MemoryDoesNotGrowWithCells) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers take memory of their own";
#endif
  const PreparedGraph graph = test::random_rows(60000, 8, 1);
  const std::vector<strobe::Run> blocks{{0, 4}, {4, 4}};
  const Column<std::uint32_t> alike(std::vector<std::uint32_t>(60000 * 8, 0));
  const auto bytes_of_cell = [&](std::uint64_t limit) {
    return test::most_private_bytes_within(limit,
                                           [&] {
                                             const CutChunks parts = cut_chunks(graph, alike, 1, blocks);
                                             const auto units = owners_by_step(graph, [&](NodeId node) {
                                               return static_cast<Rank>(parts.of_cell[node]);
                                             });
                                             look_at_process_memory();
                                             EXPECT_EQ(units.back().back(), 1);
                                           }) /
           static_cast<double>(alike.size());
  };
  EXPECT_GT(bytes_of_cell(0), 7.5);
  EXPECT_LT(bytes_of_cell(std::uint64_t{1} << 20), 1.0);
}

TEST(BoundedChunkMemory, DoesNotGrowWithCells) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers take memory of their own";
#endif
  const test::TemporaryFolder folder;
  const PreparedGraph graph = test::random_rows(60000, 8, 4);
  const auto private_bytes_of_cell = [&](bool bounded) {
    std::optional<BoundedReading> bound;
    if (bounded) bound.emplace(std::uint64_t{8} << 20, folder.file(""));
    spare_process_memory(true);
    const std::uint64_t before = process_memory_bytes();
    SuperGraph super = super_graph(graph, {1, {{1, 1, 0}}, 0});
    const ChunkGraph chunks = chunk_graph(super, propagate_labels(super, 64, 3, 1).label);
    const auto taken = static_cast<double>(process_memory_bytes()) - static_cast<double>(before);
    spare_process_memory(false);
    EXPECT_GT(chunks.count(), 1000);
    return taken / static_cast<double>(super.nodes());
  };
  // Offsets, neighbours of both ends, and chunks: 8 + 4 * 2 * 4 + 4 bytes a cell, and the rows of chunks.
  EXPECT_GT(private_bytes_of_cell(false), 44.0);
  EXPECT_LT(private_bytes_of_cell(true), 4.0);
}

}  // namespace
}  // namespace strobe
