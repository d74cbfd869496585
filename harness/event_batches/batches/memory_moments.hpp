// The times of a vertex's memory (MemoryClock) when a batch is read, found in the vertex's own events. So a rank needs
// no table of all vertices. The last event of a vertex that memory has taken in left its waiting mail. The last one
// before that event's batch left the mail that was applied then.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "workloads/continuous/time_csr.hpp"

namespace strobe {

/// As in MemoryClock. Words only, so that a list of these is one message.
struct VertexTimes {
  double updated = 0, mail_time = 0;
  std::int64_t mail_event = -1;

  static constexpr std::int64_t words = 3;
};

/// Events [first, end), which memory has taken in.
struct TakenEvents {
  EdgeId first = 0, end = 0;
};

/// When batches of a walk through the events are read.
class MemoryMoments {
 public:
  virtual ~MemoryMoments() = default;
  /// Whether any rank scores events of batch `sequence`.
  virtual bool scores(std::int64_t /*sequence*/) const { return true; }
  virtual TakenEvents taken(std::int64_t sequence) const = 0;
  /// The first event of the batch in which memory takes in `event`.
  virtual EdgeId batch_begin(EdgeId event) const = 0;
};

/// `entries`: of one vertex, by event; `time(event)`: seconds since the first event. Cost: O(log entries).
template <class TimeOf>
VertexTimes times_of(std::span<const TimedNeighbour> entries, const TakenEvents& taken, const MemoryMoments& moments,
                     const TimeOf& time) {
  const auto last_before = [&](EdgeId end) -> EdgeId {
    const auto at = std::partition_point(entries.begin(), entries.end(),
                                         [&](const TimedNeighbour& entry) { return entry.event < end; });
    if (at == entries.begin()) return -1;
    const EdgeId event = std::prev(at)->event;
    return event >= taken.first ? event : -1;
  };
  VertexTimes times;
  times.mail_event = last_before(taken.end);
  if (times.mail_event < 0) return times;
  times.mail_time = time(times.mail_event);
  if (const EdgeId applied = last_before(moments.batch_begin(times.mail_event)); applied >= 0)
    times.updated = time(applied);
  return times;
}

}  // namespace strobe
