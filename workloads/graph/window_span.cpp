// Months differ in length, so their borders are counted in months; all other borders are at regular distances.
#include "workloads/graph/window_span.hpp"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cmath>
#include <map>
#include <string_view>

#include "core/errors.hpp"
#include "core/units.hpp"
#include "workloads/storage/date_time.hpp"

namespace strobe {
namespace {

using Origin = WindowSpan::Origin;

constexpr double week_seconds = 7 * day_seconds, mean_month_seconds = 2629746;
constexpr double first_monday = 4 * day_seconds;                                         // 1970-01-05
constexpr std::int64_t most_days = 1000000, most_months = 1000, days_of_any_month = 28;  // of one window

struct CalendarUnit {
  double seconds;
  std::int64_t months;
  Origin origin;
};

/// The unit of the calendar called `name`, with or without a final s; null for other words.
const CalendarUnit* find_unit(std::string_view name) {
  static const std::map<std::string_view, CalendarUnit> units = {{"day", {day_seconds, 0, Origin::midnight}},
                                                                 {"week", {week_seconds, 0, Origin::monday}},
                                                                 {"month", {0, 1, Origin::month}},
                                                                 {"year", {0, 12, Origin::year}}};
  if (name.ends_with('s')) name.remove_suffix(1);
  const auto found = units.find(name);
  return found == units.end() ? nullptr : &found->second;
}

std::int64_t month_of(double seconds) {
  const std::chrono::year_month_day date(
      std::chrono::sys_days(std::chrono::days(static_cast<std::int64_t>(std::floor(seconds / day_seconds)))));
  return (static_cast<int>(date.year()) - 1970) * std::int64_t{12} + static_cast<unsigned>(date.month()) - 1;
}

double begin_of_month(std::int64_t month) {
  const std::int64_t year = month >= 0 ? month / 12 : (month - 11) / 12;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(1970 + year)),
                                         std::chrono::month(static_cast<unsigned>(month - 12 * year + 1)),
                                         std::chrono::day(1)};
  return day_seconds * static_cast<double>(std::chrono::sys_days(date).time_since_epoch().count());
}

WindowSpan parse_length(const std::string& text, const std::string& where) {
  std::int64_t count = 1;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, count);
  WindowSpan span;
  if (const CalendarUnit* unit = find_unit(std::string_view(stop, static_cast<std::size_t>(end - stop)))) {
    const std::int64_t most = unit->months > 0 ? most_months : most_days;
    if (error == std::errc::result_out_of_range || count < 1 || count > most)
      throw InvalidRequest(where, fmt::format("'{}': write between 1 and {} of the calendar's units", text, most));
    span.seconds = static_cast<double>(count) * unit->seconds;
    span.months = count * unit->months;
    span.origin = unit->origin;
    return span;
  }
  try {
    span.seconds = parse_duration_seconds(text, where);
  } catch (const InvalidRequest&) {  // whose message knows nothing of the calendar
    throw InvalidRequest(where, fmt::format("'{}' is not a positive duration; write 30d, 1h, 15min, 90s, 2w or, of the "
                                            "calendar, 1day, 2weeks, 3months, 1year",
                                            text));
  }
  span.bare = text.find_first_not_of("0123456789.eE+-") == std::string::npos;
  return span;
}

void set_origin(const std::string& origin, const std::string& text, const std::string& where, WindowSpan& span) {
  static const std::map<std::string, Origin> words = {
      {"first", Origin::first}, {"midnight", Origin::midnight}, {"monday", Origin::monday}, {"epoch", Origin::moment}};
  const auto word = words.find(origin);
  span.moment = 0;
  if (word == words.end() && !parse_date_time(origin, span.moment))
    throw InvalidRequest(
        where, fmt::format("'{}': windows begin at origin=first, midnight, monday, epoch or a date such as 2020-01-31 "
                           "(UTC)",
                           text));
  span.origin = word == words.end() ? Origin::moment : word->second;
  if (span.months == 0) return;
  if (span.origin != Origin::moment)
    throw InvalidRequest(where, fmt::format("'{}': months begin on their first day; leave out the origin, or give the "
                                            "date of one border",
                                            text));
  if (span.moment - begin_of_month(month_of(span.moment)) >= days_of_any_month * day_seconds)
    throw InvalidRequest(where,
                         fmt::format("'{}': not every month has this day; take one up to {}", text, days_of_any_month));
}

