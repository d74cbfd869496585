// Splits seconds into a day of the proleptic Gregorian calendar and a time of day. Digits of fractions are as few as
// read back to the same number, by the sum that the reader makes (TextReader::date_time). Cost: O(1) a date.
#include "workloads/reading/text/dates.hpp"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cmath>

#include "workloads/storage/date_time.hpp"

namespace strobe {
namespace {

constexpr int most_fraction_digits = 17;

/// The fraction's digits are as few as give `seconds` again; "" when none do.
std::string time_text(double seconds, double midnight) {
  const auto whole = static_cast<int>(std::floor(seconds - midnight));
  const int hour = whole / 3600, minute = whole / 60 % 60;
  const double second = seconds - midnight - 3600.0 * hour - 60.0 * minute;
  for (int digits = 0; digits <= most_fraction_digits; ++digits) {
    const std::string text = fmt::format("{:0{}.{}f}", second, digits == 0 ? 2 : digits + 3, digits);
    double read = 0;
    std::from_chars(text.data(), text.data() + text.size(), read, std::chars_format::fixed);
    if (read < 60 && midnight + (3600.0 * hour + 60.0 * minute + read) == seconds)
      return fmt::format("T{:02}:{:02}:{}", hour, minute, text);
  }
  return {};
}

}  // namespace

std::string date_text(double seconds, bool time_of_day) {
  const double day = std::floor(seconds / day_seconds);
  if (!(std::abs(day) < 4e6)) return fmt::format("{}", seconds);
  const std::chrono::year_month_day date(std::chrono::sys_days(std::chrono::days(static_cast<std::int64_t>(day))));
  const int year = static_cast<int>(date.year());
  const std::string time = time_of_day ? time_text(seconds, day * day_seconds) : "";
  if (year < 1 || year > 9999 || (time_of_day && time.empty())) return fmt::format("{}", seconds);
  return fmt::format("{:04}-{:02}-{:02}{}", year, static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()), time);
}

std::string date_text(double seconds) { return date_text(seconds, std::fmod(seconds, day_seconds) != 0); }

bool all_midnights(const TimeColumn& times) {
  for (std::size_t e = 0; e < times.size(); ++e) {
    if (std::fmod(times[e], day_seconds) != 0) return false;
  }
  return true;
}

}  // namespace strobe
