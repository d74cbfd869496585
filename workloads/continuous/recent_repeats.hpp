// The share of events in which a source repeats a recent target.
#pragma once

#include <cstdint>

#include "workloads/graph/graph.hpp"

namespace strobe {

/// Events whose source had an earlier one, and how many of them repeat one of the last 8 targets of their source.
struct RecentRepeats {
  std::int64_t asked = 0, repeated = 0;
  friend bool operator==(const RecentRepeats&, const RecentRepeats&) = default;
};

/// Counts them in the order of the events. O(E + N).
RecentRepeats count_recent_repeats(const EventGraph& events);

}  // namespace strobe
