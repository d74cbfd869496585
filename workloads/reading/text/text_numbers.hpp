// Numbers and separators of text, eight characters at a time. Every function here is exact or refuses; refused text is
// left to std::from_chars.
// Cost: a few instructions for eight characters, and no branch that depends on a number's length beyond 4, 8 and 16
// digits. Source of the word tricks: Warren, Hacker's Delight, 2nd edition, section 6-1; Langdale and Lemire, Parsing
// gigabytes of JSON per second, 2019.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace strobe {

static_assert(std::endian::native == std::endian::little, "the first character is the lowest byte of a word");

constexpr std::uint64_t every_byte = 0x0101010101010101, high_bits = 0x80 * every_byte, zeros = '0' * every_byte;

inline std::uint64_t load8(const char* text) {
  std::uint64_t word;
  std::memcpy(&word, text, sizeof(word));
  return word;
}

inline std::uint64_t load4(const char* text) {
  std::uint32_t word;
  std::memcpy(&word, text, sizeof(word));
  return word;
}

/// 0x80 in every byte that equals `c`, nothing in the others.
inline std::uint64_t bytes_equal(std::uint64_t word, char c) {
  const std::uint64_t differs = word ^ static_cast<unsigned char>(c) * every_byte;
  return ~(((differs & ~high_bits) + ~high_bits) | differs | ~high_bits);
}

/// The value of 8 characters, the first the most significant; sets bits of `odd` when one is no digit.
/// Neighbours are added up in three steps: digits, pairs, fours.
inline std::uint64_t eight_digits(std::uint64_t characters, std::uint64_t& odd) {
  std::uint64_t digits = characters ^ zeros;
  odd |= ((digits + 0x76 * every_byte) | digits) & high_bits;
  digits = digits * 10 + (digits >> 8);
  constexpr std::uint64_t mask = 0x000000ff000000ff;
  return ((digits & mask) * 0x000f424000000064 + (digits >> 16 & mask) * 0x0000271000000001) >> 32;
}

/// The first `count` of up to 8 characters, padded with leading zeros.
inline std::uint64_t first_digits(const char* text, std::size_t count) {
  std::uint64_t word = 0;
  if (count >= 4) {
    const std::uint64_t first = load4(text), last = load4(text + count - 4);
    word = first << 8 * (8 - count) | last << 32;
  } else {
    for (std::size_t i = 0; i < count; ++i)
      word |= std::uint64_t{static_cast<unsigned char>(text[i])} << 8 * (8 - count + i);
  }
  return count == 8 ? word : word | zeros >> 8 * count;
}

/// A field of 1 to 16 digits and nothing else, which is what most fields are; -1 for any other.
inline std::int64_t digits_only(std::string_view text) {
  if (text.empty() || text.size() > 16) return -1;
  std::uint64_t odd = 0, value = 0;
  if (text.size() <= 8) {
    value = eight_digits(first_digits(text.data(), text.size()), odd);
  } else {
    value = eight_digits(first_digits(text.data(), text.size() - 8), odd) * 100'000'000;
    value += eight_digits(load8(text.data() + text.size() - 8), odd);
  }
  return odd != 0 ? -1 : static_cast<std::int64_t>(value);
}

/// Calls visit(position) for every character of `line` that is `a` or `b`, eight at a time.
template <class Visit>
void for_each_separator(std::string_view line, char a, char b, Visit&& visit) {
  std::size_t at = 0;
  for (; at + 8 <= line.size(); at += 8) {
    const std::uint64_t word = load8(line.data() + at);
    std::uint64_t found = bytes_equal(word, a);
    if (b != a) found |= bytes_equal(word, b);
    for (; found != 0; found &= found - 1) visit(at + static_cast<std::size_t>(std::countr_zero(found)) / 8);
  }
  for (; at < line.size(); ++at) {
    if (line[at] == a || line[at] == b) visit(at);
  }
}

/// Digits, or digits, a point and digits, with a minus before them or not, below 2^53 without the point: what most
/// numbers are. Sets `value` to the double next to it: whole number and power of ten are exact, so their quotient is
/// rounded once (Clinger, How to read floating point numbers accurately, PLDI 1990). False for any other text.
inline bool short_decimal(std::string_view text, double& value) {
  static constexpr double powers[] = {1,   1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7, 1e8,
                                      1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16};
  const bool minus = !text.empty() && text.front() == '-';
  text.remove_prefix(minus);
  std::int64_t number = digits_only(text);
  std::size_t digits = 0;
  if (number < 0) {
    const std::size_t point = text.find('.');
    if (point == std::string_view::npos || text.size() > 17) return false;
    digits = text.size() - point - 1;
    const std::int64_t whole = digits_only(text.substr(0, point)), fraction = digits_only(text.substr(point + 1));
    if (whole < 0 || fraction < 0) return false;
    number = whole * static_cast<std::int64_t>(powers[digits]) + fraction;
  }
  if (number >= std::int64_t{1} << 53) return false;
  value = static_cast<double>(number) / powers[digits];
  if (minus) value = -value;
  return true;
}

}  // namespace strobe
