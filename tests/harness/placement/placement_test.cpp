// Placements against their definition, cell by cell: who owns it, in which row, and what parts of placements keep.
#include "harness/placement/placement.hpp"

#include <gtest/gtest.h>

#include <set>

#include "core/errors.hpp"
#include "core/random.hpp"
#include "harness/placement/local_rows.hpp"
#include "harness/placement/strategy.hpp"

namespace strobe {
namespace {

constexpr std::int64_t grid_vertices = 23, grid_steps = 7;
constexpr int grid_ranks = 4;

std::vector<Rank> grid_owners(std::uint64_t seed, std::int64_t count, int least = 0) {
  const RandomStream random(seed, random_purpose::test);
  std::vector<Rank> owners;
  for (std::int64_t i = 0; i < count; ++i)
    owners.push_back(static_cast<Rank>(random.below(static_cast<std::uint64_t>(i), grid_ranks - least)) + least);
  return owners;
}

Placement drawn_by_time() { return by_time(grid_vertices, grid_owners(1, grid_steps), grid_ranks); }
Placement drawn_by_vertex() { return by_vertex(grid_owners(2, grid_vertices), grid_steps, grid_ranks); }

/// Every list of a placement as its owners say.
void expect_grid(const Placement& placement) {
  LocalRows local(placement);
  const std::vector<std::int64_t> totals = rows_of_ranks(placement);
  bool all = true;
  for (Rank rank = 0; rank < placement.ranks; ++rank) {
    const std::vector<std::int64_t> offsets = placement.row_offsets(rank);
    std::int64_t row = 0;
    for (Step t = 0; t < placement.steps(); ++t) {
      const VertexMap& map = placement.map(t);
      const std::vector<std::int64_t> positions = positions_in_owner(map, placement.vertices);
      EXPECT_EQ(offsets[t], row);
      std::vector<VertexId> owned, listed;
      for (VertexId v = 0; v < placement.vertices; ++v) {
        all = all && placement.owner(v, t) >= 0;
        if (placement.owner(v, t) != rank) continue;
        EXPECT_EQ(positions[v], static_cast<std::int64_t>(owned.size()));
        EXPECT_EQ(local.row(v, t), row++);
        owned.push_back(v);
      }
      std::int64_t after = -1;
      for (const strobe::Run& run : map.runs_of(rank)) {
        EXPECT_GT(run.first, after) << "a run that could be part of the one before";
        for (std::int64_t i = 0; i < run.count; ++i) listed.push_back(static_cast<VertexId>(run.first + i));
        after = run.first + run.count;
      }
      EXPECT_EQ(listed, owned);
      EXPECT_EQ(map.count_of(rank), static_cast<std::int64_t>(owned.size()));
      EXPECT_EQ(placement.step_rows(rank, t), map.count_of(rank));
    }
    EXPECT_EQ(offsets.back(), row);
    EXPECT_EQ(placement.rows(rank), row);
    EXPECT_EQ(totals[rank], row);
  }
  EXPECT_EQ(placement.has_all_cells(), all);
}

TEST(Placements, ListWhatTheirOwnersSay) {
  expect_grid(drawn_by_time());
  expect_grid(drawn_by_vertex());
  expect_grid(by_vertex(grid_owners(3, grid_vertices, 2), 2, grid_ranks));  // two ranks own nothing
  Placement partial = drawn_by_vertex();
  std::vector<Rank> owners = grid_owners(4, grid_vertices);
  for (std::size_t v = 0; v < owners.size(); v += 3) owners[v] = -1;
  partial.maps = {partial_vertex_map(owners, grid_ranks)};
  expect_grid(partial);
}

TEST(Placements, OwnersAreThoseThatWereGiven) {
  const std::vector<Rank> of_step = grid_owners(1, grid_steps), of_vertex = grid_owners(2, grid_vertices);
  const Placement time = drawn_by_time(), vertex = drawn_by_vertex();
  for (Step t = 0; t < grid_steps; ++t) {
    for (VertexId v = 0; v < grid_vertices; ++v) {
      EXPECT_EQ(time.owner(v, t), of_step[t]);
      EXPECT_EQ(vertex.owner(v, t), of_vertex[v]);
    }
  }
  EXPECT_EQ(time.maps.size(), std::set<Rank>(of_step.begin(), of_step.end()).size()) << "a map for each owner";
  EXPECT_FALSE(time.keeps_timelines());
  EXPECT_TRUE(vertex.keeps_timelines());
}

TEST(Placements, ASingleOwnerTakesTheRoomOfOneRank) {
  const auto map = single_owner_map(9, 2);
  EXPECT_EQ(map->owned.size(), 1u);
  EXPECT_EQ(map->owned_count, (std::vector<std::int64_t>{9}));
  EXPECT_EQ(map->count_of(2), 9);
  EXPECT_EQ(map->count_of(1), 0);
  EXPECT_TRUE(map->runs_of(1).empty());
  EXPECT_TRUE(single_owner_map(0, 2)->runs_of(2).empty());
  EXPECT_EQ(single_owner_map(1, 2)->runs_of(2).size(), 1u);
  const VertexMap nobodys;
  EXPECT_EQ(nobodys.count_of(0), 0);
  EXPECT_TRUE(nobodys.runs_of(0).empty());
}

TEST(Placements, VerticesWithoutARankAreRefused) {
  EXPECT_THROW(vertex_map({0, -1, 1}, 2), Error);
  EXPECT_THROW(vertex_map({0, 2, 1}, 2), Error);
  EXPECT_NO_THROW(vertex_map({0, 1, 1}, 2));
  EXPECT_NO_THROW(partial_vertex_map({0, -1, 1}, 2));
  EXPECT_THROW(partial_vertex_map({0, -1, 2}, 2), Error);
}

TEST(Placements, PartsKeepTheOwnersOfTheirSteps) {
  for (const Placement& placement : {drawn_by_time(), drawn_by_vertex()}) {
    const std::vector<Step> chosen = {5, 0, 5, 3};
    const Placement part = of_steps(placement, chosen);
    ASSERT_EQ(part.steps(), 4);
    EXPECT_EQ(part.ranks, placement.ranks);
    EXPECT_EQ(part.vertices, placement.vertices);
    std::set<const VertexMap*> distinct;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      EXPECT_EQ(&part.map(static_cast<Step>(i)), &placement.map(chosen[i])) << "maps are shared";
      distinct.insert(&placement.map(chosen[i]));
    }
    EXPECT_EQ(part.maps.size(), distinct.size()) << "no map that no step has";
  }
  EXPECT_EQ(step_range(3, 4), (std::vector<Step>{3, 4, 5, 6}));
}

TEST(Placements, MissingCellsBecomeNobodysAndOthersKeepTheirOwner) {
  std::vector<std::int32_t> begins(grid_vertices * grid_steps, 0);  // all exist at steps 0 and 3
  for (std::size_t cell = 0; cell < begins.size(); ++cell) {
    const std::size_t t = cell / grid_vertices;
    if (t != 0 && t != 3 && cell % 4 == 1) begins[cell] = -1;
  }
  const Presence presence(grid_vertices, begins);
  const Placement before_spatial = drawn_by_time(), before_temporal = drawn_by_vertex();
  Placement spatial = before_spatial, temporal = before_temporal, one = before_temporal, same = before_temporal;
  leave_out_missing(presence, spatial, temporal);
  leave_out_missing(presence, one, same);
  for (Step t = 0; t < grid_steps; ++t) {
    for (VertexId v = 0; v < grid_vertices; ++v) {
      EXPECT_EQ(spatial.owner(v, t), presence.exists(v, t) ? before_spatial.owner(v, t) : -1);
      EXPECT_EQ(temporal.owner(v, t), presence.exists(v, t) ? before_temporal.owner(v, t) : -1);
    }
    EXPECT_EQ(&one.map(t), &same.map(t)) << "a map that both have stays one";
    EXPECT_EQ(&temporal.map(t) == &before_temporal.map(t), t == 0 || t == 3) << "where nothing is missing";
  }
  EXPECT_EQ(temporal.maps.size(), 1u + grid_steps - 2);
  expect_grid(spatial);
  expect_grid(temporal);
}

TEST(Placements, SharesAreEvenAndFollowEachOther) {
  EXPECT_EQ(contiguous_owners(7, 3), (std::vector<Rank>{0, 0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(contiguous_owners(2, 4), (std::vector<Rank>{0, 1}));
  EXPECT_TRUE(contiguous_owners(0, 4).empty());
  const std::vector<strobe::Run> blocks = even_blocks(7, 2);
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0].count + blocks[1].count, 7);
  EXPECT_EQ(blocks[1].first, blocks[0].count);
  EXPECT_EQ(step_owners({{0, 4}, {4, 3}}, 2), (std::vector<Rank>{0, 0, 1, 1, 0, 0, 1}));
}

TEST(Placements, TooFewItemsOrStepsForTheRanksAreRefused) {
  const auto place_of = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const InvalidRequest& refusal) {
      return refusal.where();
    }
    return "accepted";
  };
  EXPECT_EQ(place_of([] { require_at_least(3, 4, "steps", "snapshot"); }), "/ranks");
  EXPECT_EQ(place_of([] { require_at_least(4, 4, "steps", "snapshot"); }), "accepted");
  EXPECT_EQ(place_of([] { require_steps({{0, 3}}, 4, "snapshot"); }), "/ranks") << "one block: no fewer would help";
  EXPECT_EQ(place_of([] { require_steps({{0, 4}}, 4, "snapshot"); }), "accepted");
  EXPECT_EQ(place_of([] { require_steps({{0, 4}, {4, 3}}, 4, "snapshot"); }), "/nb");
  EXPECT_EQ(place_of([] { require_steps({{0, 3}, {3, 4}}, 4, "snapshot"); }), "/nb");
  EXPECT_EQ(place_of([] { require_steps({{0, 4}, {4, 4}}, 4, "snapshot"); }), "accepted");
}

}  // namespace
}  // namespace strobe
