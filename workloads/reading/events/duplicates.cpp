// Events of one time follow each other, so each time is counted for itself: its pairs are sorted. A time with more
// pairs than memory is read several times. Each pass sorts the pairs of one share of their hashes, and drops equal ones
// whenever its memory is full.
#include "workloads/reading/events/duplicates.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <vector>

#include "workloads/storage/pages.hpp"
#include "workloads/storage/parallel.hpp"
#include "workloads/storage/reading_bound.hpp"

namespace strobe {
namespace {

constexpr std::size_t part_events = std::size_t{1} << 18;

std::uint64_t pair_of(const EventGraph& graph, std::size_t e) {
  return static_cast<std::uint64_t>(graph.source[e]) << 32 | static_cast<std::uint32_t>(graph.target[e]);
}

void keep_distinct(std::vector<std::uint64_t>& pairs) {
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
}

void rest_ends(const EventGraph& graph, std::size_t begin, std::size_t end) {
  rest_pages(graph.source.data() + begin, (end - begin) * sizeof(VertexId));
  rest_pages(graph.target.data() + begin, (end - begin) * sizeof(VertexId));
}

/// Duplicates among events [begin, end) of one time, with about `room` pairs in memory, which `pairs` is.
std::int64_t count_at_one_time(const EventGraph& graph, std::size_t begin, std::size_t end, std::size_t room,
                               std::vector<std::uint64_t>& pairs) {
  const std::uint64_t passes = (end - begin + room - 1) / room;
  std::int64_t distinct = 0;
  for (std::uint64_t pass = 0; pass < passes; ++pass) {
    pairs.clear();
    std::size_t full = room;
    for (std::size_t e = begin; e < end; ++e) {
      const std::uint64_t pair = pair_of(graph, e);
      if (passes == 1 || (pair * 0x9e3779b97f4a7c15U >> 32) % passes == pass) pairs.push_back(pair);
      if (pairs.size() == full) {
        keep_distinct(pairs);
        full = std::max(room, 2 * pairs.size());
      }
      if ((e + 1) % part_events == 0) rest_ends(graph, e + 1 - std::min(part_events, e + 1 - begin), e + 1);
    }
    keep_distinct(pairs);
    distinct += static_cast<std::int64_t>(pairs.size());
  }
  return static_cast<std::int64_t>(end - begin) - distinct;
}

/// Duplicates of all times that begin in a part of the events.
std::int64_t count_in_part(const EventGraph& graph, std::size_t begin, std::size_t room) {
  const std::size_t end = std::min(begin + part_events, graph.source.size());
  std::vector<double> times(end - begin);
  graph.time.copy(begin, times);
  std::vector<std::uint64_t> pairs;
  std::int64_t duplicates = 0;
  const double before = begin > 0 ? graph.time[begin - 1] : -std::numeric_limits<double>::infinity();
  for (std::size_t at = begin, next = begin; at < end; at = next) {
    const double time = times[at - begin];
    for (next = at + 1; next < end && times[next - begin] == time;) ++next;
    if (at == begin && time == before) continue;  // it began in an earlier part
    if (next == end) {
      const auto later = graph.time.begin() + static_cast<std::ptrdiff_t>(end);
      next += static_cast<std::size_t>(std::upper_bound(later, graph.time.end(), time) - later);
    }
    if (next - at > 1) duplicates += count_at_one_time(graph, at, next, room, pairs);
  }
  rest_ends(graph, begin, end);
  return duplicates;
}

}  // namespace

std::int64_t count_duplicates(const EventGraph& graph) {
  const std::size_t parts = (graph.source.size() + part_events - 1) / part_events;
  const ReadingBound* const bound = reading_bound();
  const std::size_t room = bound == nullptr
                               ? std::numeric_limits<std::size_t>::max() / 2
                               : std::max<std::size_t>(part_events, bound->run_bytes() / sizeof(std::uint64_t) /
                                                                        static_cast<std::size_t>(workload_threads()));
  std::atomic<std::int64_t> duplicates{0};
  parallel_tasks(static_cast<std::int64_t>(parts), [&](std::int64_t part) {
    duplicates += count_in_part(graph, static_cast<std::size_t>(part) * part_events, room);
  });
  return duplicates;
}

}  // namespace strobe
