// Neighbours in time order. Continuous-time models request the most recent neighbours before a time.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "workloads/graph/graph.hpp"

namespace strobe {

/// One end of an event as its other end sees it.
struct TimedNeighbour {
  VertexId vertex = 0;
  std::uint32_t event = 0;  // number of the event; its time is events.time[event]
  friend bool operator==(const TimedNeighbour&, const TimedNeighbour&) = default;
};

/// Time-ordered adjacency (T-CSR): the entries of vertex v are entries[offsets[v] .. offsets[v + 1]), by event number,
/// which is by time with ties in file order. Times are not repeated here: an event lies strictly before t exactly when
/// its number is below `events_before(events, t)`, so nothing is lost to rounding. 8 bytes an entry.
struct TimeCsr {
  Column<std::int64_t> offsets;    // [vertices + 1]
  Column<TimedNeighbour> entries;  // [E], or [2 E - self-loops] for both directions
};

/// The adjacency of `events`. `direction`: in = a vertex sees the sources of its incoming events; out = the targets of
/// its outgoing ones; both = both, a self-loop once. Throws InvalidRequest for another word or more than 2^32 - 1
/// events. Cost: O(E) a thread to scan, O(E) in all to write.
TimeCsr make_time_csr(const EventGraph& events, const std::string& direction = "both");

/// How many events are strictly earlier than `time`; the number of the first that is not. O(log E).
EdgeId events_before(const EventGraph& events, double time);

/// The min(k, all) most recent entries of `vertex` among the events [0, before), in time order: the most recent is the
/// last. Events of one time count one by one, later in the file = more recent. `before` is `events_before(events, t)`
/// for the neighbours strictly before t. O(log degree); valid as long as `csr`.
std::span<const TimedNeighbour> most_recent(const TimeCsr& csr, VertexId vertex, EdgeId before, std::int64_t k);

}  // namespace strobe
