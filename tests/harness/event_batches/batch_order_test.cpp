// Which rank trains which events under i x j x k, compared with the paper's sequence of reads and writes, its numbers
// of iterations, and counts of visits.
#include "harness/event_batches/batches/batch_order.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "core/errors.hpp"
#include "core/random.hpp"

namespace strobe {
namespace {

/// Reads and writes of copy 0 in the order in which they happen: in an iteration all reads come before the writes.
std::string memory_operations(const BatchOrder& order, std::int64_t iterations) {
  std::string text;
  for (std::int64_t n = 0; n < iterations; ++n) {
    for (const char* operation : {"R", "W"}) {
      std::string bracket;
      for (int rank = 0; rank < order.groups().in_group(); ++rank) {
        const auto turn = order.turn(n, rank);
        if (turn && turn->set == 0) bracket += fmt::format("{}{}", operation, rank);
      }
      text += "(" + bracket + ")";
    }
  }
  return text;
}

TEST(BatchOrder, ReadsAndWritesFollowThePapersSequence) {
  EXPECT_EQ(memory_operations(BatchOrder({2, 2, 1}, 100000, 10, 10), 3), "(R0R1)(W0W1)(R2R3)(W2W3)(R0R1)(W0W1)");
  for (std::int64_t i = 1; i <= 4; ++i) {
    for (std::int64_t j = 1; j <= 4; ++j) {
      std::string expected;
      for (std::int64_t n = 0; n < 3 * j + 1; ++n) {
        for (const char* operation : {"R", "W"}) {
          expected += "(";
          for (std::int64_t part = 0; part < i; ++part) expected += fmt::format("{}{}", operation, n % j * i + part);
          expected += ")";
        }
      }
      EXPECT_EQ(memory_operations(BatchOrder({i, j, 1}, 100000, 10, 10), 3 * j + 1), expected) << i << " x " << j;
    }
  }
}

TEST(BatchOrder, TrainsAsManyIterationsAsTheTableSays) {
  // decisions 7.5: 100 traversals (GDELT: 10) at 1, 2, 4, 8, 16 and 32 ranks; training events 70 % of the published
  // numbers, local batches 600 (GDELT: 3200).
  const std::map<std::string, std::vector<std::int64_t>> table = {
      {"wikipedia", {110232, 600, 100, 18400, 9200, 4600, 2300, 1150, 575}},
      {"reddit", {470713, 600, 100, 78500, 39250, 19625, 9813, 4907, 2454}},
      {"flights", {1348933, 600, 100, 224900, 112450, 56225, 28113, 14057, 7029}},
  };
  for (const auto& [name, row] : table) {
    for (std::size_t power = 0; power < 6; ++power) {
      const BatchOrder order({1, 1, std::int64_t{1} << power}, row[0], row[1], 10);
      EXPECT_EQ(order.first_iteration(row[2]), row[3 + power]) << name << " at " << (1 << power);
    }
  }
}

/// Random sizes.
struct Sizes {
  TrainingGroups groups;
  std::int64_t events, batch;
  explicit Sizes(std::uint64_t seed) {
    const RandomStream random(seed, 8);
    const auto draw = [&](std::uint64_t which, std::uint64_t n) {
      return static_cast<std::int64_t>(random.below(which, n));
    };
    groups = {1 + draw(0, 4), 1 + draw(1, 4), 1 + draw(2, 4)};
    batch = 1 + draw(3, 7);
    events = groups.i * batch + draw(4, 100);
  }
};

/// Batches of i ranks count as one, so the number of ranks that share them changes no epoch. With j = k = 1 epochs are
/// sweeps. With i = 1 the formula of decisions 7.5 holds. No epoch is empty while a sweep has enough batches for all
/// ranks.
TEST(BatchOrder, EpochsDoNotDependOnHowManyRanksShareABatch) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Sizes s(seed);
    const BatchOrder shared(s.groups, s.events, s.batch, 10),
        alone({1, s.groups.j, s.groups.k}, s.events, s.groups.i * s.batch, 10),
        sweeps({s.groups.i, 1, 1}, s.events, s.batch, 10), apart({1, s.groups.j, s.groups.k}, s.events, s.batch, 10);
    const std::int64_t local = (s.events + s.batch - 1) / s.batch, ranks = s.groups.j * s.groups.k;
    for (std::int64_t e = 0; e < 9; ++e) {
      EXPECT_EQ(shared.first_iteration(e), alone.first_iteration(e)) << seed;
      EXPECT_EQ(sweeps.first_iteration(e), e * sweeps.batches()) << seed;
      EXPECT_EQ(apart.first_iteration(e), (e * local + ranks - 1) / ranks) << seed;
      EXPECT_TRUE(ranks > shared.batches() || shared.first_iteration(e + 1) > shared.first_iteration(e)) << seed;
    }
  }
}

