// Halos that a formula splits among owners, compared with a split made rank by rank and step by step, and with the laws
// of every split.
#include "harness/full_batch/exchange/dealt_peers.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/random.hpp"
#include "harness/full_batch/exchange/counted_halo.hpp"

namespace strobe {
namespace {

using DealtMatrix = std::vector<std::vector<std::int64_t>>;  // [sender][receiver]

/// Some steps share maps, some have a single owner, and some ranks may own nothing.
Placement drawn_placement(const RandomStream& random, int ranks) {
  const std::int64_t vertices = 40;
  Placement placement;
  placement.ranks = ranks;
  placement.vertices = vertices;
  std::uint64_t draw = 1000;
  for (int m = 0; m < 3; ++m) {
    std::vector<Rank> owner;
    for (std::int64_t v = 0; v < vertices; ++v)
      owner.push_back(static_cast<Rank>(random.below(draw++, static_cast<std::uint64_t>(ranks - (m == 1 ? 1 : 0)))));
    placement.maps.push_back(vertex_map(owner, ranks));
  }
  placement.maps.push_back(single_owner_map(vertices, 0));
  for (int t = 0; t < 7; ++t) placement.map_of_step.push_back(static_cast<std::int32_t>(random.below(draw++, 4)));
  return placement;
}

HaloNeeds drawn_needs(const RandomStream& random, const Placement& placement, std::uint64_t most) {
  HaloNeeds needs = no_needs(placement.ranks, placement.steps(), true);
  std::uint64_t draw = 0;
  for (Rank r = 0; r < placement.ranks; ++r) {
    if (r % 5 == 3) continue;  // reads nothing
    for (Step t = 0; t < placement.steps(); ++t) {
      if (placement.map(t).single < 0) needs.count_at(r, t) = static_cast<std::int64_t>(random.below(draw++, most));
    }
  }
  return needs;
}

/// Rows from each owner, computed owner by owner after the reader, from the rounded share of all owners so far.
DealtMatrix split_one_by_one(const Placement& placement, const HaloNeeds& needs) {
  const std::size_t ranks = placement.ranks;
  DealtMatrix rows(ranks, std::vector<std::int64_t>(ranks, 0));
  for (std::size_t reader = 0; reader < ranks; ++reader) {
    for (std::size_t m = 0; m < placement.maps.size(); ++m) {
      std::int64_t wanted = 0, others = 0, given = 0, seen = 0;
      for (Step t = 0; t < placement.steps() && !needs.counted[reader].empty(); ++t)
        if (placement.map_of_step[t] == static_cast<std::int32_t>(m)) wanted += needs.counted[reader][t];
      for (std::size_t q = 0; q < ranks; ++q)
        others += q == reader ? 0 : placement.maps[m]->count_of(static_cast<Rank>(q));
      for (std::size_t i = 1; i < ranks && others > 0; ++i) {
        const std::size_t owner = (reader + i) % ranks;
        seen += placement.maps[m]->count_of(static_cast<Rank>(owner));
        const std::int64_t until =
            std::llround(static_cast<double>(wanted) * static_cast<double>(seen) / static_cast<double>(others));
        rows[owner][reader] += until - given;
        given = until;
      }
    }
  }
  return rows;
}

void expect_totals_of_parts(const PeerList& peers) {
  PeerTotals expected;
  for (const PeerPart& part : peers.parts()) expected.add(part);
  EXPECT_EQ(peers.totals().rows, expected.rows);
  EXPECT_EQ(peers.totals().peers, expected.peers);
  EXPECT_EQ(peers.totals().most_rows, expected.most_rows);
  EXPECT_EQ(peers.totals().least_rows, expected.least_rows);
  EXPECT_EQ(peers.totals().end_row, expected.end_row);
  EXPECT_EQ(peers.totals().end_peer, expected.end_peer);
  EXPECT_EQ(peers.totals().packed, expected.packed);
  EXPECT_EQ(peers.totals().weighted, expected.weighted);
}

TEST(DealtPeers, AreTheSplitThatIsMadeOneByOne) {
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    const RandomStream random(seed, random_purpose::test);
    const int ranks = 2 + static_cast<int>(seed % 12);
    const Placement placement = drawn_placement(random, ranks);
    const HaloNeeds needs = drawn_needs(random, placement, seed % 3 == 0 ? 3 : 200);
    const DealtMatrix expected = split_one_by_one(placement, needs);
    const ExchangePlan plan = counted_halo(placement, needs);
    for (Rank p = 0; p < ranks; ++p) {
      const PeerList &send = *plan.of(p).send.peers, &receive = *plan.of(p).receive.peers;
      std::int64_t sent = 0;
      for (Rank q = 0; q < ranks; ++q) {
        const auto from = static_cast<std::size_t>(p), to = static_cast<std::size_t>(q);
        EXPECT_EQ(plan.rows(p, q), expected[from][to]) << "seed " << seed << ", " << p << " to " << q;
        EXPECT_EQ(receive.rows_between(q, q + 1), expected[to][from]) << "seed " << seed << ", " << q << " to " << p;
        sent += expected[from][to];
        EXPECT_EQ(send.rows_between(0, q + 1), sent);
        EXPECT_EQ(receive.rows_between(q, ranks) + receive.rows_between(0, q), plan.of(p).receive.total);
      }
      EXPECT_EQ(plan.of(p).send.total, sent);
      expect_totals_of_parts(send);
      expect_totals_of_parts(receive);
    }
  }
}

TEST(DealtPeers, BringWhatIsNeededAndNoOwnerIsOffItsShareByMoreThanARow) {
  const RandomStream random(5, random_purpose::test);
  const int ranks = 9;
  Placement placement = drawn_placement(random, ranks);
  placement.map_of_step.assign(7, 0);  // one map
  const HaloNeeds needs = drawn_needs(random, placement, 500);
  const ExchangePlan plan = counted_halo(placement, needs);
  for (Rank reader = 0; reader < ranks; ++reader) {
    std::int64_t wanted = 0;
    for (const std::int64_t rows : needs.counted[reader]) wanted += rows;
    EXPECT_EQ(plan.of(reader).receive.total, wanted);
    const std::int64_t others = placement.vertices - placement.maps[0]->count_of(reader);
    for (Rank owner = 0; owner < ranks; ++owner) {
      if (owner == reader) continue;
      const double share = static_cast<double>(wanted) * static_cast<double>(placement.maps[0]->count_of(owner)) /
                           static_cast<double>(others);
      EXPECT_LE(std::abs(static_cast<double>(plan.rows(owner, reader)) - share), 1.0);
    }
  }
}

TEST(DealtPeers, ListsHaveTheRunsThatAreExpected) {
  // Ranks own 10, 20 and 30 vertices at each of four steps.
  std::vector<Rank> owner(10, 0);
  owner.insert(owner.end(), 20, 1);
  owner.insert(owner.end(), 30, 2);
  const Placement placement = by_vertex(owner, 4, 3);
  HaloNeeds needs = no_needs(3, 4, true);
  needs.count_at(0, 1) = 12, needs.count_at(2, 3) = 2;
  const ExchangePlan plan = counted_halo(placement, needs);
  EXPECT_EQ(plan.rows(1, 0), 5) << "two fifths of twelve";
  EXPECT_EQ(plan.rows(2, 0), 7);
  EXPECT_EQ(plan.of(0).send.moves, 1);
  EXPECT_EQ(plan.of(1).send.moves, 5 + 1) << "5 of 80 rows are hardly ever neighbours; a single one is a run";
  EXPECT_EQ(plan.of(2).send.moves, 7);
  EXPECT_EQ(plan.of(0).receive.moves, 4 + 4) << "at most one run for each step and peer";
  EXPECT_EQ(plan.of(2).receive.moves, 1 + 1);
  EXPECT_FALSE(plan.of(0).receive.in_place);
  EXPECT_TRUE(plan.of(2).receive.in_place) << "one row from each peer";
  EXPECT_TRUE(plan.of(0).send.in_place);
  EXPECT_FALSE(plan.of(2).send.in_place);

  HaloNeeds of_two = no_needs(2, 4, true);
  of_two.count_at(0, 0) = 12;
  const ExchangePlan pair = counted_halo(by_vertex(contiguous_owners(60, 2), 4, 2), of_two);
  EXPECT_EQ(pair.of(0).receive.moves, 1);
  EXPECT_TRUE(pair.of(0).receive.in_place) << "from the only peer";
  EXPECT_EQ(pair.of(1).send.moves, 11) << "a tenth of 120 rows: one of ten is a neighbour";
}

TEST(DealtPeers, OfManyRanksAreEntriesOnlyWhereTheyAreAskedFor) {
  // Each of four thousand ranks reads from each other one. The test reads only a few of these 16 million pairs.
  const int ranks = 4096;
  const Placement placement = by_vertex(contiguous_owners(3 * ranks + 5, ranks), 2, ranks);
  HaloNeeds needs = no_needs(ranks, 2, true);
  for (Rank r = 0; r < ranks; ++r) needs.count_at(r, 1) = 7 * ranks + r % 3;
  const auto dealt = std::make_shared<const DealtRows>(placement, needs);
  const SharedPeers last = dealt_peers(dealt, ranks - 1, PeerRole::receiver, {});
  std::int64_t sum = 0;
  for (const PeerPart& part : last->parts()) sum += part.count * part.peers;
  EXPECT_EQ(sum, needs.counted.back()[1]);
  EXPECT_EQ(dealt->rows_between(0, 0, ranks), needs.counted[0][1]);
  EXPECT_EQ(dealt->rows_between(17, 3, 4000), dealt->rows_between(17, 3, 17) + dealt->rows_between(17, 17, 4000));
}

}  // namespace
}  // namespace strobe
