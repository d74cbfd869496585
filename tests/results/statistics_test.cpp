#include "results/row/statistics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/random.hpp"

namespace strobe {
namespace {

TEST(Statistics, ByHand) {
  EXPECT_DOUBLE_EQ(median({3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_DOUBLE_EQ(mean({1, 2, 6}), 3);
  EXPECT_DOUBLE_EQ(percentile({40, 10, 30, 20}, 0), 10);
  EXPECT_DOUBLE_EQ(percentile({40, 10, 30, 20}, 100), 40);
  EXPECT_DOUBLE_EQ(percentile({40, 10, 30, 20}, 50), 25);
  EXPECT_DOUBLE_EQ(percentile({40, 10, 30, 20}, 95), 38.5);  // position 3 x 0.95 = 2.85
  EXPECT_DOUBLE_EQ(percentile({7}, 95), 7);
}

TEST(Statistics, NoValuesGiveNaN) {
  EXPECT_TRUE(std::isnan(median({})));
  EXPECT_TRUE(std::isnan(mean({})));
  EXPECT_TRUE(std::isnan(percentile({}, 50)));
}

TEST(Statistics, MedianIntervalMatchesBinomialTables) {
  const auto interval_of = [](int n) {
    std::vector<double> values;
    for (int i = n; i >= 1; --i) values.push_back(i);
    return median_interval(values);
  };
  EXPECT_FALSE(interval_of(5).has_value()) << "1 - 2/32 is below 95 %";
  // Ranks of the textbook table of sign-test intervals (for instance Conover, table A3).
  const int table[][3] = {{6, 1, 6},   {8, 1, 8},   {9, 2, 8},   {10, 2, 9},
                          {15, 4, 12}, {20, 6, 15}, {25, 8, 18}, {100, 40, 61}};
  for (const auto& [n, low, high] : table) {
    const auto interval = interval_of(n);
    ASSERT_TRUE(interval.has_value()) << n;
    EXPECT_DOUBLE_EQ(interval->low, low) << n;
    EXPECT_DOUBLE_EQ(interval->high, high) << n;
  }
}

TEST(Statistics, MedianIntervalCoversTheTrueMedian) {
  const RandomStream stream(11, random_purpose::test);
  int covered = 0;
  constexpr int trials = 2000, n = 21;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<double> values;
    for (int i = 0; i < n; ++i)
      values.push_back(-std::log(1 - stream.uniform(static_cast<std::uint64_t>(trial * n + i))));
    const auto interval = median_interval(values);
    if (interval->low <= std::log(2.0) && std::log(2.0) <= interval->high) ++covered;
  }
  EXPECT_GE(covered, trials * 95 / 100);
  EXPECT_LE(covered, trials * 985 / 1000) << "the interval is wider than it need be";
}

}  // namespace
}  // namespace strobe
