#include "core/random.hpp"

#include <gtest/gtest.h>

#include <set>

namespace strobe {
namespace {

TEST(Random, PhiloxKnownAnswers) {
  // Known-answer vectors that accompany Salmon et al., SC'11.
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (std::array<std::uint32_t, 4>{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}));
  const std::uint32_t f = 0xffffffffu;
  EXPECT_EQ(philox({f, f, f, f}, {f, f}),
            (std::array<std::uint32_t, 4>{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}));
}

TEST(Random, AccessIsRandomAndStreamsDiffer) {
  const RandomStream a(1, random_purpose::negatives, 3), same(1, random_purpose::negatives, 3);
  std::set<std::uint64_t> seen;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(a.bits(i), same.bits(i));
    seen.insert(a.bits(i));
    seen.insert(RandomStream(1, random_purpose::negatives, 4).bits(i));
    seen.insert(RandomStream(2, random_purpose::negatives, 3).bits(i));
    seen.insert(RandomStream(1, random_purpose::positives, 3).bits(i));
  }
  EXPECT_EQ(seen.size(), 4000u);
}

TEST(Random, MomentsOfTheDistributions) {
  const RandomStream random(9, random_purpose::test);
  const int n = 20000;
  double uniform = 0, normal = 0, square = 0;
  std::array<int, 7> counts{};
  for (std::uint64_t i = 0; i < n; ++i) {
    const double u = random.uniform(i), x = random.normal(i);
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    uniform += u;
    normal += x;
    square += x * x;
    ++counts[random.below(i, 7)];
  }
  EXPECT_NEAR(uniform / n, 0.5, 0.01);
  EXPECT_NEAR(normal / n, 0.0, 0.03);
  EXPECT_NEAR(square / n, 1.0, 0.05);
  for (const int count : counts) EXPECT_NEAR(count, n / 7.0, 250);
}

}  // namespace
}  // namespace strobe
