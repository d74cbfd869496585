// Cuts time-sorted events into windows: by duration, by number of events, into equal slices, or by the file's steps.
// Returns: for each step its range of events. Invariants: ranges are in order, first and last never decrease; without
// stride and lags every event lies in exactly one window, with them in at least one (unless partial windows go); times
// and lengths of at most nine decimals are compared as these decimals (time_borders.hpp).
// Cost: O(E + T). Source of `lags`: DynaHB's released readers, which cut the time span into `window` slices and let
// snapshot i hold the slices i .. i + lags.
#include "workloads/graph/windows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "core/errors.hpp"
#include "core/system/machine_limits.hpp"
#include "core/units.hpp"
#include "workloads/graph/outlying_times.hpp"
#include "workloads/graph/time_borders.hpp"
#include "workloads/graph/window_span.hpp"

namespace strobe {
namespace {

constexpr double bytes_per_vertex_and_step = sizeof(std::int64_t) + 2 * sizeof(float);  // row offset, two degrees

/// Windows with what `partial=drop` needs to know: how many of the last ones are not full.
struct Cut {
  StepCut steps;
  std::size_t partial = 0;

  void add(double begin, double end, double next_end, std::size_t first, std::size_t last, bool is_partial) {
    steps.begin.push_back(begin);
    steps.end.push_back(end);
    steps.next_end.push_back(next_end);
    steps.first.push_back(static_cast<std::int64_t>(first));
    steps.last.push_back(static_cast<std::int64_t>(last));
    partial += is_partial;
  }
};

/// The first time after `time` in the same unit.
double just_behind(const EventGraph& events, double time) {
  return events.stepped ? time + 1 : std::nextafter(time, std::numeric_limits<double>::infinity());
}

/// How many events lie before `border`; at least `from`.
std::size_t events_before(const EventGraph& events, const Border& border, std::size_t from) {
  const auto begin = events.time.begin() + static_cast<std::ptrdiff_t>(from);
  const auto at = std::partition_point(begin, events.time.end(), [&](double time) { return border.is_after(time); });
  return static_cast<std::size_t>(at - events.time.begin());
}

/// Refuses numbers of steps that no machine of this size could hold, before anything is allocated.
void check_steps(double steps, const EventGraph& events, const std::string& where) {
  const double bytes = steps * static_cast<double>(events.vertices + 1) * bytes_per_vertex_and_step;
  const double memory = usable_memory_bytes();
  if (steps >= std::numeric_limits<Step>::max() || bytes > memory) {
    const std::string hint = outlying_times_hint(events);
    throw InvalidRequest(where, fmt::format("{:.0f} steps of {} vertices need {}, this machine has {}; {}", steps,
                                            format_count(events.vertices), format_bytes(bytes), format_bytes(memory),
                                            hint.empty() ? "choose longer windows" : hint));
  }
}

/// Half-open windows between `borders`, until one begins after the last event.
Cut cut_by_borders(const EventGraph& events, const WindowBorders& borders, const std::string& where) {
  const double end = events.time.back();
  check_steps(std::floor((end - borders.begin(0).nearest) / borders.stride_seconds()) + 1, events, where);
  // A window of seconds that holds the last event ends after it, so the data may have cut it off. Integer steps show
  // whether they did.
  const double filled_until = events.stepped ? end + 1 : end;
  Cut cut;
  std::size_t low = 0, high = 0;
  for (std::int64_t k = 0; high < events.time.size() || !borders.begin(k).is_after(end); ++k) {
    const Border begin = borders.begin(k), close = borders.end(k);
    low = borders.disjoint() ? high : events_before(events, begin, low);
    high = events_before(events, close, high);
    cut.add(begin.nearest, close.nearest, borders.end(k + 1).nearest, low, high, close.is_after(filled_until));
  }
  return cut;
}

/// Exactly `count` equal slices of the time span; the last one is closed at its end.
Cut cut_by_count(const EventGraph& events, std::int64_t count) {
  const double first = events.time.front(), close = events.time.back() + (events.stepped ? 1 : 0);
  if (count > 1 && !(close > first)) {
    throw InvalidRequest("window_count",
                         fmt::format("all events have the same time; they cannot be cut into {} slices", count));
  }
  check_steps(static_cast<double>(count), events, "window_count");
  const auto border = [&](std::int64_t k) { return slice_border(first, close, count, k); };
  const auto end_of = [&](std::int64_t k) {
    return k < count ? border(k).nearest : std::max(border(k).nearest, just_behind(events, events.time.back()));
  };
  Cut cut;
  std::size_t next = 0;
  for (std::int64_t k = 0; k < count; ++k) {
    const std::size_t begin = next;
    next = k + 1 == count ? events.time.size() : events_before(events, border(k + 1), next);
    cut.add(border(k).nearest, end_of(k + 1), end_of(k + 2), begin, next, false);
  }
  return cut;
}

/// Windows of `size` events, `stride` events apart.
Cut cut_by_events(const EventGraph& events, std::int64_t size, std::int64_t stride) {
  const std::int64_t total = events.events();
  check_steps(std::ceil(static_cast<double>(total) / static_cast<double>(stride)), events, "window_events");
  const auto end_of = [&](std::int64_t last) {
    const double behind = just_behind(events, events.time[last - 1]);
    return last == total ? behind : std::max(behind, events.time[last]);
  };
  Cut cut;
  for (std::int64_t first = 0; first < total; first += std::min(stride, total - first)) {
    const std::int64_t last = first + std::min(size, total - first), step = std::min(stride, total - first);
    const bool more = first + step < total;
    const double next = more ? end_of(last + std::min(step, total - last)) : std::numeric_limits<double>::infinity();
    cut.add(events.time[first], end_of(last), next, static_cast<std::size_t>(first), static_cast<std::size_t>(last),
            last - first < size);
  }
  return cut;
}

/// Refuses what only seconds have where times count steps.
void check_span(const EventGraph& events, const std::string& text, const WindowSpan& span, const std::string& where) {
  if (!events.stepped) return;
  if (!span.bare || span.seconds != std::floor(span.seconds) || span.origin != WindowSpan::Origin::first)
    throw InvalidRequest(where, fmt::format("'{}': time counts steps here; write a whole number of steps", text));
}

Cut cut_by_duration(const EventGraph& events, const Windowing& windowing) {
  const WindowSpan length = parse_window(windowing.duration, "window");
  check_span(events, windowing.duration, length, "window");
  const double first = events.time.front();
  if (windowing.stride.empty()) return cut_by_borders(events, {length, length, first}, "window");
  const WindowSpan stride = parse_stride(windowing.stride, "stride");
  check_span(events, windowing.stride, stride, "stride");
  return cut_by_borders(events, {length, stride, first}, "stride");
}

Cut cut_by_event_numbers(const EventGraph& events, const Windowing& windowing) {
  if (windowing.stride.empty()) return cut_by_events(events, windowing.events, windowing.events);
  std::int64_t stride = 0;
  const char *begin = windowing.stride.data(), *end = begin + windowing.stride.size();
  const auto [stop, error] = std::from_chars(begin, end, stride);
  if (error != std::errc{} || stop != end || stride < 1) {
    throw InvalidRequest(
        "stride", fmt::format("'{}': windows count events here; write a whole number of events", windowing.stride));
  }
  if (stride > windowing.events)
    throw InvalidRequest("stride", "a stride longer than the window would leave out events");
  return cut_by_events(events, windowing.events, stride);
}

void check_choices(const EventGraph& events, const Windowing& windowing) {
  const int chosen = !windowing.duration.empty() + (windowing.events != 0) + (windowing.count != 0);
  if (chosen > 1) {
    throw InvalidRequest("window", "window, window_events and window_count exclude each other; give one of them");
  }
  const int repeating =
      windowing.cumulative + !windowing.stride.empty() + (windowing.lags != 0) + (windowing.edge_life != 1);
  if (repeating > 1) {
    throw InvalidRequest("window",
                         "cumulative, stride, lags and edge_life exclude each other, because together they would count "
                         "an event more than once in a step; give one of them");
  }
  if (windowing.events < 0) throw InvalidRequest("window_events", "must be positive");
  if (windowing.count < 0) throw InvalidRequest("window_count", "must be positive");
  if (windowing.lags < 0) throw InvalidRequest("lags", "must not be negative");
  if (windowing.edge_life < 1) throw InvalidRequest("edge_life", "must be at least 1");
  if (windowing.min_edges < 0) throw InvalidRequest("min_edges", "must not be negative");
  if (!windowing.stride.empty() && windowing.duration.empty() && windowing.events == 0) {
    throw InvalidRequest("stride", "needs window or window_events; slices and steps overlap by lags=N");
  }
  if (events.events() == 0) throw InvalidRequest("workload", "the graph has no events");
}

Cut cut_windows(const EventGraph& events, const Windowing& windowing) {
  if (!windowing.duration.empty()) return cut_by_duration(events, windowing);
  if (windowing.events > 0) return cut_by_event_numbers(events, windowing);
  if (windowing.count > 0) return cut_by_count(events, windowing.count);
  if (!events.stepped) {
    throw InvalidRequest("window", "the events have times, not steps; give window, window_events or window_count");
  }
  const WindowSpan step{.seconds = 1};
  return cut_by_borders(events, {step, step, events.time.front()}, "workload");
}

}  // namespace

StepCut cut_steps(const EventGraph& events, const Windowing& windowing) {
  check_choices(events, windowing);
  auto [steps, partial] = cut_windows(events, windowing);
  std::size_t kept = steps.begin.size() - (windowing.partial == "drop" ? partial : 0);
  if (kept == 0) throw InvalidRequest("partial", "every window is partial; nothing is left when those are dropped");
  const std::size_t lags = windowing.lags;
  if (lags >= kept) {
    throw InvalidRequest(
        "lags",
        fmt::format(
            "a step of {} windows needs more windows than the {} that there are; take fewer lags or narrower windows",
            lags + 1, kept));
  }
  kept -= lags;
  // A step begins with its first window and ends with its last.
  const auto from = [&](auto& values, std::size_t window) {
    values.erase(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(window));
    values.resize(kept);
  };
  steps.from = steps.begin.front(), steps.first_end = steps.end[lags];
  steps.until = steps.end.back(), steps.next_until = steps.next_end.back();
  from(steps.begin, 0), from(steps.first, 0);
  from(steps.last, lags), from(steps.end, lags), from(steps.next_end, lags);
  return std::move(steps);
}

}  // namespace strobe
