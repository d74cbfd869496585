// Merging of chunks, compared with the printed rule applied to every pair until nothing changes. Loads of chunks,
// compared with sets.
#include "harness/placement/chunks/chunk_fusion.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "tests/harness/placement/random_cells.hpp"

namespace strobe {
namespace {

struct PlainUnit {
  std::set<std::int64_t> cells;
  std::int64_t own = 0, entries = 0, beyond = 0;
};

std::int64_t bytes_together(const PlainUnit& a, const PlainUnit& b, const UnitBytes& bytes) {
  std::set<std::int64_t> all = a.cells;
  all.insert(b.cells.begin(), b.cells.end());
  const auto planned = bytes.of(static_cast<std::int64_t>(all.size()), a.own + b.own, a.entries + b.entries);
  return static_cast<std::int64_t>(planned) + a.beyond + b.beyond;
}

std::int64_t shared_cells(const PlainUnit& a, const PlainUnit& b) {
  return std::count_if(a.cells.begin(), a.cells.end(), [&b](std::int64_t cell) { return b.cells.count(cell) == 1; });
}

/// The unit of each chunk, found by trying all pairs before each merge.
std::vector<std::uint32_t> plain_fusion(const ChunkLoads& chunks, const UnitBytes& bytes, std::uint64_t limit) {
  std::map<std::uint32_t, PlainUnit> units;
  std::vector<std::uint32_t> unit;
  for (std::uint32_t c = 0; c < chunks.cells.size(); ++c) {
    units[c] = {{chunks.cells[c].begin(), chunks.cells[c].end()}, chunks.own[c], chunks.entries[c]};
    if (!chunks.beyond.empty()) units[c].beyond = chunks.beyond[c];
    unit.push_back(c);
  }
  for (;;) {
    std::optional<std::tuple<std::int64_t, std::uint32_t, std::uint32_t>> best;
    for (const auto& [a, first] : units) {
      for (const auto& [b, second] : units) {
        if (a >= b || (limit > 0 && bytes_together(first, second, bytes) > static_cast<std::int64_t>(limit))) continue;
        const std::tuple pair{-shared_cells(first, second), a, b};
        if (!best || pair < *best) best = pair;
      }
    }
    if (!best) break;
    const auto [saved, a, b] = *best;
    units[a].cells.insert(units[b].cells.begin(), units[b].cells.end());
    units[a].own += units[b].own, units[a].entries += units[b].entries;
    units[a].beyond += units[b].beyond;
    units.erase(b);
    std::replace(unit.begin(), unit.end(), b, a);
  }
  std::map<std::uint32_t, std::uint32_t> number;
  for (const auto& [first, of_unit] : units) number.emplace(first, static_cast<std::uint32_t>(number.size()));
  for (std::uint32_t& of_chunk : unit) of_chunk = number.at(of_chunk);
  return unit;
}

ChunkLoads random_loads(std::mt19937& draw, bool many_shared) {
  ChunkLoads loads;
  const std::size_t count = 1 + draw() % 14;
  for (std::size_t c = 0; c < count; ++c) {
    std::set<std::int64_t> cells;
    const unsigned wanted = 1 + draw() % 9;
    while (cells.size() < wanted) cells.insert(draw() % (many_shared ? 20 : 150));
    loads.cells.emplace_back(cells.begin(), cells.end());
    loads.own.push_back(1 + draw() % wanted);
    loads.entries.push_back(draw() % 30);
  }
  return loads;
}

TEST(ChunkFusion, MergesThePairThatSavesMostWhileItFits) {
  std::size_t several = 0, merged = 0, moved = 0;
  for (unsigned seed = 1; seed <= 300; ++seed) {
    std::mt19937 draw(seed);
    ChunkLoads loads = random_loads(draw, seed % 3 != 0);
    const UnitBytes bytes{1 + draw() % 40, draw() % 20, draw() % 12};
    const std::uint64_t limit = seed % 10 == 0 ? 0 : 50 + draw() % 1500;
    const auto unit = fuse_chunks(loads, bytes, limit);
    ASSERT_EQ(unit, plain_fusion(loads, bytes, limit)) << "seed " << seed;
    const std::set<std::uint32_t> units(unit.begin(), unit.end());
    several += units.size() > 1 ? 1 : 0;
    merged += units.size() < unit.size() ? 1 : 0;
    if (limit == 0) {
      EXPECT_EQ(units.size(), 1u);
    }
    for (std::size_t c = 0; c < unit.size(); ++c)
      loads.beyond.push_back(static_cast<std::int64_t>(draw() % 400) - (seed % 2 == 0 ? 0 : 200));
    const auto measured = fuse_chunks(loads, bytes, limit);
    ASSERT_EQ(measured, plain_fusion(loads, bytes, limit)) << "measured, seed " << seed;
    moved += measured != unit ? 1 : 0;
  }
  EXPECT_GT(several, 100u);
  EXPECT_GT(merged, 100u);
  EXPECT_GT(moved, 50u);
}

TEST(ChunkFusion, OfFigure8LoadsTheCellsBetweenTwoChunksOnce) {
  // Chunk i has A, B, C and chunk j has D, E; A and D read each other.
  const ChunkLoads loads{{{0, 1, 2, 3}, {0, 3, 4}}, {3, 2}, {0, 0}};
  const UnitBytes rows{1, 0, 0};
  EXPECT_EQ(fuse_chunks(loads, rows, 5), (std::vector<std::uint32_t>{0, 0}));  // 5 rows and not 7
  EXPECT_EQ(fuse_chunks(loads, rows, 4), (std::vector<std::uint32_t>{0, 1}));
}

TEST(ChunkFusion, CountsWhatEachChunkLoads) {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    const PreparedGraph graph = test::random_cells(seed, 11, 5, 2.5, seed % 2 == 0);
    std::mt19937 draw(seed);
    std::vector<std::uint32_t> of_cell;
    std::vector<std::set<std::int64_t>> cells(4);
    std::vector<std::int64_t> own(4, 0), entries(4, 0);
    for (std::int64_t v = 0; v < graph.vertices; ++v) {
      for (Step t = 0; t < graph.steps; ++t) {
        if (!test::cell_exists(graph, static_cast<VertexId>(v), t)) continue;
        const std::uint32_t chunk = draw() % 4;
        of_cell.push_back(chunk);
        const std::int64_t cell = t * graph.vertices + v;
        cells[chunk].insert(cell);
        ++own[chunk];
        for (auto e = graph.row_offsets[cell]; e < graph.row_offsets[static_cast<std::size_t>(cell) + 1];
             ++e, ++entries[chunk])
          cells[chunk].insert(t * graph.vertices + graph.columns[e]);
      }
    }
    const ChunkLoads loads = loads_of_chunks(graph, of_cell, 4);
    EXPECT_EQ(loads.own, own);
    EXPECT_EQ(loads.entries, entries);
    for (std::size_t c = 0; c < 4; ++c)
      EXPECT_EQ(loads.cells[c], std::vector<std::int64_t>(cells[c].begin(), cells[c].end())) << "seed " << seed;
  }
}

TEST(ChunkFusion, CutsChunksAtTheBordersOfBlocks) {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    const PreparedGraph graph = test::random_cells(seed, 11, 7, 2.5, seed % 2 == 0);
    const std::int64_t border = 1 + seed % 3;
    const std::vector<strobe::Run> blocks{{0, border}, {border, 2}, {border + 2, graph.steps - border - 2}};
    std::mt19937 draw(seed);
    std::vector<std::uint32_t> of_cell;
    std::set<std::pair<std::size_t, std::uint32_t>> parts;  // block and chunk
    std::vector<std::pair<std::size_t, std::uint32_t>> of;  // of each cell
    for (std::int64_t v = 0; v < graph.vertices; ++v) {
      for (Step t = 0; t < graph.steps; ++t) {
        if (!test::cell_exists(graph, static_cast<VertexId>(v), t)) continue;
        of_cell.push_back(draw() % 5);
        const std::size_t block = t < blocks[1].first ? 0 : t < blocks[2].first ? 1 : 2;
        parts.insert(of.emplace_back(block, of_cell.back()));
      }
    }
    const CutChunks cut = cut_chunks(graph, of_cell, 5, blocks);
    ASSERT_EQ(cut.chunk.size(), parts.size());
    ASSERT_EQ(cut.first.size(), 4u);
    const std::vector<std::pair<std::size_t, std::uint32_t>> sorted(parts.begin(), parts.end());
    for (std::size_t part = 0; part < sorted.size(); ++part) {
      EXPECT_EQ(cut.chunk[part], sorted[part].second);
      EXPECT_TRUE(cut.first[sorted[part].first] <= part && part < cut.first[sorted[part].first + 1]);
    }
    ASSERT_EQ(cut.of_cell.size(), of.size());
    for (std::size_t cell = 0; cell < of.size(); ++cell) EXPECT_EQ(sorted[cut.of_cell[cell]], of[cell]);
  }
}

}  // namespace
}  // namespace strobe
