// The first choice that keeps within its limits, against trying all of them.
#include "harness/training/first_fit.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/random.hpp"

namespace strobe {
namespace {

std::optional<std::size_t> by_trying_all(const std::vector<Shortfall>& all) {
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].none()) return i;
  return std::nullopt;
}

/// The found one; `asked` gets the number of questions. No choice may be asked for twice.
std::optional<std::size_t> found_in(const std::vector<Shortfall>& all, std::size_t& asked) {
  std::vector<int> times(all.size(), 0);
  asked = 0;
  const auto found = first_fit(all.size(), [&](std::size_t i) {
    ++asked;
    EXPECT_EQ(++times.at(i), 1) << "choice " << i;
    return all[i];
  });
  return found;
}

/// Falls to a random place and grows from there on. Choices below a random line fit.
std::vector<Shortfall> with_one_valley(const RandomStream& random) {
  const std::size_t choices = 1 + random.below(0, 90), valley = random.below(1, choices);
  std::vector<double> bytes(choices);
  bytes[valley] = 1000;
  for (std::size_t i = valley; i-- > 0;) bytes[i] = bytes[i + 1] + 1 + static_cast<double>(random.below(10 + i, 50));
  for (std::size_t i = valley + 1; i < choices; ++i)
    bytes[i] = bytes[i - 1] + 1 + static_cast<double>(random.below(200 + i, 50));
  const double line = 900 + static_cast<double>(random.below(2, 800));
  std::vector<Shortfall> all;
  for (const double own : bytes) all.push_back(own < line ? Shortfall{} : Shortfall{own > 1.5 * line ? 2 : 1, own});
  return all;
}

TEST(FirstFit, IsThatOfTryingAllWhereOneValleyHoldsThem) {
  std::size_t none = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    const std::vector<Shortfall> all = with_one_valley(RandomStream(seed, random_purpose::test, 1));
    std::size_t asked = 0;
    const auto expected = by_trying_all(all);
    EXPECT_EQ(found_in(all, asked), expected) << seed;
    const double log = std::log2(static_cast<double>(all.size() + 1));
    if (!expected) {
      ++none;
      EXPECT_LE(static_cast<double>(asked), 3 * log + 3) << seed << ", of " << all.size();
    } else {
      EXPECT_LE(static_cast<double>(asked), static_cast<double>(*expected) + 3 * log + 3) << seed;
    }
  }
  EXPECT_GT(none, 200u);
  EXPECT_LT(none, 2000u);
}

TEST(FirstFit, IsTheFirstOneWheneverItFindsAny) {
  std::size_t found = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const RandomStream random(seed, random_purpose::test, 2);
    std::vector<Shortfall> all(random.below(0, 60));
    for (std::size_t i = 0; i < all.size(); ++i)
      if (random.below(2 * i + 1, 5) > 0) all[i] = {1, static_cast<double>(random.below(2 * i + 2, 100))};
    std::size_t asked = 0;
    const auto one = found_in(all, asked);
    if (!one) continue;
    ++found;
    EXPECT_EQ(one, by_trying_all(all)) << seed;
  }
  EXPECT_GT(found, 1000u);
}

}  // namespace
}  // namespace strobe
