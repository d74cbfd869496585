// Compares lists of peers with arrays of one number for each rank.
#include "backends/peer_list.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "core/errors.hpp"
#include "core/random.hpp"

namespace strobe {
namespace {

/// Consecutive row ranges of `ranks` ranks, from `first` on. Many lengths are 0 or equal to that of the rank before.
std::vector<PeerRows> random_peer_rows(std::uint64_t seed, int ranks, std::int64_t first) {
  const RandomStream random(seed, random_purpose::test);
  std::vector<PeerRows> rows;
  for (int q = 0; q < ranks; ++q) {
    const std::int64_t draw = random.below(static_cast<std::uint64_t>(q / 2), 4);
    rows.push_back({first, draw});
    first += draw;
  }
  return rows;
}

TEST(PeerList, AnswersAsOneNumberForEachRankDoes) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const int ranks = 1 + static_cast<int>(seed * 3 % 29);
    const std::vector<PeerRows> rows = random_peer_rows(seed, ranks, seed % 2 == 0 ? 0 : 7);
    const SharedPeers peers = listed_peers(rows);
    for (int a = 0; a <= ranks; ++a) {
      for (int b = a; b <= ranks; ++b) {
        const std::int64_t expected =
            std::accumulate(rows.begin() + a, rows.begin() + b, std::int64_t{0},
                            [](std::int64_t sum, const PeerRows& peer) { return sum + peer.count; });
        ASSERT_EQ(peers->rows_between(a, b), expected) << "seed " << seed << ", ranks " << a << " to " << b;
      }
    }
    PeerTotals totals;
    std::array<std::uint64_t, 2> weighted{};
    for (int q = 0; q < ranks; ++q) {
      const PeerRows& peer = rows[q];
      if (peer.count == 0) continue;
      ++totals.peers;
      totals.rows += peer.count;
      totals.end_peer = q + 1;
      totals.end_row = peer.first + peer.count;
      totals.most_rows = std::max(totals.most_rows, peer.count);
      totals.least_rows = totals.peers == 1 ? peer.count : std::min(totals.least_rows, peer.count);
      weighted[0] += static_cast<std::uint64_t>(peer.count) * rank_weight(q, q + 1, PeerRole::sender);
      weighted[1] += static_cast<std::uint64_t>(peer.count) * rank_weight(q, q + 1, PeerRole::receiver);
    }
    EXPECT_EQ(peers->totals().rows, totals.rows);
    EXPECT_EQ(peers->totals().peers, totals.peers);
    EXPECT_EQ(peers->totals().end_peer, totals.end_peer);
    EXPECT_EQ(peers->totals().end_row, totals.end_row);
    EXPECT_EQ(peers->totals().most_rows, totals.most_rows);
    EXPECT_EQ(peers->totals().least_rows, totals.least_rows);
    EXPECT_EQ(peers->totals().weighted, weighted);
    EXPECT_EQ(peers->totals().packed, seed % 2 == 0 || totals.peers == 0);
  }
}

TEST(PeerList, WeighsListsThatDifferOtherwise) {
  // Rows moved from one peer to another, all pairs of ranks: sums alone are equal.
  const int ranks = 24;
  const std::vector<PeerRows> even(ranks, PeerRows{0, 2});
  const PeerTotals before = listed_peers(even)->totals();
  for (std::size_t a = 0; a < even.size(); ++a) {
    for (std::size_t b = 0; b < even.size(); ++b) {
      if (a == b) continue;
      std::vector<PeerRows> rows = even;
      ++rows[a].count;
      --rows[b].count;
      const SharedPeers moved = listed_peers(rows);
      EXPECT_EQ(moved->totals().rows, before.rows);
      for (const PeerRole role : {PeerRole::sender, PeerRole::receiver})
        EXPECT_NE(moved->totals().weighted_as(role), before.weighted_as(role)) << a << " and " << b;
    }
  }
}

TEST(PeerList, RefusesEntriesOutOfOrderAndWithoutRows) {
  EXPECT_THROW(listed_peers(PeerParts{{0, 1, 3, 1}, {1, 1, 2, 1}}), Error);
  EXPECT_THROW(listed_peers(PeerParts{{0, 1, 3, 2}, {2, 1, 4, 1}}), Error);
  EXPECT_THROW(listed_peers(PeerParts{{0, 0, 3, 1}}), Error);
  EXPECT_THROW(listed_peers(PeerParts{{-1, 1, 3, 1}}), Error);
  EXPECT_THROW(listed_peers(PeerParts{{0, 1, 3, 0}}), Error);
  EXPECT_EQ(listed_peers(PeerParts{})->totals().rows, 0);
}

}  // namespace
}  // namespace strobe
