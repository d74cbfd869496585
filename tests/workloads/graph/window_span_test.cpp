// Windows with an origin and of the calendar, against a judge that gives each event its day, week, month or year.
#include "workloads/graph/window_span.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "core/errors.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/graph/windows.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

using test::any_note;
using test::TemporaryFolder;

constexpr double day = 86400;

double date(int year, unsigned month, unsigned of_month) {
  const std::chrono::year_month_day when{std::chrono::year(year), std::chrono::month(month),
                                         std::chrono::day(of_month)};
  return day * static_cast<double>(std::chrono::sys_days(when).time_since_epoch().count());
}

EventGraph events_at(const std::vector<double>& times) {
  std::vector<std::tuple<int, int, double>> rows;
  for (std::size_t i = 0; i < times.size(); ++i) rows.emplace_back(i % 5, (i + 1) % 5, times[i]);
  return test::make_events(5, rows);
}

std::vector<std::int64_t> sizes(const EventGraph& events, const Windowing& windowing) {
  const StepCut cut = cut_steps(events, windowing);
  std::vector<std::int64_t> counts;
  for (std::size_t t = 0; t < cut.begin.size(); ++t) counts.push_back(cut.last[t] - cut.first[t]);
  return counts;
}

std::string refusal(const EventGraph& events, const Windowing& windowing) {
  try {
    cut_steps(events, windowing);
  } catch (const InvalidRequest& error) {
    return error.what();
  }
  return "nothing was refused";
}

using Counts = std::vector<std::int64_t>;

TEST(WindowSpan, CutsCalendarDays) {
  const double begin = date(2020, 1, 1);
  const EventGraph events = events_at({begin + 72000, begin + 82800, begin + 90000, begin + 165600});
  EXPECT_EQ(sizes(events, {.duration = "1d"}), (Counts{3, 1}));
  for (const char* window :
       {"1d:origin=midnight", "1day", "day", "1d:origin=epoch", "1d:origin=2020-01-01", "1d:origin=2031-05-06",
        "24h:origin=1999-12-31T00:00Z", "1d:origin=2020-01-01T02:00+02:00"})
    EXPECT_EQ(sizes(events, {.duration = window}), (Counts{2, 2})) << window;
  EXPECT_EQ(sizes(events, {.duration = "1d:origin=first"}), (Counts{3, 1}));
  EXPECT_EQ(sizes(events, {.duration = "1d:origin=2020-01-01T12:00"}), (Counts{3, 1}));
  EXPECT_EQ(sizes(events, {.duration = "1week"}), (Counts{4}));
  EXPECT_EQ(cut_steps(events, {.duration = "week"}).from, date(2019, 12, 30));  // a Monday
  EXPECT_EQ(cut_steps(events, {.duration = "2w:origin=monday"}).from, date(2019, 12, 30));
}

/// The number of the calendar's unit that holds a time.
std::int64_t unit_of(const std::string& unit, double time) {
  const auto days = static_cast<std::int64_t>(std::floor(time / day));
  if (unit == "day") return days;
  if (unit == "week") return static_cast<std::int64_t>(std::floor(static_cast<double>(days + 3) / 7));  // Thursday 1970
  const std::chrono::year_month_day when{std::chrono::sys_days(std::chrono::days(days))};
  const std::int64_t year = static_cast<int>(when.year());
  return unit == "year" ? year : year * 12 + static_cast<unsigned>(when.month());
}

TEST(WindowSpan, AgreesWithTheCalendarOverCenturies) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    const std::string unit = std::vector<std::string>{"day", "week", "month", "year"}[random() % 4];
    const std::int64_t length = 1 + static_cast<std::int64_t>(random() % 3);
    std::vector<double> times;
    double time = date(1850 + static_cast<int>(random() % 200), 1, 1) + static_cast<double>(random() % 31000000);
    const double longest = unit == "year" ? 3e7 : unit == "month" ? 3e6 : 2e5;
    for (int i = 0; i < 60; ++i) {
      times.push_back(time);
      const bool border = random() % 4 == 0;
      time += std::floor(longest * static_cast<double>(random() % 100) / 100);
      if (border) time = std::ceil(time / day) * day;
    }
    const EventGraph events = events_at(times);
    std::map<std::int64_t, std::int64_t> expected;
    for (const double t : times) expected[(unit_of(unit, t) - unit_of(unit, times[0])) / length]++;
    const Counts found = sizes(events, {.duration = std::to_string(length) + unit + (round % 2 == 0 ? "s" : "")});
    ASSERT_EQ(found.size(), static_cast<std::size_t>(expected.rbegin()->first + 1)) << unit << length;
    for (std::size_t k = 0; k < found.size(); ++k)
      ASSERT_EQ(found[k], expected[static_cast<std::int64_t>(k)]) << unit << length << " window " << k;
  }
}

