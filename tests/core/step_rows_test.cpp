// First rows of steps equal those of the given vector, in the memory of their stretches.
#include "core/step_rows.hpp"

#include <gtest/gtest.h>

namespace strobe {
namespace {

TEST(StepRows, EqualTheGivenNumbers) {
  const std::vector<std::vector<std::int64_t>> lists = {
      {0}, {0, 0, 0}, {0, 5, 10, 15}, {0, 0, 7, 14, 14, 14, 15, 16, 16}, {3, 4, 9, 9, 10, 15, 15}};
  for (const std::vector<std::int64_t>& first : lists) {
    const StepRows rows = first;
    ASSERT_EQ(rows.size(), first.size());
    EXPECT_EQ(rows.back(), first.back());
    for (std::size_t t = 0; t < first.size(); ++t) EXPECT_EQ(rows[t], first[t]) << t;
  }
}

TEST(StepRows, AreEmptyWithoutSteps) {
  EXPECT_EQ(StepRows().size(), 0u);
  EXPECT_EQ((StepRows{0, 2, 5}[1]), 2);
}

}  // namespace
}  // namespace strobe
