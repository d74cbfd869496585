// Rows of units among those of their rank, compared with rows of cells found by counting.
#include "harness/full_batch/inputs/unit_rows.hpp"

#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "harness/placement/chunks/cell_placement.hpp"
#include "tests/harness/placement/random_cells.hpp"

namespace strobe {
namespace {

/// (step, vertex) by row of a rank: own cells in the order of steps, then its halo.
std::vector<std::pair<Step, VertexId>> cells_by_row(const Placement& placement, const HaloNeeds& needs, Rank rank) {
  std::vector<std::pair<Step, VertexId>> cells;
  for (Step t = 0; t < placement.steps(); ++t) {
    for (std::int64_t v = 0; v < placement.vertices; ++v)
      if (placement.owner(static_cast<VertexId>(v), t) == rank) cells.emplace_back(t, static_cast<VertexId>(v));
  }
  for (Step t = 0; t < placement.steps(); ++t) {
    for (const VertexId v : needs.of(rank, t)) cells.emplace_back(t, v);
  }
  return cells;
}

TEST(UnitRows, NameTheRowsThatCellsHaveOnTheirRank) {
  const std::vector<Rank> rank_of_unit{0, 0, 0, 1, 2, 2};
  const std::vector<strobe::Run> of_rank{{0, 3}, {3, 1}, {4, 2}};
  for (unsigned seed = 1; seed <= 16; ++seed) {
    const PreparedGraph graph = test::random_cells(seed, 12, 6, 2.5, seed % 2 == 0);
    std::mt19937 draw(seed);
    std::vector<Rank> unit;
    for_cells(graph, [&](NodeId, VertexId, Step) { unit.push_back(static_cast<Rank>(draw() % 6)); });
    const Placement units = place_cells(graph, 6, [&](NodeId node) { return unit[node]; });
    const Placement ranks = place_cells(graph, 3, [&](NodeId node) { return rank_of_unit[unit[node]]; });
    const HaloNeeds reads = spatial_needs(units, graph), needs = spatial_needs(ranks, graph);
    for (Rank rank = 0; rank < 3; ++rank) {
      const UnitCells cells{&units, &reads, of_rank[rank]};
      const auto by_row = cells_by_row(ranks, needs, rank);
      const auto rows = unit_rows(ranks, needs, cells, rank);
      ASSERT_EQ(rows.size(), static_cast<std::size_t>(cells.own.count));
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto number = static_cast<Rank>(cells.own.first + static_cast<std::int64_t>(i));
        const auto expected = cells_by_row(units, reads, number);
        ASSERT_EQ(rows[i].read.size(), expected.size()) << "seed " << seed;
        EXPECT_EQ(rows[i].own_count, units.rows(number));
        std::int64_t of_rank_rows = 0;
        for (std::size_t k = 0; k < expected.size(); ++k) {
          EXPECT_EQ(by_row.at(rows[i].read[k]), expected[k]) << "seed " << seed;
          of_rank_rows += ranks.owner(expected[k].second, expected[k].first) == rank ? 1 : 0;
        }
        EXPECT_EQ(rows[i].of_rank(ranks.rows(rank)), of_rank_rows);
      }
    }
  }
}

}  // namespace
}  // namespace strobe