TEST(BatchOrder, EverySweepOfACopyVisitsEveryEventOnceWithEverySet) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Sizes s(seed);
    const BatchOrder order(s.groups, s.events, s.batch, 1 << 20);
    std::map<std::array<std::int64_t, 3>, std::vector<int>> visits;  // copy, sweep, set: times each event was visited
    const std::int64_t iterations = 4 * order.batches() + s.groups.j;
    std::int64_t last_sweep = 0;
    for (std::int64_t n = 0; n < iterations; ++n) {
      std::int64_t events = 0;
      for (int rank = 0; rank < s.groups.ranks(); ++rank) {
        const auto turn = order.turn(n, rank);
        if (!turn) continue;
        auto& seen = visits[{turn->copy, turn->sweep, turn->set}];
        seen.resize(s.events);
        for (EdgeId e = turn->first; e < turn->first + turn->count; ++e) ++seen[e];
        events += turn->count;
        last_sweep = std::max(last_sweep, turn->sweep);
      }
      EXPECT_EQ(events, order.events_in(n)) << seed << " iteration " << n;
    }
    ASSERT_GE(last_sweep, 3);
    for (const auto& [key, seen] : visits) {
      if (key[1] == 0 || key[1] >= 3) continue;  // the first may begin amid the events, the last are unfinished
      EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), s.events) << "seed " << seed << " copy " << key[0];
    }
  }
}

TEST(BatchOrder, CopiesBeginInDifferentPartsAndNegativesDiffer) {
  const BatchOrder order({1, 2, 3}, 600, 10, 1000);
  std::set<std::int64_t> groups;
  for (std::int64_t copy = 0; copy < 3; ++copy) {
    EXPECT_EQ(order.batch_at(copy, 0), 20 * copy);
    for (std::int64_t set = 0; set < 2; ++set) groups.insert(order.turn(set, static_cast<int>(2 * copy))->group);
  }
  EXPECT_EQ(groups.size(), 6u) << "each set of each copy has negatives of its own";
  EXPECT_TRUE(order.turn(40, 2)->begins_sweep) << "copy 1 began at batch 20 of 60";
  EXPECT_FALSE(order.turn(41, 3)->begins_sweep);
}

TEST(TrainingGroups, AreDerivedOrRefused) {
  EXPECT_EQ(TrainingGroups::of(0, 0, 0, 8).k, 8);
  EXPECT_EQ(TrainingGroups::of(2, 2, 0, 8).k, 2);
  EXPECT_EQ(TrainingGroups::of(8, 0, 1, 8).ranks(), 8);
  const auto refusal = [](std::int64_t i, std::int64_t j, std::int64_t k, std::int64_t ranks) {
    try {
      TrainingGroups::of(i, j, k, ranks);
    } catch (const InvalidRequest& error) {
      return error.where() + ": " + error.message();
    }
    return std::string("not refused");
  };
  EXPECT_EQ(refusal(3, 1, 0, 8).rfind("/strategy/i: i x j = 3 x 1 ranks share a memory", 0), 0u);
  EXPECT_NE(refusal(2, 2, 3, 8).find("k = 2 fits"), std::string::npos);
  EXPECT_NE(refusal(4, 4, 0, 8).find("/strategy/i"), std::string::npos);
}

}  // namespace
}  // namespace strobe
