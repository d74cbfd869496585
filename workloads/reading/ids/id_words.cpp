// Words are compared by their number only where one of them is not written as plain digits. Only numbers below 2^53 are
// compared, where a double separates neighbours. Cost: a look at every name; the file is read again only to find the
// place of the word.
#include "workloads/reading/ids/id_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "core/errors.hpp"
#include "workloads/reading/text/quoted_csv.hpp"
#include "workloads/reading/text/text_reader.hpp"

namespace strobe {
namespace {

constexpr double largest_exact = 9007199254740992.0;  // 2^53
constexpr std::size_t most_hex_digits = 16;           // 64 bits
constexpr std::string_view decimal_digits = "0123456789";

std::size_t take_digits(std::string_view& text) {
  const std::size_t count = std::min(text.find_first_not_of(decimal_digits), text.size());
  text.remove_prefix(count);
  return count;
}

std::string_view without_sign(std::string_view text) {
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  return text;
}

bool is_hexadecimal(std::string_view text) {
  text = without_sign(text);
  return text.size() > 2 && text.size() <= 2 + most_hex_digits && text[0] == '0' &&
         (text[1] == 'x' || text[1] == 'X') &&
         text.find_first_not_of("0123456789abcdefABCDEF", 2) == std::string_view::npos;
}

bool is_decimal(std::string_view text) {
  text = without_sign(text);
  std::size_t count = take_digits(text);
  if (!text.empty() && text.front() == '.') {
    text.remove_prefix(1);
    count += take_digits(text);
  }
  if (count == 0) return false;
  if (text.empty()) return true;
  if (text.front() != 'e' && text.front() != 'E') return false;
  text = without_sign(text.substr(1));
  return take_digits(text) > 0 && text.empty();
}

/// The number in `text`, when there is one and it is small enough for a double to separate it from its neighbours.
std::optional<double> number_of(std::string_view text) {
  double value = 0;
  if (is_hexadecimal(text)) {
    std::uint64_t bits = 0;
    const std::string_view hex = without_sign(text).substr(2);
    std::from_chars(hex.data(), hex.data() + hex.size(), bits, 16);
    value = static_cast<double>(bits) * (text.front() == '-' ? -1 : 1);
  } else if (is_decimal(text)) {
    if (text.front() == '+') text.remove_prefix(1);
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  } else {
    return std::nullopt;
  }
  if (!(std::abs(value) < largest_exact)) return std::nullopt;
  // 0e12 is rather a hash than a zero.
  if (value == 0 && text.find_first_of("eE") != std::string_view::npos) return std::nullopt;
  return value == 0 ? 0.0 : value;
}

/// Written as `fmt` writes the number: digits without zeros before them.
bool is_canonical(std::string_view text, double value) { return text == fmt::format("{:.0f}", value); }

/// Throws at the first field of the columns that holds `word`.
[[noreturn]] void refuse_at(const std::string& path, const std::array<std::size_t, 2>& columns,
                            const std::string& separator, std::string_view word, std::string_view other) {
  const std::string message = fmt::format(
      "'{}' and '{}' are one number written in two ways, and would become two vertices; write it in one way "
      "everywhere",
      printable(word), printable(other));
  TextReader reader(path);
  QuotedCsv csv(separator);
  while (reader.next()) {
    const auto* fields = csv.try_split(reader.line());
    for (const std::size_t i : columns)
      if (fields != nullptr && i < fields->size() && (*fields)[i].text == word)
        reader.fail((*fields)[i].column, message);
  }
  throw InvalidInput(path, 0, 0, message);
}

}  // namespace

bool is_plain_whole(std::string_view text) {
  if (!text.empty() && text.front() == '-') text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of(decimal_digits) == std::string_view::npos;
}

bool is_like_number(std::string_view text) { return is_decimal(text) || is_hexadecimal(text); }

void refuse_twin_names(const NameTable& names, const std::string& path, std::size_t first, std::size_t second,
                       const std::string& separator) {
  const std::array<std::size_t, 2> columns{std::min(first, second), std::max(first, second)};
  std::unordered_map<double, std::int64_t> odd;  // numbers that are not written plainly, by the first name for them
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::int64_t number = i;
    const std::string_view word = names.name(number);
    const std::optional<double> value = number_of(word);
    if (!value || is_canonical(word, *value)) continue;
    const auto [at, is_new] = odd.emplace(*value, number);
    if (!is_new) refuse_at(path, columns, separator, word, names.name(at->second));
  }
  for (const auto& [value, number] : odd) {
    const std::int64_t plain = names.find(fmt::format("{:.0f}", value));
    if (value != std::floor(value) || plain < 0) continue;
    refuse_at(path, columns, separator, names.name(std::max(plain, number)), names.name(std::min(plain, number)));
  }
}

}  // namespace strobe
