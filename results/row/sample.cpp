// From spans to one epoch's sample. Returns the phases of one rank's epoch such that they add up to the epoch. Every
// blocking span adds to its phase the part of its interval that lies inside the epoch and that no earlier blocking span
// covers. `other` is the rest.
// Invariant: blocking spans of one rank do not overlap, so "not covered earlier" only removes rounding; it also keeps
// `other` from ever being negative. Operations are added up by name, also where others run at the same time.
// Cost: O(n log n) for n spans, O(n) when they are in order.
#include "results/row/sample.hpp"

#include <algorithm>
#include <unordered_map>

namespace strobe {
namespace {

struct Interval {
  double begin = 0;
  double end = 0;
};

/// Blocking spans in order of their begin; the recorder keeps them in order of their end.
std::vector<const Span*> blocking_in_order(const std::vector<Span>& spans, std::size_t first, std::size_t last) {
  std::vector<const Span*> result;
  for (std::size_t i = first; i < last; ++i) {
    if (spans[i].blocking) result.push_back(&spans[i]);
  }
  const auto earlier = [](const Span* a, const Span* b) { return a->begin_seconds < b->begin_seconds; };
  if (!std::is_sorted(result.begin(), result.end(), earlier)) std::stable_sort(result.begin(), result.end(), earlier);
  return result;
}

/// Seconds of [begin, end) that the sorted, disjoint `intervals` cover.
double covered_seconds(const std::vector<Interval>& intervals, double begin, double end) {
  const auto ends_before = [](const Interval& interval, double at) { return interval.end <= at; };
  double covered = 0;
  for (auto it = std::lower_bound(intervals.begin(), intervals.end(), begin, ends_before);
       it != intervals.end() && it->begin < end; ++it) {
    covered += std::max(0.0, std::min(it->end, end) - std::max(it->begin, begin));
  }
  return covered;
}

/// Fills in the phases and returns the intervals in which the rank was held up by communication.
std::vector<Interval> split_phases(const std::vector<const Span*>& blocking, double begin, double end,
                                   EpochSample& sample) {
  std::vector<Interval> held_up;
  double covered_until = begin, covered = 0;
  for (const Span* span : blocking) {
    const Interval part{std::max(span->begin_seconds, covered_until), std::min(span->end_seconds, end)};
    if (part.end <= part.begin) continue;
    covered_until = part.end;
    if (span->phase == Phase::other) continue;
    sample.phase_seconds[span->phase] += part.end - part.begin;
    covered += part.end - part.begin;
    if (span->phase == Phase::communicate || span->phase == Phase::wait) held_up.push_back(part);
  }
  sample.phase_seconds[Phase::other] = std::max(0.0, sample.epoch_seconds - covered);
  return held_up;
}

/// Operations of the device, and those of the host that run at the same time. It leaves out collectives and transfers.
bool is_operation(const Span& span) {
  return span.phase == Phase::compute || (span.phase == Phase::host && span.stream == Stream::host && !span.blocking);
}

std::vector<OperationTotals> totals_by_operation(const std::vector<Span>& spans, std::size_t first, std::size_t last) {
  std::unordered_map<std::string_view, OperationTotals> sums;
  for (std::size_t i = first; i < last; ++i) {
    if (!is_operation(spans[i])) continue;
    OperationTotals& sum = sums[spans[i].name];
    sum.name = spans[i].name;
    sum.seconds += spans[i].end_seconds - spans[i].begin_seconds;
    sum.flops += spans[i].work.flops;
    sum.bytes += spans[i].work.bytes();
  }
  std::vector<OperationTotals> result;
  result.reserve(sums.size());
  for (const auto& [name, totals] : sums) result.push_back(totals);
  std::sort(result.begin(), result.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return result;
}

}  // namespace

EpochSample sample_from_spans(const std::vector<Span>& spans, std::size_t first, std::size_t last, double begin_seconds,
                              double end_seconds) {
  EpochSample sample;
  sample.begin_seconds = begin_seconds;
  sample.epoch_seconds = end_seconds - begin_seconds;
  const std::vector<Interval> held_up =
      split_phases(blocking_in_order(spans, first, last), begin_seconds, end_seconds, sample);
  sample.operations = totals_by_operation(spans, first, last);
  sample.busy_seconds = sample.epoch_seconds - sample.phase_seconds[Phase::wait];
  for (std::size_t i = first; i < last; ++i) {
    const Span& span = spans[i];
    sample.sent_bytes[span.traffic] += span.sent_bytes;
    sample.transfer_bytes += span.transfer_bytes;
    sample.messages += span.messages;
    if (span.phase == Phase::compute) {
      sample.work.flops += span.work.flops;
      sample.work.bytes_read += span.work.bytes_read;
      sample.work.bytes_written += span.work.bytes_written;
    }
    if (span.phase == Phase::communicate && !span.blocking) {
      const double from = std::max(span.begin_seconds, begin_seconds), to = std::min(span.end_seconds, end_seconds);
      if (to > from) sample.hidden_communicate_seconds += to - from - covered_seconds(held_up, from, to);
    }
  }
  return sample;
}

}  // namespace strobe
