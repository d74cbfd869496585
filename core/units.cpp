#include "core/units.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <map>

#include "core/errors.hpp"

namespace strobe {
namespace {

/// A unit of time as seconds / divisor, both whole.
struct UnitOfTime {
  double seconds, divisor;
};

/// The double nearest to the decimal that `value` was read from, times the unit: 1.1 h are 3960 s, though 1.1 as a
/// double times 3600 is not 3960. Beyond nine digits or 2^53 it is the product of doubles.
double in_seconds(double value, const UnitOfTime& unit) {
  for (double power = 1; power <= 1e9; power *= 10) {
    const double number = std::round(value * power), product = number * unit.seconds;
    if (number / power == value && product < 9007199254740992.0) return product / (power * unit.divisor);
  }
  return value * unit.seconds / unit.divisor;
}

}  // namespace

double parse_duration_seconds(const std::string& text, const std::string& where) {
  static const std::map<std::string, UnitOfTime> units = {{"", {1, 1}},          {"s", {1, 1}},    {"sec", {1, 1}},
                                                          {"min", {60, 1}},      {"h", {3600, 1}}, {"d", {86400, 1}},
                                                          {"w", {7 * 86400, 1}}, {"ms", {1, 1000}}};
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const auto found = units.find(unit);
  if (error != std::errc() || found == units.end() || !(value > 0) || !std::isfinite(value)) {
    throw InvalidRequest(where, fmt::format("'{}' is not a positive duration; write 30d, 1h, 15min, 90s or 2w", text));
  }
  return in_seconds(value, found->second);
}

std::int64_t parse_count(const std::string& text, const std::string& where) {
  static const std::map<std::string, double> scales = {{"", 1},    {"K", 1e3}, {"M", 1e6}, {"G", 1e9},
                                                       {"k", 1e3}, {"m", 1e6}, {"g", 1e9}};
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const auto scale = scales.find(std::string(end, static_cast<std::size_t>(text.data() + text.size() - end)));
  const double count = error == std::errc() && scale != scales.end() ? in_seconds(value, {scale->second, 1}) : 0;
  if (count >= 1 && count <= 9007199254740992.0 && count == std::floor(count)) return static_cast<std::int64_t>(count);
  throw InvalidRequest(where, fmt::format("expected a whole number of at least 1, such as 5000000, 5M, 1.5G or 1e8, "
                                          "found '{}'",
                                          text));
}

std::string format_bytes(double bytes) {
  static const char* const names[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  int scale = 0;
  while (std::abs(bytes) >= 1000 && scale < 5) {
    bytes /= 1000;
    ++scale;
  }
  return scale == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.3g} {}", bytes, names[scale]);
}

std::string format_seconds(double seconds) {
  if (seconds == 0) return "0 s";
  if (std::abs(seconds) >= 1) return fmt::format("{:.3g} s", seconds);
  if (std::abs(seconds) >= 1e-3) return fmt::format("{:.3g} ms", seconds * 1e3);
  return fmt::format("{:.3g} us", seconds * 1e6);
}

std::string format_count(std::int64_t count) {
  std::string digits = std::to_string(count < 0 ? -count : count);
  for (std::ptrdiff_t i = static_cast<std::ptrdiff_t>(digits.size()) - 3; i > 0; i -= 3) {
    digits.insert(static_cast<std::size_t>(i), ",");
  }
  return count < 0 ? "-" + digits : digits;
}

}  // namespace strobe
