// Which rows are sent again. Thresholds follow Eq. 6 and 7 of DGC, with the hand-computed values of decisions 4.4. The
// choice among the slots of random halos is compared with a search over all pairs. Subsets of rows as they travel:
// round trips over random and over all small subsets, bytes compared with plainly written forms, bounds, and refusals.
#include "harness/full_batch/exchange/stale_rows.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "core/errors.hpp"
#include "core/random.hpp"
#include "core/system/parallel.hpp"
#include "harness/full_batch/exchange/stale_threshold.hpp"
#include "tests/harness/full_batch/plain_subset.hpp"
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
  EXPECT_EQ(choice.flops, 10 + 2 * 25);
  EXPECT_EQ(choice.bytes_read, 8 * 10 + 8 * 25);
  EXPECT_EQ(choice.bytes_written, 12 * 25 + 25.0 / 8);
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

using Rows = std::vector<std::int32_t>;
using Bytes = std::vector<std::uint8_t>;

struct Coded {
  Bytes header, list;
};

Coded coded(std::int64_t n, const Rows& rows) {
  Coded bytes;
  encode_subset(n, rows, bytes.header, bytes.list);
  return bytes;
}

Rows drawn(std::int64_t n, double share, std::uint64_t seed) {
  const RandomStream random(seed, random_purpose::test, 31);
  Rows rows;
  for (std::int64_t row = 0; row < n; ++row)
    if (random.uniform(static_cast<std::uint64_t>(row)) < share) rows.push_back(static_cast<std::int32_t>(row));
  return rows;
}

void judge(std::int64_t n, const Rows& rows) {
  const Coded bytes = coded(n, rows);
  ASSERT_EQ(decode_subset(n, bytes.header, bytes.list), rows) << n;
  const SubsetHeader header = decode_subset_header(n, bytes.header);
  ASSERT_EQ(header.count, static_cast<std::int64_t>(rows.size()));
  ASSERT_EQ(header.list_bytes, static_cast<std::int64_t>(bytes.list.size()));
  std::vector<bool> sent(static_cast<std::size_t>(n), false);
  for (const std::int32_t row : rows) sent[static_cast<std::size_t>(row)] = true;
  ASSERT_EQ(bytes.header.size() + bytes.list.size(), test::plain_subset(sent).bytes) << n << " " << rows.size();
  const auto omitted = static_cast<std::size_t>(n) - rows.size();
  ASSERT_LE(bytes.list.size(), 4 * omitted) << "a row of 4 bytes left out must pay for itself";
  ASSERT_LE(bytes.header.size(), 8u);
}

TEST(StaleSubset, EverySubsetOfFewRowsComesBack) {
  for (std::int64_t n = 1; n <= 11; ++n) {
    for (std::uint32_t bits = 0; bits < 1u << n; ++bits) {
      Rows rows;
      for (std::int64_t row = 0; row < n; ++row)
        if ((bits >> row & 1) != 0) rows.push_back(static_cast<std::int32_t>(row));
      judge(n, rows);
      ASSERT_TRUE(coded(n, rows).list.empty());
    }
  }
}

