#include "harness/run/concurrency.hpp"

#include <algorithm>
#include <utility>

#include "models/tape/range_log.hpp"

namespace strobe {
namespace {

/// Intervals in which a rank's own thread works, or the worker that does its host work. Overlapping ones are merged, so
/// that a rank with two busy streams of a device counts once.
std::vector<std::pair<double, double>> working_intervals(const std::vector<Span>& spans, bool on_host) {
  std::vector<std::pair<double, double>> intervals;
  for (const Span& span : spans) {
    if (span.phase == Phase::wait || is_range(span) || span.end_seconds <= span.begin_seconds) continue;
    if ((span.stream == Stream::host) != on_host) continue;
    intervals.emplace_back(span.begin_seconds, span.end_seconds);
  }
  std::sort(intervals.begin(), intervals.end());
  std::vector<std::pair<double, double>> merged;
  for (const auto& [begin, end] : intervals) {
    if (merged.empty() || begin > merged.back().second) {
      merged.emplace_back(begin, end);
    } else {
      merged.back().second = std::max(merged.back().second, end);
    }
  }
  return merged;
}

}  // namespace

double mean_computing_ranks(const std::vector<std::vector<Span>>& ranks) {
  std::vector<std::pair<double, int>> changes;  // (time, change of the number of working ranks)
  for (const std::vector<Span>& spans : ranks) {
    for (const bool on_host : {false, true}) {
      for (const auto& [begin, end] : working_intervals(spans, on_host)) {
        changes.emplace_back(begin, 1);
        changes.emplace_back(end, -1);
      }
    }
  }
  std::sort(changes.begin(), changes.end());
  double busy = 0, weighted = 0, last = 0;
  int working = 0;
  for (const auto& [time, change] : changes) {
    busy += working * (time - last);
    weighted += static_cast<double>(working) * working * (time - last);
    last = time;
    working += change;
  }
  return busy > 0 ? weighted / busy : 0;
}

}  // namespace strobe
