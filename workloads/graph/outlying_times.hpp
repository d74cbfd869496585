// Few events whose times lie far from all others, such as rows of time 0 (unknown) among seconds since 1970.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/graph/graph.hpp"

namespace strobe {

/// How many of the first and of the last events lie apart, and how far from the others.
struct OutlyingTimes {
  std::int64_t before = 0, after = 0;
  double gap_before = 0, gap_after = 0;  // in the unit of the times
  bool any() const { return before + after > 0; }
};

/// Events lie apart under two conditions. The gap between them and the others is five times the span of the others. And
/// they are at most a quarter of all events at either end. Graphs of fewer than 8 events have none.
OutlyingTimes find_outlying_times(const EventGraph& events);

/// "3 events lie 38 years before the others; outliers=drop leaves them out"; "" when there are none.
std::string outlying_times_hint(const EventGraph& events);

/// keep: notes events that lie apart. drop: removes them, with the vertices that no other event has, and notes how
/// many.
void settle_outlying_times(const std::string& choice, EventGraph& events);

/// Adds the number of empty steps of a graph made of these events to that note, if the graph has it.
void note_empty_steps(SnapshotGraph& graph);

/// That note when it says that steps are empty, else "".
std::string outlying_times_note(const std::vector<std::string>& notes);

}  // namespace strobe
