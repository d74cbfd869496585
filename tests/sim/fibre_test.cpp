// Fibres: each keeps its values, its modes of the floating-point units and its caught exceptions over every switch.
#include "backends/sim/fibre.hpp"

#include <gtest/gtest.h>

#include <cfenv>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace strobe::sim {
namespace {

/// 1 / 3 in the rounding mode of the moment: of the vector unit, and of the x87 unit where there is one.
double third() {
  const volatile double one = 1.0, three = 3.0;
  return one / three;
}
long double long_third() {
  const volatile long double one = 1.0L, three = 3.0L;
  return one / three;
}

TEST(Fibre, KeepsItsValuesThroughSwitches) {
  std::vector<int> seen;
  std::unique_ptr<Fibre> fibre;
  fibre = std::make_unique<Fibre>([&] {
    for (int i = 0; i < 5; ++i) {
      seen.push_back(i);
      fibre->suspend();
    }
  });
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(fibre->finished());
    fibre->resume();
    seen.push_back(10 + i);
  }
  fibre->resume();
  EXPECT_TRUE(fibre->finished());
  EXPECT_EQ(seen, (std::vector<int>{0, 10, 1, 11, 2, 12, 3, 13, 4, 14}));
}

/// Each keeps the mode that it set, whichever of the two runs in between, and the caller never sees a fibre's.
TEST(Fibre, HasARoundingModeOfItsOwn) {
  const double nearest = third();
  const long double long_nearest = long_third();
  std::vector<double> of_fibres;
  std::vector<long double> long_of_fibres;
  std::unique_ptr<Fibre> up, down;
  const auto body = [&](int mode, std::unique_ptr<Fibre>& own) {
    std::fesetround(mode);
    for (int i = 0; i < 3; ++i) {
      own->suspend();
      of_fibres.push_back(third());
      long_of_fibres.push_back(long_third());
    }
  };
  up = std::make_unique<Fibre>([&] { body(FE_UPWARD, up); });
  down = std::make_unique<Fibre>([&] { body(FE_DOWNWARD, down); });
  for (int i = 0; i < 4; ++i) {
    up->resume();
    EXPECT_EQ(third(), nearest);
    down->resume();
    EXPECT_EQ(third(), nearest);
    EXPECT_EQ(long_third(), long_nearest);
  }
  ASSERT_EQ(of_fibres.size(), 6u);
  for (std::size_t i = 0; i < of_fibres.size(); i += 2) {
    EXPECT_GT(of_fibres[i], of_fibres[i + 1]);
    EXPECT_GT(long_of_fibres[i], long_of_fibres[i + 1]);
  }
}

TEST(Fibre, MayBeLeftWithinACatchBlock) {
  std::string rethrown;
  std::unique_ptr<Fibre> fibre;
  fibre = std::make_unique<Fibre>([&] {
    try {
      throw std::runtime_error("the fibre's");
    } catch (const std::runtime_error&) {
      fibre->suspend();
      try {
        throw;
      } catch (const std::runtime_error& again) {
        rethrown = again.what();
      }
    }
  });
  fibre->resume();
  EXPECT_THROW(throw std::logic_error("the caller's"), std::logic_error);
  fibre->resume();
  EXPECT_TRUE(fibre->finished());
  EXPECT_EQ(rethrown, "the fibre's");
}

}  // namespace
}  // namespace strobe::sim
