// How often a source goes to a target that it had lately.
#pragma once

#include <cstdint>

#include "workloads/graph/graph.hpp"

namespace strobe {

/// Events whose source had one before, and those of them that go to one of the last 8 targets of their source.
struct RecentRepeats {
  std::int64_t asked = 0, repeated = 0;
  friend bool operator==(const RecentRepeats&, const RecentRepeats&) = default;
};

/// Counts them in the order of the events. O(E + N).
RecentRepeats count_recent_repeats(const EventGraph& events);

}  // namespace strobe
