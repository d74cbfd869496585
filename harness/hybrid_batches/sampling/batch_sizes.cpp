#include "harness/hybrid_batches/sampling/batch_sizes.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include "core/errors.hpp"

namespace strobe {
namespace {

/// All of `text` as a finite number.
std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<std::int64_t> whole_number_of(std::string_view text) {
  std::int64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::int64_t BatchShare::of(std::int64_t all, const std::string& what, const std::string& pointer) const {
  const std::int64_t count =
      is_share ? std::llround(percent / 100 * static_cast<double>(all)) : std::min(number, all + 1);
  if (count < 1) {
    throw InvalidRequest(pointer, fmt::format("{} of {} {} rounds to none; give at least {:.3g}%", text, all, what,
                                              50.0 / static_cast<double>(std::max<std::int64_t>(all, 1))));
  }
  if (count > all) throw InvalidRequest(pointer, fmt::format("{} {}, but there are only {}", text, what, all));
  return count;
}

BatchShare parse_share(const std::string& text, const std::string& pointer) {
  BatchShare share;
  share.text = text;
  if (!text.empty() && text.back() == '%') {
    const auto percent = number_of(std::string_view(text).substr(0, text.size() - 1));
    if (percent && *percent > 0 && *percent <= 100) {
      share.percent = *percent;
      return share;
    }
  } else if (const auto number = whole_number_of(text); number && *number > 0) {
    share.is_share = false;
    share.number = *number;
    return share;
  }
  throw InvalidRequest(
      pointer, fmt::format("expected a share such as 5% (at most 100%) or a number of at least 1, found '{}'", text));
}

std::vector<BatchShare> parse_shares(const std::string& text, const std::string& pointer) {
  std::vector<BatchShare> all;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('/', begin), text.size());
    all.push_back(parse_share(text.substr(begin, end - begin), pointer));
    begin = end + 1;
  }
  return all;
}

AveragingInterval parse_interval(const std::string& text, const std::string& pointer) {
  const auto ends_with = [&](std::string_view end) {
    return text.size() > end.size() && std::string_view(text).substr(text.size() - end.size()) == end;
  };
  if (const auto iterations = whole_number_of(text); iterations && *iterations > 0) return {*iterations, 0};
  const bool milliseconds = ends_with("ms");
  if (milliseconds || ends_with("s")) {
    const auto value = number_of(std::string_view(text).substr(0, text.size() - (milliseconds ? 2 : 1)));
    if (value && *value > 0) return {0, milliseconds ? *value / 1000 : *value};
  }
  throw InvalidRequest(
      pointer, fmt::format("expected a number of iterations (10) or a time above 0 (2s, 500ms), found '{}'", text));
}

}  // namespace strobe
