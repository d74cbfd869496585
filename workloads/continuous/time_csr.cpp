// Counting sort of events by vertex. Events are in time order and the sort is stable, so every vertex's entries are in
// time order too. Returns the same adjacency for every number of threads: each thread owns a range of vertices, reads
// all events in order and writes the entries of its own vertices. No two threads write the same memory.
// Cost: every thread passes twice over the 8 bytes of ends per event; all together write 8 bytes per entry once.
// Memory: 8 bytes per vertex in addition to the result. Under a bound of memory large arrays lie in files.
#include "workloads/continuous/time_csr.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "core/errors.hpp"
#include "workloads/storage/growing_column.hpp"
#include "workloads/storage/pages.hpp"
#include "workloads/storage/parallel.hpp"
#include "workloads/storage/reading_bound.hpp"

namespace strobe {
namespace {

/// Vertices [first, end).
struct Range {
  std::uint32_t first = 0, end = 0;
  bool holds(VertexId v) const { return static_cast<std::uint32_t>(v) - first < end - first; }
};

struct Sides {
  bool targets = false;  // an event is an entry of its target
  bool sources = false;  // and of its source
};

/// Calls visit(owner, neighbour, event) for every entry that a vertex of `range` owns, in the order of the events.
template <bool targets, bool sources, class Visit>
void for_each_entry(const EventGraph& events, Range range, Visit&& visit) {
  const VertexId* const source = events.source.data();
  const VertexId* const target = events.target.data();
  const auto count = static_cast<std::uint32_t>(events.source.size());
  for (std::uint32_t e = 0; e < count; ++e) {
    const VertexId u = source[e], v = target[e];
    if (targets && range.holds(v)) visit(v, u, e);
    if (sources && range.holds(u) && !(targets && u == v)) visit(u, v, e);
  }
}

template <class Visit>
void for_each_entry(const EventGraph& events, Range range, Sides sides, const Visit& visit) {
  if (!sides.sources)
    for_each_entry<true, false>(events, range, visit);
  else if (!sides.targets)
    for_each_entry<false, true>(events, range, visit);
  else
    for_each_entry<true, true>(events, range, visit);
}

/// [vertices + 1] entries before each vertex.
GrowingColumn<std::int64_t> count_entries(const EventGraph& events, Sides sides) {
  GrowingColumn<std::int64_t> offsets(static_cast<std::size_t>(events.vertices) + 1, reading_bound());
  const int threads = workload_threads();
  parallel_tasks(threads, [&](std::int64_t part) {
    const Run run = even_share(events.vertices, threads, part);
    const Range range{static_cast<std::uint32_t>(run.first), static_cast<std::uint32_t>(run.first + run.count)};
    std::int64_t* const counts = offsets.data() + 1;
    for_each_entry(events, range, sides, [&](VertexId owner, VertexId, std::uint32_t) { ++counts[owner]; });
  });
  for (std::size_t v = 1; v < offsets.size(); ++v) offsets[v] += offsets[v - 1];
  return offsets;
}

/// Ranges of vertices with about equally many entries.
std::vector<Range> share_entries(std::span<const std::int64_t> offsets) {
  const int threads = workload_threads();
  std::vector<Range> ranges;
  std::uint32_t first = 0;
  for (int part = 1; part <= threads; ++part) {
    const std::int64_t share = offsets.back() / threads * part;
    const auto at = std::lower_bound(offsets.begin(), offsets.end() - 1, share) - offsets.begin();
    const auto end = static_cast<std::uint32_t>(part == threads ? offsets.size() - 1 : static_cast<std::size_t>(at));
    ranges.push_back({first, std::max(first, end)});
    first = ranges.back().end;
  }
  return ranges;
}

Sides parse_direction(const std::string& direction) {
  if (direction != "in" && direction != "out" && direction != "both")
    throw InvalidRequest("direction", unknown_name_message("direction", direction, {"in", "out", "both"}));
  return {direction != "out", direction != "in"};
}

}  // namespace

TimeCsr make_time_csr(const EventGraph& events, const std::string& direction) {
  const Sides sides = parse_direction(direction);
  if (events.events() > std::numeric_limits<std::uint32_t>::max())
    throw InvalidRequest("workload", "a time-ordered adjacency holds at most 2^32 - 1 events");
  GrowingColumn<std::int64_t> offsets = count_entries(events, sides);
  const std::span<const std::int64_t> begins(offsets.data(), offsets.size());
  const std::size_t total = begins.back();
  const ReadingBound* const bound = reading_bound();
  const bool in_file = bound != nullptr && total * sizeof(TimedNeighbour) > bound->run_bytes();
  const PagesInFiles aside(in_file ? bound->folder : "");
  Pages memory(total * sizeof(TimedNeighbour));
  memory.prefer_large();
  auto* const entries = reinterpret_cast<TimedNeighbour*>(memory.data());
  GrowingColumn<std::int64_t> next;
  next.append(begins.data(), begins.size());
  const std::vector<Range> ranges = share_entries(begins);
  parallel_tasks(static_cast<std::int64_t>(ranges.size()), [&](std::int64_t part) {
    std::int64_t* const at = next.data();
    for_each_entry(events, ranges[part], sides, [&](VertexId owner, VertexId neighbour, std::uint32_t event) {
      entries[at[owner]++] = {neighbour, event};
    });
  });
  return {offsets.finish(), make_column<TimedNeighbour>(std::move(memory), total)};
}

EdgeId events_before(const EventGraph& events, double time) {
  return std::lower_bound(events.time.begin(), events.time.end(), time) - events.time.begin();
}

std::span<const TimedNeighbour> most_recent(const TimeCsr& csr, VertexId vertex, EdgeId before, std::int64_t k) {
  const std::size_t v = vertex;
  const TimedNeighbour* const begin = csr.entries.data() + csr.offsets[v];
  const TimedNeighbour* const end = csr.entries.data() + csr.offsets[v + 1];
  const TimedNeighbour* const stop = std::partition_point(
      begin, end, [&](const TimedNeighbour& entry) { return static_cast<EdgeId>(entry.event) < before; });
  return {stop - std::min<std::ptrdiff_t>(std::max<std::int64_t>(k, 0), stop - begin), stop};
}

}  // namespace strobe
