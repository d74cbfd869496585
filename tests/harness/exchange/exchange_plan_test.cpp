// Exchange plans against a cell-by-cell judge: every cell of the target placement must come from its owner, once.
#include "harness/exchange/exchange_plan.hpp"

#include <gtest/gtest.h>

#include <set>

#include "core/random.hpp"

namespace strobe {
namespace {

/// The cells of a rank in local order, as (step, vertex).
std::vector<std::pair<Step, VertexId>> cells(const Placement& placement, Rank rank) {
  std::vector<std::pair<Step, VertexId>> result;
  for (Step t = 0; t < placement.steps(); ++t) {
    for (VertexId v = 0; v < placement.vertices; ++v) {
      if (placement.owner(v, t) == rank) result.emplace_back(t, v);
    }
  }
  return result;
}

using Cells = std::vector<std::pair<Step, VertexId>>;

void apply_moves(const std::vector<RowMove>& moves, const Cells& from, Cells& to) {
  for (const RowMove& move : moves) {
    for (std::int64_t i = 0; i < move.rows; ++i) {
      to[static_cast<std::size_t>(move.to + i)] = from[static_cast<std::size_t>(move.from + i)];
    }
  }
}

/// Carries cell names through the plan's lists as a communicator would, and returns each rank's output cells.
std::vector<Cells> carry(const ExchangePlan& plan, const Placement& from) {
  const auto ranks = plan.ranks.size();
  std::vector<Cells> inputs, outputs(ranks);
  std::vector<std::vector<Cells>> wire(ranks);
  for (std::size_t r = 0; r < ranks; ++r) {
    inputs.push_back(cells(from, static_cast<Rank>(r)));
    const RankExchange& side = plan.ranks[r];
    EXPECT_EQ(side.input_rows, static_cast<std::int64_t>(inputs[r].size()));
    Cells buffer(static_cast<std::size_t>(side.send_total));
    apply_moves(side.pack, inputs[r], buffer);
    std::int64_t next = 0;
    for (std::size_t q = 0; q < ranks; ++q) {
      wire[r].emplace_back(buffer.begin() + next, buffer.begin() + next + side.send_count[q]);
      next += side.send_count[q];
    }
  }
  for (std::size_t r = 0; r < ranks; ++r) {
    const RankExchange& side = plan.ranks[r];
    outputs[r].assign(static_cast<std::size_t>(side.output_rows), {-1, -1});
    apply_moves(side.keep, inputs[r], outputs[r]);
    Cells buffer;
    for (std::size_t q = 0; q < ranks; ++q) {
      EXPECT_EQ(static_cast<std::int64_t>(wire[q][r].size()), side.receive_count[q]);
      buffer.insert(buffer.end(), wire[q][r].begin(), wire[q][r].end());
    }
    apply_moves(side.unpack, buffer, outputs[r]);
  }
  return outputs;
}

Placement scattered(std::int64_t vertices, std::int64_t steps, int ranks, std::uint32_t key) {
  std::vector<Rank> owner;
  const RandomStream random(3, random_purpose::test, key);
  for (std::int64_t v = 0; v < vertices; ++v) {
    owner.push_back(static_cast<Rank>(random.below(static_cast<std::uint64_t>(v), static_cast<std::uint64_t>(ranks))));
  }
  return by_vertex(std::move(owner), steps, ranks);
}

/// A different vertex map at every step: what a chunk placement looks like.
Placement by_cell(std::int64_t vertices, std::int64_t steps, int ranks) {
  Placement placement = scattered(vertices, 0, ranks, 0);
  placement.maps.clear();
  for (Step t = 0; t < steps; ++t) {
    placement.maps.push_back(scattered(vertices, 1, ranks, static_cast<std::uint32_t>(t) + 10).maps.front());
    placement.map_of_step.push_back(t);
  }
  return placement;
}

class Redistribution : public testing::TestWithParam<int> {};

TEST_P(Redistribution, MovesEveryCellFromOwnerToOwner) {
  const int ranks = GetParam();
  const std::int64_t vertices = 23, steps = 11;
  const std::vector<Placement> placements = {by_time(vertices, contiguous_owners(steps, ranks), ranks),
                                             by_vertex(contiguous_owners(vertices, ranks), steps, ranks),
                                             scattered(vertices, steps, ranks, 1), by_cell(vertices, steps, ranks)};
  for (std::size_t a = 0; a < placements.size(); ++a) {
    for (std::size_t b = 0; b < placements.size(); ++b) {
      const ExchangePlan plan = redistribute(placements[a], placements[b], {});
      const auto outputs = carry(plan, placements[a]);
      for (Rank r = 0; r < ranks; ++r) {
        EXPECT_EQ(outputs[static_cast<std::size_t>(r)], cells(placements[b], r)) << a << " to " << b << " on " << r;
      }
      EXPECT_TRUE(a != b || plan.identity);
      const ExchangePlan counts = redistribute(placements[a], placements[b], {ListScope::Kind::none, 0});
      EXPECT_EQ(counts.total_rows(), plan.total_rows());
      for (Rank r = 0; r < ranks; ++r) {
        const RankExchange& with = plan.ranks[static_cast<std::size_t>(r)];
        const RankExchange& without = counts.ranks[static_cast<std::size_t>(r)];
        EXPECT_EQ(with.pack_moves, without.pack_moves);
        EXPECT_EQ(with.unpack_moves, without.unpack_moves);
        EXPECT_EQ(with.send_in_place, without.send_in_place);
        EXPECT_EQ(static_cast<std::int64_t>(with.keep.size()), with.keep_moves);
        EXPECT_EQ(static_cast<std::int64_t>(with.pack.size()), with.pack_moves);
        EXPECT_EQ(static_cast<std::int64_t>(with.unpack.size()), with.unpack_moves);
        EXPECT_TRUE(without.pack.empty() && without.keep.empty());
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
    EXPECT_TRUE(rank.send_in_place);
    EXPECT_FALSE(rank.receive_in_place);
  }
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
          needs.vertices[static_cast<std::size_t>(r)][static_cast<std::size_t>(t)].push_back(v);
        }
      }
    }
  }
  const ExchangePlan plan = halo(placement, needs, {});
  EXPECT_TRUE(plan.fan_out);
  const auto outputs = carry(plan, placement);
  for (Rank r = 0; r < ranks; ++r) {
    auto expected = cells(placement, r);
    for (Step t = 0; t < 5; ++t) {
      for (const VertexId v : needs.vertices[static_cast<std::size_t>(r)][static_cast<std::size_t>(t)])
        expected.emplace_back(t, v);
    }
    EXPECT_EQ(outputs[static_cast<std::size_t>(r)], expected);
  }
}

TEST(Halo, TouchingRunsOfTwoPeersStayApart) {
  // Rank 0 owns vertices 0 to 3 of one step; rank 1 reads 0 and 1, rank 2 reads 2 and 3.
  const Placement placement = by_vertex({0, 0, 0, 0, 1, 2}, 1, 3);
  HaloNeeds needs;
  needs.vertices = {{{}}, {{0, 1}}, {{2, 3}}};
  const ExchangePlan plan = halo(placement, needs, {});
  EXPECT_EQ(plan.ranks[0].pack_moves, 2);
  EXPECT_EQ(plan.ranks[0].pack.size(), 2u);
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
  EXPECT_TRUE(needs.vertices[1][0].empty());
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
    EXPECT_EQ(rank.receive_total, 12);
    EXPECT_EQ(rank.unpack_moves, 4) << "two peers, two steps";
  }
}

}  // namespace
}  // namespace strobe
