// Windows of decimal times against whole numbers of the smallest unit, which have no rounding.
#include "workloads/graph/time_borders.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <random>

#include "core/errors.hpp"
#include "core/units.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/graph/windows.hpp"

namespace strobe {
namespace {

using Numbers = std::vector<std::int64_t>;

constexpr std::int64_t power_of_ten(int digits) {
  std::int64_t power = 1;
  for (int i = 0; i < digits; ++i) power *= 10;
  return power;
}

/// number / 10^digits as text, and as the double that reading this text gives.
std::string text_of(std::int64_t number, int digits) {
  const std::int64_t power = power_of_ten(digits), size = std::abs(number);
  std::string fraction = std::to_string(size % power);
  fraction.insert(
      0, static_cast<std::size_t>(digits) - std::min<std::size_t>(fraction.size(), static_cast<std::size_t>(digits)),
      '0');
  return (number < 0 ? "-" : "") + std::to_string(size / power) + (digits > 0 ? "." + fraction : "");
}
double time_of(std::int64_t number, int digits) { return std::strtod(text_of(number, digits).c_str(), nullptr); }

EventGraph events_at(const Numbers& numbers, int digits) {
  std::vector<std::tuple<int, int, double>> rows;
  for (const std::int64_t number : numbers) rows.emplace_back(0, 1, time_of(number, digits));
  return test::make_events(2, rows);
}

Numbers sizes_of(const StepCut& cut) {
  Numbers sizes;
  for (std::size_t t = 0; t < cut.first.size(); ++t) sizes.push_back(cut.last[t] - cut.first[t]);
  return sizes;
}

/// Events in [first + k stride, first + k stride + length), for every k whose window begins at or before the last
/// event.
Numbers judged_windows(const Numbers& times, std::int64_t length, std::int64_t stride) {
  Numbers sizes;
  for (std::int64_t begin = times.front(); begin <= times.back(); begin += stride) {
    sizes.push_back(std::count_if(times.begin(), times.end(),
                                  [&](std::int64_t time) { return begin <= time && time < begin + length; }));
  }
  return sizes;
}

/// Events in slice k: k span <= (time - first) count < (k + 1) span, the last one closed.
Numbers judged_slices(const Numbers& times, std::int64_t count) {
  Numbers sizes(static_cast<std::size_t>(count), 0);
  const std::int64_t span = times.back() - times.front();
  for (const std::int64_t time : times) ++sizes[std::min(count - 1, (time - times.front()) * count / span)];
  return sizes;
}

struct RandomTimes {
  Numbers times;
  int digits;
};

/// Ascending times of 0 to 9 decimals, from below zero to the seconds of today as far as doubles hold the digits, many
/// of them at multiples of a few units.
RandomTimes random_times(std::mt19937_64& random) {
  const int digits = static_cast<int>(random() % 10);
  const std::int64_t origins[] = {0, -7, 3, -1000, 1500000000, -1500000000};
  std::int64_t origin = origins[random() % (digits <= 6 ? 6 : 4)];
  std::int64_t now = origin * power_of_ten(digits) + static_cast<std::int64_t>(random() % 10);
  const std::int64_t unit = 1 + random() % 13;
  RandomTimes result{{}, digits};
  for (int i = 0; i < 60; ++i) {
    result.times.push_back(now);
    if (random() % 4 != 0) now += unit * static_cast<std::int64_t>(random() % 4) + (random() % 5 == 0 ? 1 : 0);
  }
  return result;
}

TEST(TimeBorders, TenthsOfASecondAreTenWindows) {
  Numbers tenths(10);
  for (std::size_t i = 0; i < 10; ++i) tenths[i] = static_cast<std::int64_t>(i);
  for (const char* window : {"0.1s", "0.1", "100ms"})
    EXPECT_EQ(sizes_of(cut_steps(events_at(tenths, 1), {.duration = window})), Numbers(10, 1)) << window;
}

TEST(TimeBorders, WindowsOfDecimalsAreThoseOfWholeNumbers) {
  std::mt19937_64 random(11);
  for (int trial = 0; trial < 3000; ++trial) {
    const auto [times, digits] = random_times(random);
    const EventGraph events = events_at(times, digits);
    const std::int64_t length = 1 + random() % 25;
    const std::int64_t stride = 1 + random() % static_cast<std::uint64_t>(length);
    const std::string window = text_of(length, digits), step = text_of(stride, digits);
    EXPECT_EQ(sizes_of(cut_steps(events, {.duration = window})), judged_windows(times, length, length))
        << trial << " window " << window << " from " << text_of(times.front(), digits);
    EXPECT_EQ(sizes_of(cut_steps(events, {.duration = window, .stride = step})), judged_windows(times, length, stride))
        << trial << " window " << window << " stride " << step;
    if (HasFailure()) return;
  }
}

TEST(TimeBorders, SlicesOfDecimalsAreThoseOfWholeNumbers) {
  std::mt19937_64 random(12);
  for (int trial = 0; trial < 3000; ++trial) {
    const auto [times, digits] = random_times(random);
    if (times.front() == times.back()) continue;
    const std::int64_t count = 1 + random() % 40;
    EXPECT_EQ(sizes_of(cut_steps(events_at(times, digits), {.count = count})), judged_slices(times, count))
        << trial << " count " << count << " from " << text_of(times.front(), digits);
    if (HasFailure()) return;
  }
}

/// Packed times are compared like others; a thousand multiples of many lengths.
TEST(TimeBorders, NoWindowOfMultiplesIsEmpty) {
  for (const int tenths : {1, 2, 3, 5, 7, 9}) {
    std::vector<double> times;
    Numbers numbers;
    for (std::int64_t k = 0; k < 1000; ++k) numbers.push_back(k), times.push_back(time_of(k, 1));
    EventGraph events = events_at(numbers, 1);
    events.time = test::pack(times);
    ASSERT_TRUE(events.time.compact());
    EXPECT_EQ(sizes_of(cut_steps(events, {.duration = text_of(tenths, 1)})), judged_windows(numbers, tenths, tenths));
  }
}

TEST(TimeBorders, EndsAreWhereTheNextWindowBegins) {
  const EventGraph events = test::make_events(2, {{0, 1, 1}, {0, 1, 1.3}, {0, 1, 1.3}, {0, 1, 2.5}});
  const StepCut windows = cut_steps(events, {.duration = "0.3"});
  EXPECT_EQ(windows.begin, (std::vector<double>{1, 1.3, 1.6, 1.9, 2.2, 2.5}));
  EXPECT_EQ(windows.end, (std::vector<double>{1.3, 1.6, 1.9, 2.2, 2.5, 2.8}));
  const StepCut lagging = cut_steps(events, {.duration = "0.3", .lags = 2});
  EXPECT_EQ(lagging.begin, (std::vector<double>{1, 1.3, 1.6, 1.9}));
  EXPECT_EQ(lagging.end, (std::vector<double>{1.9, 2.2, 2.5, 2.8})) << "where the last of three windows ends";
  const double behind = std::nextafter(2.5, 3);
  EXPECT_EQ(cut_steps(events, {.count = 3}).end, (std::vector<double>{1.5, 2, behind})) << "closed at its end";
  EXPECT_EQ(cut_steps(events, {.events = 2}).end, (std::vector<double>{std::nextafter(1.3, 2), behind}))
      << "the instant 1.3 goes on in the second window, but the first one holds it too";
  EventGraph stepped = test::make_events(2, {{0, 1, 2001}, {0, 1, 2003}});
  stepped.stepped = true;
  EXPECT_EQ(cut_steps(stepped, {}).end, (std::vector<double>{2002, 2003, 2004}));
  EXPECT_EQ(cut_steps(stepped, {.count = 1}).end, (std::vector<double>{2004}));
}

TEST(TimeBorders, OfThirdsLieBetweenDoubles) {
  const Border third = slice_border(0, 1, 3, 1);
  EXPECT_EQ(third.nearest, 1.0 / 3);
  EXPECT_TRUE(third.is_after(0.333333333));
  EXPECT_FALSE(third.is_after(0.333333334));
  // Times with more digits than nine are compared as doubles, as before.
  EXPECT_EQ(slice_border(1.0 / 3, 1, 2, 1).nearest, 1.0 / 3 + (1 - 1.0 / 3) / 2);
}

TEST(TimeBorders, DurationsAreTheNearestDoubles) {
  EXPECT_EQ(parse_duration_seconds("1.1h", ""), 3960.0);
  for (int i = 1; i < 3000; ++i) {
    EXPECT_EQ(parse_duration_seconds(std::to_string(i) + "ms", ""), time_of(i, 3)) << i;
    EXPECT_EQ(parse_duration_seconds(text_of(i, 3) + "min", ""), time_of(std::int64_t{i} * 60, 3)) << i;
  }
}

TEST(TimeBorders, CutInstantsAreNoted) {
  EventGraph events = test::make_events(2, {{0, 1, 0}, {0, 1, 1}, {0, 1, 1}, {0, 1, 1}, {0, 1, 2}});
  EXPECT_TRUE(test::any_note(make_snapshots(events, {.events = 2}), "1 of 3 windows of events end between events of"));
  EXPECT_FALSE(test::any_note(make_snapshots(events, {.events = 4}), "end between events"));
  EXPECT_FALSE(test::any_note(make_snapshots(events, {.duration = "1"}), "end between events"));
}

}  // namespace
}  // namespace strobe
