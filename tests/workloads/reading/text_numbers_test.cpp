// The fast readers of numbers agree with the standard library's, or say no.
#include "workloads/reading/text/text_numbers.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <charconv>
#include <string>

#include "core/random.hpp"

namespace strobe {
namespace {

/// A random text of up to `most` characters from `alphabet`.
std::string random_text(const RandomStream& random, std::uint64_t i, const std::string& alphabet, std::uint64_t most) {
  std::string text;
  const std::uint64_t size = random.below(100 * i, most + 1);
  for (std::uint64_t k = 0; k < size; ++k) text += alphabet[random.below(100 * i + 1 + k, alphabet.size())];
  return text;
}

TEST(TextNumbers, DigitsEqualTheStandardLibraryOnAnyText) {
  const RandomStream random(5, 1);
  std::int64_t read = 0;
  for (std::uint64_t i = 0; i < 200'000; ++i) {
    // Mostly digits, then with neighbours of the digits and bytes with the highest bit.
    const std::string text = random_text(random, i, i % 2 == 0 ? "0123456789" : "0123456789/:-+. \x80\xb0\xff", 20);
    std::int64_t expected = -1;
    const bool digits = !text.empty() && text.size() <= 16 && text.find_first_not_of("0123456789") == std::string::npos;
    if (digits) std::from_chars(text.data(), text.data() + text.size(), expected);
    ASSERT_EQ(digits_only(text), expected) << text;
    read += digits;
  }
  EXPECT_GT(read, 50'000);
}

TEST(TextNumbers, EveryByteThatIsNoDigitIsSeenAtEveryPlace) {
  for (std::size_t size = 1; size <= 16; ++size) {
    for (std::size_t at = 0; at < size; ++at) {
      for (int byte = 0; byte < 256; ++byte) {
        std::string text(size, '7');
        text[at] = static_cast<char>(byte);
        ASSERT_EQ(digits_only(text) >= 0, byte >= '0' && byte <= '9') << size << ' ' << at << ' ' << byte;
      }
    }
  }
}

TEST(TextNumbers, DecimalsAreRoundedAsTheStandardLibraryRoundsThem) {
  const RandomStream random(5, 2);
  std::int64_t read = 0;
  for (std::uint64_t i = 0; i < 300'000; ++i) {
    std::string text = random_text(random, i, i % 3 == 0 ? "0123456789.-" : "0123456789", 17);
    if (i % 3 == 1 && text.size() > 1) text[1 + random.below(100 * i + 50, text.size() - 1)] = '.';
    if (i % 2 == 0) text = "-" + text;
    double value = 0, expected = 0;
    if (!short_decimal(text, value)) continue;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), expected);
    ASSERT_TRUE(error == std::errc() && stop == text.data() + text.size()) << text << " is no number";
    ASSERT_EQ(std::bit_cast<std::uint64_t>(value), std::bit_cast<std::uint64_t>(expected)) << text;
    ++read;
  }
  EXPECT_GT(read, 100'000);
  double value = 0;
  for (const char* text : {"", "-", ".", "1.", ".5", "+1", "1e3", "1.2.3", "--1", "nan", "inf", " 1", "0x10"})
    EXPECT_FALSE(short_decimal(text, value)) << text;
}

TEST(TextNumbers, SeparatorsAreFoundInLinesOfEveryLength) {
  const RandomStream random(5, 3);
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    const std::string line = random_text(random, i, "ab,\t \x2b\xac\xa0", 40);
    std::string expected, found;
    for (std::size_t at = 0; at < line.size(); ++at) {
      if (line[at] == ' ' || line[at] == '\t') expected += std::to_string(at) + ' ';
    }
    for_each_separator(line, ' ', '\t', [&](std::size_t at) { found += std::to_string(at) + ' '; });
    ASSERT_EQ(found, expected) << line;
  }
}

}  // namespace
}  // namespace strobe