/// The last of the borders `at` that is not after `first`. Borders increase with their number; `guess` is near the
/// result.
template <class At>
std::int64_t last_at_or_before(double first, std::int64_t guess, const At& at) {
  while (at(guess).is_after(first)) --guess;
  while (!at(guess + 1).is_after(first)) ++guess;
  return guess;
}

/// A moment at which a window of this length of time begins.
double regular_origin(const WindowSpan& length, double first) {
  switch (length.origin) {
    case Origin::midnight:
      return std::floor(first / day_seconds) * day_seconds;
    case Origin::monday:
      return std::floor((first - first_monday) / week_seconds) * week_seconds + first_monday;
    case Origin::moment:
      return length.moment;
    default:
      return first;
  }
}

}  // namespace

WindowSpan parse_window(const std::string& text, const std::string& where) {
  constexpr std::string_view key = "origin=";
  const std::size_t colon = text.find(':');
  WindowSpan span = parse_length(text.substr(0, colon), where);
  if (colon == std::string::npos) return span;
  if (text.compare(colon + 1, key.size(), key) != 0)
    throw InvalidRequest(where, fmt::format("'{}': write :origin=midnight or another origin after the length", text));
  set_origin(text.substr(colon + 1 + key.size()), text, where, span);
  return span;
}

WindowSpan parse_stride(const std::string& text, const std::string& where) {
  if (text.find(':') != std::string::npos)
    throw InvalidRequest(where,
                         fmt::format("'{}': the origin is that of the window; write window=...:origin=...", text));
  return parse_length(text, where);
}

WindowBorders::WindowBorders(const WindowSpan& length, const WindowSpan& stride, double first)
    : disjoint_(stride.seconds == length.seconds && stride.months == length.months) {
  if ((stride.months > 0) != (length.months > 0))
    throw InvalidRequest("stride",
                         "months and lengths of time do not go together: give window and stride in months, or "
                         "neither");
  if (stride.seconds > length.seconds || stride.months > length.months)
    throw InvalidRequest("stride", "a stride longer than the window would leave out events");
  if (length.months == 0) {
    stride_seconds_ = stride.seconds;
    const double origin = regular_origin(length, first);
    regular_.emplace(origin, stride.seconds, length.seconds);
    if (length.origin == Origin::first) return;
    const auto guess = static_cast<std::int64_t>(std::floor((first - origin) / stride.seconds));
    from_ = last_at_or_before(first, guess, [&](std::int64_t k) { return regular_->begin(k); });
    return;
  }
  stride_seconds_ = static_cast<double>(stride.months) * mean_month_seconds;
  length_months_ = length.months, stride_months_ = stride.months;
  month_ = month_of(length.origin == Origin::moment ? length.moment : first);
  if (length.origin == Origin::year) month_ -= (month_ % 12 + 12) % 12;
  if (length.origin == Origin::moment) into_month_ = length.moment - begin_of_month(month_);
  const std::int64_t guess = (month_of(first) - month_) / stride_months_;
  from_ = last_at_or_before(first, guess, [&](std::int64_t k) {
    return Border{month_begin(month_ + k * stride_months_), false};
  });
}

double WindowBorders::month_begin(std::int64_t month) const { return begin_of_month(month) + into_month_; }

Border WindowBorders::begin(std::int64_t k) const {
  if (regular_) return regular_->begin(from_ + k);
  return {month_begin(month_ + (from_ + k) * stride_months_), false};
}

Border WindowBorders::end(std::int64_t k) const {
  if (regular_) return regular_->end(from_ + k);
  return {month_begin(month_ + (from_ + k) * stride_months_ + length_months_), false};
}

}  // namespace strobe