TEST(StaleSubset, RandomSubsetsComeBackInTheFewestBytes) {
  for (const std::int64_t n : {12, 63, 64, 65, 66, 127, 128, 129, 500, 3001, 40000}) {
    for (const double share : {0.0, 0.0005, 0.01, 0.1, 0.3, 0.5, 0.8, 0.97, 0.999, 1.0}) {
      for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        judge(n, drawn(n, share, seed));
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(StaleSubset, HasTheBytesOfHandWrittenExamples) {
  EXPECT_EQ(coded(10, {0, 3, 9}).header, (Bytes{0x09, 0x02}));
  // Rows 5, 7 and 300 of 1000: gaps 5, 1 and 292 = 2 x 128 + 36.
  const Coded few = coded(1000, {5, 7, 300});
  EXPECT_EQ(few.header, (Bytes{3, 0, 0, 0, 4 * 4 + 1, 0, 0, 0}));
  EXPECT_EQ(few.list, (Bytes{5, 1, 0x80 | 36, 2}));
  Rows most = drawn(1000, 1, 1);
  most.erase(most.begin() + 7);
  const Coded all_but_one = coded(1000, most);
  EXPECT_EQ(all_but_one.header, (Bytes{0xe7, 3, 0, 0, 4 * 1 + 2, 0, 0, 0}));
  EXPECT_EQ(all_but_one.list, Bytes{7});
  EXPECT_TRUE(coded(1000, drawn(1000, 1, 1)).list.empty());
  EXPECT_TRUE(coded(1000, {}).list.empty());
}

TEST(StaleSubset, OfClusteredRowsTakesTheirGaps) {
  Rows cluster;
  for (std::int32_t row = 90000; row < 90500; ++row) cluster.push_back(row);
  const Coded bytes = coded(100000, cluster);
  EXPECT_EQ(bytes.list.size(), 3u + 499u);
  judge(100000, cluster);
}

TEST(StaleSubset, BytesThatNoSubsetHasAreRefused) {
  const Bytes none;
  const auto header = [](std::uint32_t count, std::uint32_t packed) {
    Bytes bytes;
    for (const std::uint32_t number : {count, packed})
      for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<std::uint8_t>(number >> (8 * i)));
    return bytes;
  };
  EXPECT_THROW(decode_subset(10, Bytes{1}, none), Error) << "a short header";
  EXPECT_THROW(decode_subset(10, Bytes{0, 0x04}, none), Error) << "row 10 of 10";
  EXPECT_THROW(decode_subset(100, header(101, 0), none), Error) << "101 of 100 rows";
  EXPECT_THROW(decode_subset(100, header(5, 3), none), Error) << "a form that does not exist";
  EXPECT_THROW(decode_subset(100, header(5, 0), none), Error) << "5 rows without a list";
  EXPECT_THROW(decode_subset(100, header(1, 4 * 14 + 1), Bytes(14, 0)), Error) << "a list longer than bits";
  EXPECT_THROW(decode_subset(100, header(2, 4 * 1 + 1), Bytes{1}), Error) << "one row instead of two";
  EXPECT_THROW(decode_subset(100, header(1, 4 * 1 + 1), Bytes{100}), Error) << "row 100 of 100";
  EXPECT_THROW(decode_subset(100, header(1, 4 * 1 + 1), Bytes{0x81}), Error) << "an unfinished number";
  EXPECT_THROW(decode_subset(100, header(1, 4 * 2 + 1), Bytes{1}), Error) << "a shorter list than announced";
  EXPECT_THROW(decode_subset(100, header(1, 4 * 6 + 1), Bytes(6, 0xff)), Error) << "a number of 42 bits";
}

TEST(StaleSubset, AssumedOfEvenRowsIsWhatTheyTake) {
  for (const std::int64_t n : {64, 65, 640, 12800}) {
    for (const std::int64_t step : {1, 2, 4, 5, 20, 64, 160}) {
      if (n % step != 0) continue;
      Rows rows;
      for (std::int64_t row = step - 1; row < n; row += step) rows.push_back(static_cast<std::int32_t>(row));
      const SubsetHeader assumed = assumed_subset(n, static_cast<std::int64_t>(rows.size()));
      EXPECT_EQ(assumed.count, static_cast<std::int64_t>(rows.size()));
      EXPECT_EQ(assumed.list_bytes, static_cast<std::int64_t>(coded(n, rows).list.size())) << n << " " << step;
    }
    EXPECT_EQ(assumed_subset(n, 0).list_bytes, 0);
  }
}

/// Both sides of random halos: readers decode the slots that senders chose.
TEST(StaleSubset, ReadersFindTheSlotsOfTheirSenders) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const test::RandomHalo halo(4, seed, seed == 1 ? 19 : 400);
    for (Rank r = 0; r < 4; ++r) {
      const StaleSlots sender = stale_slots(halo.plan, r);
      const RandomStream random(seed, random_purpose::test, static_cast<std::uint32_t>(r));
      std::vector<double> distances;
      for (std::size_t i = 0; i < sender.rows.size(); ++i) distances.push_back(random.uniform(i));
      const MovedRows moved = moved_rows(sender, distances, 0.2 + 0.25 * static_cast<double>(seed));
      const PeerSubsets out = encoded_subsets(sender.send, moved);
      const PeerSubsets in = announced_subsets(sender.send, out.headers);
      EXPECT_EQ(in.counts, moved.counts);
      EXPECT_EQ(in.list_bytes, out.list_bytes);
      std::vector<std::int64_t> expected;
      std::size_t next = 0;
      for (std::size_t p = 0; p < sender.send.size(); ++p)
        for (std::int64_t i = 0; i < moved.counts[p]; ++i)
          expected.push_back(sender.send[p].first + moved.places[next++]);
      EXPECT_EQ(decoded_slots(sender.send, out), expected);
    }
  }
}

}  // namespace
}  // namespace strobe::stale_rows_test
