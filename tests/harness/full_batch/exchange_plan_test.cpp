// Exchange plans, compared cell by cell: every cell of the target placement must come from its owner, once.
#include "harness/full_batch/exchange/exchange_plan.hpp"

#include <gtest/gtest.h>

#include "core/random.hpp"
#include "tests/harness/fakes.hpp"

namespace strobe {
namespace {

using test::cells;

/// Each rank's output cells when `plan` carries the cells of `from`.
std::vector<test::Cells> carried(const ExchangePlan& plan, const Placement& from) {
  std::vector<test::Cells> inputs;
  for (Rank r = 0; r < from.ranks; ++r) {
    inputs.push_back(cells(from, r));
    EXPECT_EQ(plan.of(r).input_rows, static_cast<std::int64_t>(inputs.back().size()));
  }
  return test::carry(plan, inputs);
}

Placement scattered(std::int64_t vertices, std::int64_t steps, int ranks, std::uint32_t key) {
  std::vector<Rank> owner;
  const RandomStream random(3, random_purpose::test, key);
  for (std::int64_t v = 0; v < vertices; ++v) {
    owner.push_back(static_cast<Rank>(random.below(static_cast<std::uint64_t>(v), static_cast<std::uint64_t>(ranks))));
  }
  return by_vertex(std::move(owner), steps, ranks);
}

/// A different vertex map at every step, as in a chunk placement.
Placement by_cell(std::int64_t vertices, std::int64_t steps, int ranks) {
  Placement placement = scattered(vertices, 0, ranks, 0);
  placement.maps.clear();
  for (Step t = 0; t < steps; ++t) {
    placement.maps.push_back(scattered(vertices, 1, ranks, static_cast<std::uint32_t>(t) + 10).maps.front());
    placement.map_of_step.push_back(t);
  }
  return placement;
}

/// Steps given to ranks in turn, so that no rank has two consecutive steps.
Placement in_turn(std::int64_t vertices, std::int64_t steps, int ranks) {
  std::vector<Rank> owner;
  for (std::int64_t t = 0; t < steps; ++t) owner.push_back(static_cast<Rank>(t % ranks));
  return by_time(vertices, owner, ranks);
}

/// Whole steps of one owner between steps that ranks share.
Placement steps_and_cells(std::int64_t vertices, std::int64_t steps, int ranks) {
  Placement placement = by_cell(vertices, steps, ranks);
  for (Step t = 0; t < steps; t += 3) {
    placement.maps[t] = single_owner_map(vertices, static_cast<Rank>(t % ranks));
  }
  return placement;
}

void expect_same_plan(const ExchangePlan& a, const ExchangePlan& b) {
  EXPECT_EQ(a.identity, b.identity);
  EXPECT_EQ(a.total_rows(), b.total_rows());
  EXPECT_TRUE(a.ranks == b.ranks);
}

class Redistribution : public testing::TestWithParam<int> {};

TEST_P(Redistribution, MovesEveryCellFromOwnerToOwner) {
  const int ranks = GetParam();
  const std::int64_t vertices = 23, steps = 11;
  const std::vector<Placement> placements = {by_time(vertices, contiguous_owners(steps, ranks), ranks),
                                             by_vertex(contiguous_owners(vertices, ranks), steps, ranks),
                                             scattered(vertices, steps, ranks, 1),
                                             by_cell(vertices, steps, ranks),
                                             in_turn(vertices, steps, ranks),
                                             steps_and_cells(vertices, steps, ranks)};
  for (std::size_t a = 0; a < placements.size(); ++a) {
    for (std::size_t b = 0; b < placements.size(); ++b) {
      const ExchangePlan plan = redistribute(placements[a], placements[b], {});
      const auto outputs = carried(plan, placements[a]);
      for (Rank r = 0; r < ranks; ++r) {
        EXPECT_EQ(outputs[r], cells(placements[b], r)) << a << " to " << b << " on " << r;
      }
      EXPECT_TRUE(a != b || plan.identity);
      expect_same_plan(redistribute(placements[b], placements[a], {}), reversed(plan));
      const ExchangePlan counts = redistribute(placements[a], placements[b], {ListScope::Kind::none, 0});
      EXPECT_EQ(counts.total_rows(), plan.total_rows());
      for (Rank r = 0; r < ranks; ++r) {
        const RankExchange &with = plan.of(r), &without = counts.of(r);
        EXPECT_EQ(with.send.moves, without.send.moves);
        EXPECT_EQ(with.receive.moves, without.receive.moves);
        EXPECT_EQ(with.send.in_place, without.send.in_place);
        EXPECT_EQ(with.send.parts(), without.send.parts());
        EXPECT_EQ(with.receive.parts(), without.receive.parts());
        EXPECT_EQ(static_cast<std::int64_t>(with.keep.size()), with.keep_moves);
        EXPECT_EQ(static_cast<std::int64_t>(with.send.list.size()), with.send.moves);
        EXPECT_EQ(static_cast<std::int64_t>(with.receive.list.size()), with.receive.moves);
        EXPECT_TRUE(without.send.list.empty() && without.keep.empty());
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Redistribution, testing::Values(1, 2, 3, 4, 7), testing::PrintToStringParamName());

TEST(Redistribution, SnapshotVolumeIsThePapersFormula) {
  for (const int ranks : {1, 2, 4, 8}) {
    const std::int64_t vertices = 64, steps = 16;  // divisible: T N (P - 1) / P rows exactly (ESDG section 4.2)
    const ExchangePlan plan = redistribute(by_time(vertices, contiguous_owners(steps, ranks), ranks),
                                           by_vertex(contiguous_owners(vertices, ranks), steps, ranks), {});
    EXPECT_EQ(plan.total_rows() * ranks, vertices * steps * (ranks - 1));
  }
}

TEST(Redistribution, BackToSnapshotsIsSentInPlace) {
  const Placement time = by_time(40, contiguous_owners(12, 4), 4), vertex = by_vertex(contiguous_owners(40, 4), 12, 4);
  const ExchangePlan back = redistribute(vertex, time, {});
  for (const RankExchange& rank : back.ranks) {
    EXPECT_TRUE(rank.send.in_place);
    EXPECT_FALSE(rank.receive.in_place);
  }
}

TEST(Redistribution, OfManyRanksListsAFewParts) {
  // Neither 1000 vertices nor 600 steps divide evenly: counts change once, and own rows split a list.
  const int ranks = 64;
  const ExchangePlan plan = redistribute(by_time(1000, contiguous_owners(600, ranks), ranks),
                                         by_vertex(contiguous_owners(1000, ranks), 600, ranks), {});
  for (const RankExchange& rank : plan.ranks) {
    EXPECT_LE(rank.send.parts().size(), 3u);
    EXPECT_LE(rank.receive.parts().size(), 3u);
    for (Rank q = 0; q < ranks; ++q) {
      const std::int64_t rows = even_share(600, ranks, rank.rank).count * even_share(1000, ranks, q).count;
      EXPECT_EQ(plan.rows(rank.rank, q), q == rank.rank ? 0 : rows);
    }
  }
}

TEST(Redistribution, BetweenTwoOfManyRanksListsThose) {
  const int ranks = 500;
  const ExchangePlan plan = redistribute(by_time(9, {3}, ranks), by_time(9, {411}, ranks), {});
  ASSERT_EQ(plan.ranks.size(), 2u);
  EXPECT_EQ(plan.rows(3, 411), 9);
  EXPECT_EQ(plan.of(7).send.total + plan.of(7).input_rows, 0);
  EXPECT_FALSE(plan.identity);
}

TEST(Halo, OwnRowsThenNeededCellsInStepOrder) {
  const int ranks = 3;
  const Placement placement = scattered(17, 5, ranks, 7);
  HaloNeeds needs;
  needs.vertices.assign(3, std::vector<std::vector<VertexId>>(5));
  const RandomStream random(5, random_purpose::test);
  std::uint64_t draw = 0;
  for (Rank r = 0; r < ranks; ++r) {
    for (Step t = 0; t < 5; ++t) {
      for (VertexId v = 0; v < 17; ++v) {
        if (placement.owner(v, t) != r && random.below(draw++, 3) == 0) {
          needs.vertices[r][t].push_back(v);
        }
      }
    }
  }
  const ExchangePlan plan = halo(placement, needs, {});
  EXPECT_TRUE(plan.fan_out);
  const auto outputs = carried(plan, placement);
  for (Rank r = 0; r < ranks; ++r) {
    auto expected = cells(placement, r);
    for (Step t = 0; t < 5; ++t) {
      for (const VertexId v : needs.vertices[r][t]) expected.emplace_back(t, v);
    }
    EXPECT_EQ(outputs[r], expected);
  }
}

TEST(Halo, TouchingRunsOfTwoPeersStayApart) {
  // Rank 0 owns vertices 0 to 3 of one step; rank 1 reads 0 and 1, rank 2 reads 2 and 3.
  const Placement placement = by_vertex({0, 0, 0, 0, 1, 2}, 1, 3);
  HaloNeeds needs;
  needs.vertices = {{{}}, {{0, 1}}, {{2, 3}}};
  const ExchangePlan plan = halo(placement, needs, {});
  EXPECT_EQ(plan.of(0).send.moves, 2);
  EXPECT_EQ(plan.of(0).send.list.size(), 2u);
}

TEST(Halo, NothingNeededIsIdentity) {
  HaloNeeds needs;
  needs.vertices.assign(2, std::vector<std::vector<VertexId>>(4));
  EXPECT_TRUE(halo(by_time(9, contiguous_owners(4, 2), 2), needs, {}).identity);
}

TEST(SpatialNeeds, AreTheNeighboursOnOtherRanks) {
  PreparedGraph graph;
  graph.vertices = 4;
  graph.steps = 1;
  graph.row_offsets = {0, 2, 3, 3, 5};
  graph.columns = {1, 3, 0, 2, 3};
  const Placement placement = by_vertex({0, 0, 1, 1}, 1, 2);
  const HaloNeeds needs = spatial_needs(placement, graph);
  EXPECT_EQ(needs.vertices[0][0], (std::vector<VertexId>{3}));
  EXPECT_TRUE(needs.of(1, 0).empty());
}

TEST(SpatialNeeds, OfOnePeerAndStepArriveAsOneRun) {
  // Every vertex reads every vertex, whose owners alternate: three ranks, two steps.
  PreparedGraph graph;
  graph.vertices = 9;
  graph.steps = 2;
  for (std::int64_t row = 0; row <= 18; ++row) graph.row_offsets.push_back(9 * row);
  for (std::int64_t e = 0; e < 162; ++e) graph.columns.push_back(static_cast<VertexId>(e % 9));
  const Placement placement = by_vertex({0, 1, 2, 0, 1, 2, 0, 1, 2}, 2, 3);
  const HaloNeeds needs = spatial_needs(placement, graph);
  EXPECT_EQ(needs.vertices[0][1], (std::vector<VertexId>{1, 4, 7, 2, 5, 8}));
  for (const RankExchange& rank : halo(placement, needs, {}).ranks) {
    EXPECT_EQ(rank.receive.total, 12);
    EXPECT_EQ(rank.receive.moves, 4) << "two peers, two steps";
  }
}

}  // namespace
}  // namespace strobe
