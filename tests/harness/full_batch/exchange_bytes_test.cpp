// The predicted memory of exchanges, compared with the lists of plans, and the refusal of plans that do not fit.
#include "harness/full_batch/exchange/exchange_bytes.hpp"

#include <gtest/gtest.h>

#include "core/random.hpp"
#include "harness/full_batch/exchange/exchange.hpp"
#include "harness/full_batch/exchange/exchange_plan.hpp"
#include "harness/full_batch/exchange/state_handover.hpp"

namespace strobe {
namespace {

constexpr ListScope counts_only{ListScope::Kind::none, 0};

double list_bytes(const ExchangePlan& plan) {
  double bytes = static_cast<double>(plan.ranks.size()) * sizeof(RankExchange);
  for (const RankExchange& rank : plan.ranks) {
    bytes += static_cast<double>(rank.send.parts().size() + rank.receive.parts().size()) * sizeof(PeerPart);
  }
  return bytes;
}

Placement hashed(std::int64_t vertices, std::int64_t steps, int ranks) {
  std::vector<Rank> owner;
  const RandomStream random(2, random_purpose::test);
  for (std::int64_t v = 0; v < vertices; ++v) {
    owner.push_back(static_cast<Rank>(random.below(static_cast<std::uint64_t>(v), static_cast<std::uint64_t>(ranks))));
  }
  return by_vertex(std::move(owner), steps, ranks);
}

double bytes_of(const Placement& spatial, const Placement& temporal, std::int64_t blocks, TemporalNeed need) {
  LayerShape layer;
  layer.need = need;
  std::vector<strobe::Run> runs;
  for (std::int64_t b = 0; b < blocks; ++b) runs.push_back(even_share(spatial.steps(), blocks, b));
  return exchange_bytes({spatial, temporal, runs, {layer}, 1e300});
}

TEST(ExchangeBytes, IsNoLessThanTheListsThatAreMade) {
  const int ranks = 24;
  const std::int64_t vertices = 500, steps = 60;
  const Placement time = by_time(vertices, contiguous_owners(steps, ranks), ranks);
  for (const Placement& other :
       {by_vertex(contiguous_owners(vertices, ranks), steps, ranks), hashed(vertices, steps, ranks), time}) {
    const ExchangePlan there = redistribute(time, other, counts_only);
    EXPECT_GE(bytes_of(time, other, 1, TemporalNeed::none), 2 * list_bytes(there));
    // The prediction is not much larger. Besides lists, each of a few exchanges has a few hundred bytes.
    EXPECT_LE(bytes_of(time, other, 1, TemporalNeed::none), 8 * list_bytes(there) + 24 * 5 * 4000);
  }
  const Placement spread = hashed(vertices, steps, ranks),
                  ranges = by_vertex(contiguous_owners(vertices, ranks), steps, ranks);
  EXPECT_GE(bytes_of(spread, ranges, 1, TemporalNeed::none), 2 * list_bytes(redistribute(spread, ranges, counts_only)));
}

TEST(ExchangeBytes, CountsHandOversOfLayersThatRemember) {
  const Placement time = by_time(50, contiguous_owners(300, 300), 300);
  const double without = bytes_of(time, time, 1, TemporalNeed::none);
  const double with = bytes_of(time, time, 1, TemporalNeed::recurrent);
  // 299 hand-overs, each held by 300 ranks.
  EXPECT_GE(with - without, 299 * 300 * 64.0);
  EXPECT_GE(bytes_of(time, time, 3, TemporalNeed::recurrent), with * 0.9);
}

TEST(ExchangeBytes, OfEvenSnapshotPartitioningGrowsWithRanksNotTheirSquare) {
  const auto snapshot = [](int ranks) {
    return bytes_of(by_time(ranks, contiguous_owners(ranks, ranks), ranks),
                    by_vertex(contiguous_owners(ranks, ranks), ranks, ranks), 1, TemporalNeed::recurrent);
  };
  EXPECT_LT(snapshot(4096), 5 * snapshot(1024));
  EXPECT_LT(snapshot(16384), 1e9);
}

TEST(ExchangeBytes, OfHalosKnownByNumberGrowsWithRanksNotTheirSquare) {
  const std::vector<strobe::Run> one_block = {{0, 4}};
  const std::vector<LayerShape> layers(1);
  const auto vertex = [&](int ranks, double pairs_limit) {
    const Placement placement = by_vertex(contiguous_owners(20000, ranks), 4, ranks);
    return exchange_bytes({placement, placement, one_block, layers, pairs_limit});
  };
  EXPECT_LT(vertex(4096, 0), 5 * vertex(1024, 0));
  EXPECT_LT(vertex(16384, 0), 1e8);
  EXPECT_GT(vertex(4096, 1e300), 4096.0 * 4096 * sizeof(PeerPart));  // all pairs of ranks may exchange rows
}

TEST(ExchangeBytes, SlicesAndStepsAddWholeExchanges) {
  const int ranks = 6;
  const Placement time = by_time(50, contiguous_owners(12, ranks), ranks), vertex = hashed(50, 12, ranks);
  const std::vector<strobe::Run> one_block = {{0, 12}};
  const std::vector<LayerShape> layers(1);
  const auto bytes = [&](std::int64_t overlap, std::int64_t supports) {
    return exchange_bytes({vertex, time, one_block, layers, 1e300, supports, overlap});
  };
  EXPECT_EQ(bytes(0, 0), bytes(1, 0)) << "one slice is the whole block";
  EXPECT_GT(bytes(2, 0), bytes(1, 0));
  EXPECT_NEAR(bytes(2, 0) - bytes(1, 0), 2 * (bytes(3, 0) - bytes(2, 0)), 1) << "k slices and the whole block";
  EXPECT_GT(bytes(1, 1), bytes(1, 0));
  EXPECT_NEAR(bytes(1, 2) - bytes(1, 0), 2 * (bytes(1, 1) - bytes(1, 0)), 1);
}

TEST(ExchangeBytes, OfAPlacementWithItselfListsNoRows) {
  const auto bytes = [](std::int64_t vertices, std::int64_t steps, double pairs_limit) {
    const Placement placement = hashed(vertices, steps, 5);
    const std::vector<strobe::Run> one_block = {{0, steps}};
    const std::vector<LayerShape> layers(1);
    return exchange_bytes({placement, placement, one_block, layers, pairs_limit});
  };
  EXPECT_EQ(bytes(500, 9, 0), bytes(100, 3, 0)) << "no rows move, whatever there is";
  EXPECT_GT(bytes(500, 9, 1e300), bytes(500, 9, 0)) << "halos do";
  EXPECT_EQ(bytes(500, 9, 25), bytes(500, 9, 1e300)) << "at most all pairs of ranks";
  EXPECT_GT(bytes(500, 9, 25), bytes(500, 9, 24));
}

TEST(ExchangeBytes, BlocksAddUpAndHandStateOverAtTheirBorders) {
  const Placement time = by_time(50, contiguous_owners(60, 60), 60), vertex = hashed(50, 60, 60);
  const double one = bytes_of(vertex, time, 1, TemporalNeed::none), two = bytes_of(vertex, time, 2, TemporalNeed::none);
  EXPECT_GT(two, one);
  // Each step lies on a rank of its own. One block hands over 59 times, and so do two blocks: once at their border.
  const auto handed = [&](std::int64_t blocks) {
    return bytes_of(vertex, time, blocks, TemporalNeed::recurrent) - bytes_of(vertex, time, blocks, TemporalNeed::none);
  };
  EXPECT_NEAR(handed(2), handed(1), 1e-6 * handed(1));
  EXPECT_NEAR(handed(3), handed(1), 1e-6 * handed(1));
  // Timelines that lie whole on a rank are handed over at borders only, to the rank that has them.
  const auto kept = [&](std::int64_t blocks) {
    return bytes_of(time, vertex, blocks, TemporalNeed::recurrent) - bytes_of(time, vertex, blocks, TemporalNeed::none);
  };
  EXPECT_EQ(kept(1), 0);
  EXPECT_GT(kept(2), 0);
  EXPECT_NEAR(kept(3), 2 * kept(2), 1e-6 * kept(2));
}

/// A plan's entry, the two directions of an exchange, and the exchange itself.
constexpr double held_bytes = sizeof(Exchange),
                 taking_part_bytes = sizeof(RankExchange) + 2 * sizeof(ExchangeSide) + sizeof(PeerSide);

TEST(ExchangeBytes, OfARankWithoutCellsAreItsExchangesAlone) {
  const auto bytes = [](int ranks) {
    const Placement time = by_time(50, {0, 1, 2}, ranks), vertex = by_vertex(contiguous_owners(50, 3), 3, ranks);
    const std::vector<strobe::Run> one_block = {{0, 3}};
    const std::vector<LayerShape> layers(1);
    return exchange_bytes({vertex, time, one_block, layers, 0});
  };
  // Two redistributions that it has no part in; and halos of the block, its training samples and the test samples.
  EXPECT_DOUBLE_EQ(bytes(21) - bytes(20), 2 * held_bytes + 3 * (held_bytes + taking_part_bytes));
  EXPECT_DOUBLE_EQ(bytes(40) - bytes(20), 20 * (bytes(21) - bytes(20)));
}

TEST(ExchangeBytes, CountRanksThatShareStepsAsTakingPart) {
  const int ranks = 24;
  const std::vector<strobe::Run> one_block = {{0, 2}};
  const std::vector<LayerShape> layers(1);
  const Placement one = by_time(500, {0, 0}, ranks), shared = by_vertex(contiguous_owners(500, ranks), 2, ranks);
  const double more =
      exchange_bytes({one, shared, one_block, layers, 0}) - exchange_bytes({one, one, one_block, layers, 0});
  EXPECT_GE(more, 2 * (ranks - 1) * taking_part_bytes);
}

TEST(ExchangeBytes, HandOversBetweenSharedStepsListTheirPairs) {
  const int ranks = 12;
  const auto handed = [&](const Placement& placement) {
    return bytes_of(placement, placement, 1, TemporalNeed::recurrent) -
           bytes_of(placement, placement, 1, TemporalNeed::none);
  };
  Placement shared = by_vertex(contiguous_owners(500, ranks), 2, ranks);
  shared.maps.push_back(hashed(500, 1, ranks).maps[0]);
  shared.map_of_step = {0, 1};
  const double single = handed(by_time(500, {0, 1}, ranks));
  EXPECT_DOUBLE_EQ(handed(shared) - single,
                   (2 * ranks - 2) * taking_part_bytes + 2 * (ranks * ranks - 1) * sizeof(PeerPart));
  EXPECT_GE(single, 2 * taking_part_bytes + ranks * held_bytes + 2 * sizeof(PeerPart));
}

TEST(ExchangeBytes, RefusesWhatDoesNotFit) {
  // Ranks have different numbers of vertices, so that all 10^10 pairs must be listed.
  const int ranks = 100000;
  Placement time = by_time(1, contiguous_owners(ranks, ranks), ranks), spread = time;
  auto map = std::make_shared<VertexMap>();
  for (Rank r = 0; r < ranks; ++r) {
    map->owned.push_back({{r, 1 + r % 7}});
    map->owned_count.push_back(1 + r % 7);
  }
  map->owner = {0};
  spread.maps = {map};
  spread.map_of_step.assign(ranks, 0);
  const std::vector<strobe::Run> one_block = {{0, ranks}};
  const std::vector<LayerShape> layers(1);
  try {
    exchange_bytes_within_memory({time, spread, one_block, layers, 1e300});
    FAIL() << "100,000 ranks were not refused";
  } catch (const InvalidRequest& refusal) {
    EXPECT_NE(std::string(refusal.what()).find("100000 ranks"), std::string::npos) << refusal.what();
    EXPECT_EQ(std::string(refusal.what()).find("smaller nb"), std::string::npos) << "there is one block";
  }
  EXPECT_NO_THROW(exchange_bytes_within_memory({time, time, one_block, layers, 1e300}));
}

}  // namespace
}  // namespace strobe
