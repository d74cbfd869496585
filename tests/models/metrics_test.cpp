#include <gtest/gtest.h>

#include <cmath>

#include "models/task.hpp"

namespace strobe {
namespace {

TEST(Metrics, AccuracyCountsTiesAsWrong) {
  EXPECT_DOUBLE_EQ(accuracy({0, 1, 1, 0, 2, 2, 0, 5}, {1, 0, 0, 0}, 2), 0.5);
  EXPECT_TRUE(std::isnan(accuracy({}, {}, 2)));
}

TEST(Metrics, AreaUnderRocByHand) {
  EXPECT_DOUBLE_EQ(area_under_roc({0.1, 0.4, 0.35, 0.8}, {0, 0, 1, 1}), 0.75);
  EXPECT_DOUBLE_EQ(area_under_roc({1, 1, 1, 1}, {0, 1, 0, 1}), 0.5);
  EXPECT_DOUBLE_EQ(area_under_roc({3, 2, 1}, {0, 0, 1}), 0.0);
  EXPECT_TRUE(std::isnan(area_under_roc({1, 2}, {1, 1})));
}

}  // namespace
}  // namespace strobe
