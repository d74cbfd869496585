// Which pairs of vertices meet, and at which event for the first time. A pair is ordered: source and target.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "workloads/graph/graph.hpp"

namespace strobe {

/// [E] 1 where no earlier event has the same source and target. Events of one time count in their order. O(E).
std::vector<char> first_meeting_flags(const EventGraph& graph);

/// The pairs of a graph's events, by source.
class FirstMeetings {
 public:
  struct Meeting {
    VertexId target = 0;
    EdgeId event = 0;  // the first event of the pair
  };

  /// Under a bound of memory, large tables lie in files. O(E).
  explicit FirstMeetings(const EventGraph& graph);

  /// The pairs of `source` whose first event is one of [first, last), in the order of these. O(log).
  std::span<const Meeting> between(VertexId source, EdgeId first, EdgeId last) const;

  std::uint64_t own_bytes() const { return begin_.own_bytes() + meetings_.own_bytes(); }

 private:
  Column<std::int64_t> begin_;  // [N + 1]
  Column<Meeting> meetings_;    // one for each pair
};

}  // namespace strobe
