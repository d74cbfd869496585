// The predicted memory of exchanges, compared with the lists of plans, and the refusal of plans that do not fit.
#include "harness/full_batch/exchange/exchange_bytes.hpp"

#include <gtest/gtest.h>

#include "core/random.hpp"
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
  }
  EXPECT_NO_THROW(exchange_bytes_within_memory({time, time, one_block, layers, 1e300}));
}

}  // namespace
}  // namespace strobe
