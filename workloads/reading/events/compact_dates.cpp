// One number in 27 of the range is a valid date, so a column of seconds that are all dates is very unlikely. A column
// of dates that is read as seconds would put two months into a window of a day. Months and years are too few to be told
// apart from counts, so they are only noted. Dates keep their order, so the events stay sorted.
// Cost: two looks for times outside the range, else one pass.
#include "workloads/reading/events/compact_dates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "workloads/storage/growing_column.hpp"

namespace strobe {
namespace {

constexpr double first_year = 1900, last_year = 2100, seconds_a_day = 86400;

bool all_between(const EventGraph& graph, double least, double most) {
  return graph.time.front() >= least && graph.time.back() <= most;
}

/// The beginning of the day that `time` writes as YYYYMMDD.
std::optional<double> day_of(double time) {
  const double least = first_year * 10000 + 101, most = last_year * 10000 + 1231;
  if (!(time >= least && time <= most) || time != std::floor(time)) return std::nullopt;
  const auto number = static_cast<unsigned>(time);
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(number / 10000)),
                                         std::chrono::month(number / 100 % 100), std::chrono::day(number % 100)};
  if (!date.ok()) return std::nullopt;
  return seconds_a_day * static_cast<double>(std::chrono::sys_days(date).time_since_epoch().count());
}

std::string with_hyphens(double time) {
  const auto number = static_cast<unsigned>(time);
  return fmt::format("{:04}-{:02}-{:02}", number / 10000, number / 100 % 100, number % 100);
}

/// Counts times that are no dates and gives the first of them.
template <class Times>
std::pair<std::int64_t, double> count_others(const Times& times) {
  std::pair<std::int64_t, double> others{0, 0};
  for (const double time : times) {
    if (day_of(time)) continue;
    if (others.first++ == 0) others.second = time;
  }
  return others;
}

void read_days(EventGraph& graph) {
  graph.provenance.notes.push_back(fmt::format(
      "times are dates without hyphens, {:.0f} to {:.0f}, and were read as the days {} to {}", graph.time.front(),
      graph.time.back(), with_hyphens(graph.time.front()), with_hyphens(graph.time.back())));
  const auto days_of = [](const auto& times) {
    GrowingColumn<double> days;
    days.reserve(times.size());
    for (const double time : times) days.push_back(*day_of(time));
    return days.finish();
  };
  const Column<double> days = days_of(graph.time);
  PackedTimes packed = PackedTimes::pack(days.size(), [&](std::size_t first, std::span<double> out) {
    std::copy_n(days.begin() + static_cast<std::ptrdiff_t>(first), out.size(), out.begin());
  });
  graph.time = packed.empty() ? TimeColumn(days) : TimeColumn(std::move(packed));
  graph.timed_labels.time = days_of(graph.timed_labels.time);
  graph.dated = true;
}

/// Whether all times are months, YYYYMM.
bool all_months(const EventGraph& graph) {
  if (!all_between(graph, first_year * 100 + 1, last_year * 100 + 12)) return false;
  for (const double time : graph.time) {
    const double month = std::fmod(time, 100);
    if (time != std::floor(time) || month < 1 || month > 12) return false;
  }
  return true;
}

bool all_whole(const EventGraph& graph) {
  for (const double time : graph.time)
    if (time != std::floor(time)) return false;
  return true;
}

}  // namespace

void settle_dates(EventGraph& graph) {
  if (graph.stepped || graph.events() == 0 || graph.provenance.format == "strobe-binary") return;
  auto& notes = graph.provenance.notes;
  if (all_between(graph, first_year * 10000 + 101, last_year * 10000 + 1231)) {
    const auto [others, example] = count_others(graph.time);
    const auto [other_labels, label_example] = count_others(graph.timed_labels.time);
    if (others == 0 && other_labels == 0) return read_days(graph);
    if (others * 10 <= graph.events())
      notes.push_back(
          fmt::format("times look like dates without hyphens, but {:.0f} is none, so they were read as seconds",
                      others > 0 ? example : label_example));
  } else if (all_months(graph)) {
    notes.push_back(
        fmt::format("times from {:.0f} to {:.0f} were read as seconds; months must be written as dates "
                    "(2016-01-01), or be counted in a column step",
                    graph.time.front(), graph.time.back()));
  } else if (all_between(graph, first_year, last_year) && all_whole(graph)) {
    notes.push_back(
        fmt::format("times from {:.0f} to {:.0f} were read as seconds; years must be written as dates "
                    "(2016-01-01), or be in a column called step",
                    graph.time.front(), graph.time.back()));
  }
}

}  // namespace strobe
