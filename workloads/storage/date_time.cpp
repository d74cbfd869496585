#include "workloads/storage/date_time.hpp"

#include <charconv>
#include <chrono>
#include <string_view>

namespace strobe {
namespace {

/// Takes the parts of a date off the front of a text.
struct Scanner {
  std::string_view rest;

  bool take(char c) {
    const bool there = !rest.empty() && rest.front() == c;
    rest.remove_prefix(there);
    return there;
  }
  /// A number of exactly `count` digits, -1 when there is none.
  int digits(std::size_t count) {
    const std::string_view text = rest.substr(0, count);
    int value = 0;
    if (text.size() < count || text.find_first_not_of("0123456789") != std::string_view::npos) return -1;
    std::from_chars(text.data(), text.data() + count, value);
    rest.remove_prefix(count);
    return value;
  }
  /// YYYY-MM-DD or YYYY/MM/DD; sets `seconds` to the beginning of that day.
  bool date(double& seconds) {
    const int year = digits(4);
    const char between = rest.starts_with('/') ? '/' : '-';
    bool good = take(between);
    const int month = digits(2);
    good = good && take(between);
    const int day = digits(2);
    if (!good || year < 1 || month < 1 || day < 1) return false;
    const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                           std::chrono::day(static_cast<unsigned>(day))};
    if (!date.ok()) return false;
    seconds = day_seconds * static_cast<double>(std::chrono::sys_days(date).time_since_epoch().count());
    return true;
  }
  /// HH:MM, with `sign` and without the colon too, as zones are written: -0530. Added to `seconds`.
  bool hours_and_minutes(double& seconds, int sign) {
    const int hour = digits(2);
    if (hour < 0 || hour > 23) return false;
    if (!take(':') && sign == 0) return false;
    const int minute = sign != 0 && rest.empty() ? 0 : digits(2);
    if (minute < 0 || minute > 59) return false;
    seconds += (sign == 0 ? 1 : sign) * (3600.0 * hour + 60.0 * minute);
    return true;
  }
  /// HH:MM[:SS[.fraction]], added to `seconds`.
  bool time_of_day(double& seconds) {
    if (!hours_and_minutes(seconds, 0)) return false;
    if (!take(':')) return true;
    if (rest.empty() || rest.front() < '0' || rest.front() > '9') return false;  // no sign, no nan
    double second = 0;
    const auto [stop, error] =
        std::from_chars(rest.data(), rest.data() + rest.size(), second, std::chars_format::fixed);
    if (error != std::errc() || second >= 60) return false;
    rest.remove_prefix(static_cast<std::size_t>(stop - rest.data()));
    seconds += second;
    return true;
  }
  /// Z, or how far the clock is ahead of UTC: +HH:MM, +HHMM or +HH. Nothing stands for UTC, too.
  bool zone(double& seconds) {
    if (take('Z') || rest.empty()) return true;
    take(' ');
    // A clock that is ahead shows a time that UTC reaches later, so its lead is taken off.
    if (take('+')) return hours_and_minutes(seconds, -1);
    return take('-') && hours_and_minutes(seconds, 1);
  }
};

}  // namespace

bool parse_date_time(std::string_view text, double& seconds) {
  Scanner scan{text};
  const bool date = scan.date(seconds);
  const bool has_time = scan.take('T') || scan.take(' ');
  const bool time = has_time ? scan.time_of_day(seconds) && scan.zone(seconds) : scan.take('Z') || scan.rest.empty();
  return date && time && scan.rest.empty();
}

}  // namespace strobe
