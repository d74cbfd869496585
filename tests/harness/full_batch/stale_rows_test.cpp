// Which rows are sent again. Thresholds follow Eq. 6 and 7 of DGC, with the hand-computed values of decisions 4.4. The
// choice among the slots of random halos is compared with a search over all pairs.
#include "harness/full_batch/exchange/stale_rows.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "core/random.hpp"
#include "core/system/parallel.hpp"
#include "harness/full_batch/exchange/stale_threshold.hpp"
#include "tests/harness/full_batch/random_halo.hpp"

namespace strobe::stale_rows_test {
namespace {

Staleness adaptive(bool printed_sign) {
  Staleness policy;
  policy.kind = Staleness::Kind::adaptive;
  policy.printed_sign = printed_sign;
  return policy;
}

TEST(StaleThreshold, FollowsTheLossWithEitherSign) {
  // l_1 = 2: after epochs with losses 2, 1 and 0 the normalised fall is 0, 0.5 and 1.
  const std::vector<double> losses{2, 1, 0}, text{0.5, 0.6224593312, 0.7310585786},
      printed{0.5, 0.3775406688, 0.2689414214};
  for (const bool sign : {false, true}) {
    StaleThreshold threshold(adaptive(sign));
    for (std::size_t e = 0; e < losses.size(); ++e) {
      threshold.add_loss(losses[e]);
      EXPECT_NEAR(threshold.share(), (sign ? printed : text)[e], 1e-10) << sign << e;
    }
    StaleThreshold resumed(adaptive(sign));
    resumed.resume({2, 1});
    resumed.add_loss(0);
    EXPECT_EQ(resumed.share(), threshold.share());
  }
}

TEST(StaleThreshold, IsWhatIsAskedForWhereItIsStatic) {
  Staleness policy;
  policy.kind = Staleness::Kind::static_share;
  policy.theta = 0.7;
  StaleThreshold threshold(policy);
  for (const double loss : {1.0, 0.25}) {
    threshold.add_loss(loss);
    EXPECT_EQ(threshold.share(), 0.7);
  }
}

TEST(StaleThreshold, SendsAllWhereTheLossIsNoNumber) {
  StaleThreshold threshold(adaptive(false));
  threshold.resume({1, std::nan("")});
  const test::RandomHalo halo(3, 5);
  const StaleSlots slots = stale_slots(halo.plan, 1);
  const MovedRows moved = moved_rows(slots, std::vector<double>(slots.rows.size(), 0.5), threshold.share() * 2);
  EXPECT_EQ(moved.moved.size(), slots.rows.size());
  EXPECT_EQ(static_cast<std::int64_t>(moved.rows.size()), slots.sent());
}

TEST(StaleSlots, AreTheReadersOfEachRow) {
  for (const int ranks : {2, 3, 4, 7}) {
    for (const std::uint64_t seed : {1, 2, 3}) {
      const test::RandomHalo halo(ranks, seed);
      for (Rank r = 0; r < ranks; ++r) {
        const StaleSlots slots = stale_slots(halo.plan, r);
        std::set<std::int64_t> read;
        std::size_t slot = 0;
        for (const PeerPart& peer : slots.send) {
          // The reader's own list names the same cells in the same order.
          const StaleSlots reader = stale_slots(halo.plan, peer.peer);
          for (const PeerPart& sender : reader.receive) {
            if (sender.peer != r) continue;
            ASSERT_EQ(sender.count, peer.count);
            for (std::int64_t i = 0; i < peer.count; ++i, ++slot) {
              const std::size_t row = slots.rows[slots.row_of[slot]];
              const std::size_t output = reader.output_of[sender.first + i];
              EXPECT_EQ(halo.inputs[r][row], halo.outputs[peer.peer][output]);
              read.insert(static_cast<std::int64_t>(row));
            }
          }
        }
        EXPECT_EQ(slot, slots.row_of.size());
        EXPECT_EQ(std::vector<std::int64_t>(read.begin(), read.end()), slots.rows);
      }
    }
  }
}

TEST(StaleSlots, OfCountsAloneAreAsMany) {
  const test::RandomHalo halo(4, 9);
  const ExchangePlan counted = strobe::halo(halo.placement, halo.needs, {ListScope::Kind::none, 0});
  for (Rank r = 0; r < 4; ++r) {
    const StaleSlots known = stale_slots(halo.plan, r), expected = stale_slots(counted, r);
    EXPECT_EQ(expected.sent(), known.sent());
    EXPECT_EQ(expected.received(), known.received());
    EXPECT_TRUE(expected.rows.empty());
    // Readers of these halos are drawn independently, as the expectation assumes.
    EXPECT_NEAR(static_cast<double>(expected.compared), static_cast<double>(known.compared),
                0.25 * static_cast<double>(known.compared) + 1);
  }
}

TEST(MovedRows, AreThoseAboveTheThresholdForEachOfTheirReaders) {
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    const test::RandomHalo halo(5, seed);
    for (Rank r = 0; r < 5; ++r) {
      const StaleSlots slots = stale_slots(halo.plan, r);
      const RandomStream random(seed, random_purpose::test, static_cast<std::uint32_t>(r));
      std::vector<double> distances;
      for (std::size_t i = 0; i < slots.rows.size(); ++i) distances.push_back(random.uniform(i));
      const MovedRows moved = moved_rows(slots, distances, 0.4);
      std::size_t next = 0, peer_number = 0;
      for (const PeerPart& peer : slots.send) {
        std::int64_t count = 0;
        for (std::int64_t place = 0; place < peer.count; ++place) {
          const std::int64_t row = slots.row_of[peer.first + place];
          if (!(distances[row] > 0.4)) continue;
          ASSERT_LT(next, moved.rows.size());
          EXPECT_EQ(moved.rows[next], row);
          EXPECT_EQ(moved.places[next++], place);
          ++count;
        }
        EXPECT_EQ(moved.counts.at(peer_number++), count);
      }
      EXPECT_EQ(next, moved.rows.size());
    }
  }
}

TEST(MovedRows, AtTheThresholdStay) {
  const test::RandomHalo halo(3, 2);
  const StaleSlots slots = stale_slots(halo.plan, 0);
  std::vector<double> distances(slots.rows.size(), 0.5);
  EXPECT_TRUE(moved_rows(slots, distances, 0.5).moved.empty());
  EXPECT_EQ(moved_rows(slots, distances, 0.499).moved.size(), slots.rows.size());
}

TEST(HostDistances, TakeTheWorkThatTheirLoopsDo) {
  const Work distances = distance_work(10, 6, 48);
  EXPECT_EQ(distances.flops, 10 * (3 * 6 + 2)) << "difference, square and sum of each number, a root, a comparison";
  EXPECT_EQ(distances.bytes_read, 2 * 10 * 48);
  EXPECT_EQ(distances.bytes_written, 10 * 8);
  const Work choice = choice_work(10, 25);
  EXPECT_EQ(choice.flops, 35);
  EXPECT_EQ(choice.bytes_read, 8 * 10 + 8 * 25);
  EXPECT_EQ(choice.bytes_written, 12 * 25);
  EXPECT_EQ(choice.gather.accessed_bytes, 8 * 25);
  EXPECT_EQ(choice.gather.distinct_bytes, 8 * 10) << "no more than all distances";
}

TEST(MovedRows, WithADistanceThatIsNoNumberAreSent) {
  const test::RandomHalo halo(3, 2);
  const StaleSlots slots = stale_slots(halo.plan, 0);
  ASSERT_GT(slots.rows.size(), 1u);
  std::vector<double> distances(slots.rows.size(), 0.0);
  distances[1] = std::nan("");
  EXPECT_EQ(moved_rows(slots, distances, 10).moved, std::vector<std::int64_t>{1});
  EXPECT_TRUE(std::isnan(largest_distance(distances)));
  EXPECT_EQ(largest_distance({}), 0);
  EXPECT_EQ(largest_distance({0.25, 3, 1}), 3);
}

TEST(MovedRows, AreAssumedAlikeOnBothSides) {
  const test::RandomHalo halo(4, 7);
  for (const double share : {0.0, 0.2, 1.0}) {
    for (Rank r = 0; r < 4; ++r) {
      const StaleSlots slots = stale_slots(halo.plan, r);
      const MovedRows assumed = assumed_rows(slots, share);
      for (std::size_t p = 0; p < slots.send.size(); ++p) {
        const StaleSlots reader = stale_slots(halo.plan, slots.send[p].peer);
        const std::vector<std::int64_t> expected = assumed_counts(reader.receive, share);
        for (std::size_t q = 0; q < reader.receive.size(); ++q) {
          if (reader.receive[q].peer != r) continue;
          EXPECT_EQ(assumed.counts[p], expected[q]);
        }
      }
      EXPECT_NEAR(static_cast<double>(assumed.rows.size()), share * static_cast<double>(slots.sent()),
                  share == 0 || share == 1 ? 0 : 0.5 * static_cast<double>(slots.send.size()));
    }
  }
}

TEST(HostDistances, ArePythagoras) {
  Workers workers(2);
  const std::vector<double> x{3, 0, 1, 1, 5, 5}, y{0, 4, 1, 1, 5, 6};
  std::vector<double> distances(3);
  compute_distances(workers, ElementType::f64, 2, reinterpret_cast<const std::byte*>(x.data()),
                    reinterpret_cast<const std::byte*>(y.data()), distances);
  EXPECT_EQ(distances, (std::vector<double>{5, 0, 1}));
  const std::vector<float> a{3, 0, 1, 1, 5, 5}, b{0, 4, 1, 1, 5, 6};
  compute_distances(workers, ElementType::f32, 3, reinterpret_cast<const std::byte*>(a.data()),
                    reinterpret_cast<const std::byte*>(b.data()), distances = std::vector<double>(2));
  EXPECT_EQ(distances, (std::vector<double>{5, 1}));
}

}  // namespace
}  // namespace strobe::stale_rows_test