TEST(WindowSpan, KeepsAGridThroughItsOrigin) {
  std::mt19937 random(4);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> times;
    unsigned time = random() % 100000;  // tenths, which doubles would add up inexactly
    for (int i = 0; i < 40; ++i) times.push_back(time / 10.0), time += random() % 50;
    const EventGraph events = events_at(times);
    const int tenths = 1 + static_cast<int>(random() % 40), stride = 1 + static_cast<int>(random()) % tenths;
    const std::string window = fmt::format("{}.{}:origin=epoch", tenths / 10, tenths % 10);
    const std::string apart = fmt::format("{}.{}", std::abs(stride) / 10, std::abs(stride) % 10);
    if (stride <= 0) continue;
    const StepCut cut = cut_steps(events, {.duration = window, .stride = apart});
    const auto in_tenths = [](double value) { return std::llround(value * 10); };
    const long long first = in_tenths(times[0]) / stride;
    for (std::size_t k = 0; k < cut.begin.size(); ++k) {
      const long long begin = (first + static_cast<long long>(k)) * stride;
      ASSERT_EQ(in_tenths(cut.begin[k]), begin) << window << " " << apart;
      const auto expected = std::count_if(
          times.begin(), times.end(), [&](double t) { return in_tenths(t) >= begin && in_tenths(t) < begin + tenths; });
      ASSERT_EQ(cut.last[k] - cut.first[k], expected) << window << " " << apart << " window " << k;
    }
  }
}

TEST(WindowSpan, SlidesAndGrowsByMonths) {
  const EventGraph events =
      events_at({date(2020, 1, 31), date(2020, 2, 29), date(2020, 3, 1), date(2020, 4, 30) + 5, date(2020, 5, 1)});
  EXPECT_EQ(sizes(events, {.duration = "1month"}), (Counts{1, 1, 1, 1, 1}));
  EXPECT_EQ(sizes(events, {.duration = "2months", .stride = "1month"}), (Counts{2, 2, 2, 2, 1}));
  EXPECT_EQ(sizes(events, {.duration = "month", .lags = 1}), (Counts{2, 2, 2, 2}));
  EXPECT_EQ(sizes(events, {.duration = "month", .partial = "drop"}), (Counts{1, 1, 1, 1}));
  EXPECT_EQ(sizes(events, {.duration = "1month:origin=2020-01-28"}), (Counts{1, 2, 0, 2}));
  EXPECT_EQ(sizes(events, {.duration = "1month:origin=2033-07-28"}), (Counts{1, 2, 0, 2}));
}

TEST(WindowSpan, RefusesByName) {
  const EventGraph events = events_at({0, 1e6, 2e6});
  const std::vector<std::pair<Windowing, std::string>> bad = {
      {{.duration = "1d:origin=noon"}, "origin=first, midnight, monday, epoch or a date"},
      {{.duration = "1d:from=midnight"}, ":origin=midnight"},
      {{.duration = "1d:"}, ":origin=midnight"},
      {{.duration = "0months"}, "between 1 and 1000"},
      {{.duration = "1.5months"}, "not a positive duration"},
      {{.duration = "99999999999999999999years"}, "between 1 and 1000"},
      {{.duration = "1month:origin=midnight"}, "months begin on their first day"},
      {{.duration = "1month:origin=2020-01-31"}, "not every month has this day"},
      {{.duration = "1month", .stride = "1d"}, "do not go together"},
      {{.duration = "1d", .stride = "1month"}, "do not go together"},
      {{.duration = "1month", .stride = "2months"}, "would leave out events"},
      {{.duration = "1d", .stride = "1d:origin=midnight"}, "the origin is that of the window"}};
  for (const auto& [windowing, fragment] : bad)
    EXPECT_NE(refusal(events, windowing).find(fragment), std::string::npos) << refusal(events, windowing);
  EventGraph stepped = events_at({0, 1, 2});
  stepped.stepped = true;
  for (const char* window : {"2:origin=midnight", "1month", "1day", "2d"})
    EXPECT_NE(refusal(stepped, {.duration = window}).find("time counts steps here"), std::string::npos) << window;
  EXPECT_EQ(sizes(stepped, {.duration = "2:origin=first"}), (Counts{2, 1}));
}

TEST(WindowSpan, IsPartOfAWorkloadsParametersAndNotes) {
  const TemporaryFolder folder;
  const std::string path = folder.write("days.csv",
                                        "source,target,time\n1,2,2020-01-01 20:00:00\n2,3,2020-01-01 23:00:00\n"
                                        "3,1,2020-01-02 01:00:00\n1,3,2020-01-02 22:00:00\n");
  const Json parameters{{"window", "1d:origin=midnight"}};
  EXPECT_EQ(complete_workload_parameters(path, parameters, "")["window"], "1d:origin=midnight");
  const SnapshotGraph graph = load_workload(path, parameters, 1);
  EXPECT_TRUE(any_note(graph, "window=1d:origin=midnight: the first window begins at 2020-01-01 (UTC)"));
  EXPECT_EQ(graph.steps(), 2);
  EXPECT_EQ(load_workload("chess", {{"window", "1year"}}, 1).steps(), 9);  // March 1998 to 2006
  EXPECT_THROW(complete_workload_parameters(path, {{"window", "1d:origin=noon"}}, ""), InvalidRequest);
  EXPECT_THROW(load_workload("bursty_events", {{"window", "1d:origin=noon"}}, 1), InvalidRequest);
}

}  // namespace
}  // namespace strobe
