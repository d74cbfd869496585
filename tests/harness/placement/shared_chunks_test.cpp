// Chunks that one process of a node makes: those that map them get the same, and hold their own runs only.
#include "harness/placement/chunks/shared_chunks.hpp"

#include <gtest/gtest.h>

#include <random>

#include "harness/placement/chunks/super_graph.hpp"
#include "tests/harness/placement/random_cells.hpp"
#include "tests/workloads/storage/store_in.hpp"

namespace strobe {
namespace {

constexpr int shared_ranks = 3;

PlacedChunks random_chunks(const PreparedGraph& graph, unsigned seed) {
  constexpr std::uint32_t count = 7;
  std::mt19937 draw(seed);
  PlacedChunks chunks;
  std::vector<std::int64_t> cells(count, 0);
  for_cells(graph, [&](NodeId, VertexId, Step) {
    chunks.of_cell.push_back(static_cast<std::uint32_t>(draw() % count));
    ++cells[chunks.of_cell.back()];
  });
  for (std::uint32_t c = 0; c < count; ++c) chunks.rank.push_back(static_cast<Rank>(draw() % shared_ranks));
  chunks.cells = std::move(cells);
  chunks.load = {0.1, 0.2 + seed, 1.0 / 3};
  chunks.cost = "cells", chunks.fusion = "spatial", chunks.fusion_memory = "measured", chunks.fusion_gib = 0.1;
  chunks.max_cells = 11, chunks.rounds = 5, chunks.moved_last = 2, chunks.levels = 3, chunks.rerun_units = true;
  chunks.generation_seconds = 0.3, chunks.assignment_seconds = 0.7;
  chunks.cut_between_chunks = 17, chunks.cut_between_ranks = 13;
  return chunks;
}

void expect_same_chunks(const PlacedChunks& a, const PlacedChunks& b) {
  EXPECT_EQ(a.of_cell, b.of_cell);
  EXPECT_EQ(a.cells, b.cells);
  EXPECT_EQ(a.rank, b.rank);
  EXPECT_EQ(a.load, b.load);
  EXPECT_EQ(std::tie(a.cost, a.fusion, a.fusion_memory, a.fusion_gib, a.rerun_units),
            std::tie(b.cost, b.fusion, b.fusion_memory, b.fusion_gib, b.rerun_units));
  EXPECT_EQ(std::tie(a.max_cells, a.rounds, a.moved_last, a.levels, a.cut_between_chunks, a.cut_between_ranks),
            std::tie(b.max_cells, b.rounds, b.moved_last, b.levels, b.cut_between_chunks, b.cut_between_ranks));
  EXPECT_EQ(a.generation_seconds, b.generation_seconds);
  EXPECT_EQ(a.assignment_seconds, b.assignment_seconds);
}

TEST(SharedChunks, AreMadeOnceAndTheSameForAllProcesses) {
  const test::TemporaryFolder folder;
  const auto store = test::store_in(folder);
  for (unsigned seed = 1; seed <= 6; ++seed) {
    const PreparedGraph graph = test::random_cells(seed, 19, 5, 2, seed % 2 == 0);
    int made = 0;
    const auto make = [&] { return ++made, random_chunks(graph, seed); };
    const PlacedCells alone = place_once({graph, shared_ranks, 1, {}}, make);
    EXPECT_EQ(made, 1);
    std::vector<PlacedCells> kept;  // as of processes that run at the same time
    for (Rank rank = 0; rank < shared_ranks; ++rank) {
      StrategyInput input{graph, shared_ranks, 1, {}};
      input.only_rank = rank, input.node = store.get(), input.name = "case " + std::to_string(seed);
      const PlacedCells& cells = kept.emplace_back(place_once(input, make));
      expect_same_chunks(*cells.chunks, *alone.chunks);
      EXPECT_EQ(cells.chunks->of_cell.own_bytes() + cells.chunks->cells.own_bytes(), 0u);
      for (Step t = 0; t < graph.steps; ++t) {
        const VertexMap &own = cells.placement.map(t), &all = alone.placement.map(t);
        EXPECT_EQ(own.single, all.single);
        EXPECT_EQ(own.owner, all.owner);
        EXPECT_EQ(own.owner.own_bytes(), 0u);
        EXPECT_EQ(own.owned_count, all.owned_count);
        for (Rank r = 0; own.single < 0 && r < shared_ranks; ++r)
          EXPECT_EQ(own.runs_of(r).size(), r == rank ? all.runs_of(r).size() : 0u);
      }
    }
    EXPECT_EQ(made, 2) << "one process of the node makes them";
  }
}

}  // namespace
}  // namespace strobe
