// Names get the numbers that a map gives them, however many there are and in whatever parts they come.
#include "workloads/reading/ids/name_table.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "core/random.hpp"

namespace strobe {
namespace {

TEST(NameTable, NumbersByFirstAppearanceAlsoInParts) {
  const RandomStream random(9, 1);
  std::map<std::string, std::int64_t> judge;
  NameTable whole, joined;
  for (std::uint64_t part = 0; part < 40; ++part) {
    NameTable later;
    std::vector<std::string> names;
    for (std::uint64_t i = 0; i < 2000; ++i) {
      // Names of 0 to 40 bytes; some differ in the last byte only.
      const std::uint64_t n = random.below(2 * (2000 * part + i), 1 + 500 * (part + 1));
      const std::string name = n == 0 ? "" : std::string(n % 40, 'x') + std::to_string(n) + '\0';
      const auto expected = judge.try_emplace(name, static_cast<std::int64_t>(judge.size())).first->second;
      ASSERT_EQ(whole.number(name), expected);
      if (later.find(name) < 0) names.push_back(name);
      const std::int64_t number = later.number(name);
      ASSERT_EQ(number, later.find(name));
    }
    ASSERT_EQ(later.size(), names.size());
    const std::vector<std::int64_t> numbers = joined.add(later);
    for (std::size_t i = 0; i < names.size(); ++i) ASSERT_EQ(numbers[i], judge.at(names[i]));
  }
  EXPECT_GT(judge.size(), 10'000u);
  EXPECT_EQ(whole.size(), judge.size());
  EXPECT_EQ(joined.size(), judge.size());
  EXPECT_EQ(whole.find("nobody"), -1);
}

}  // namespace
}  // namespace strobe
