// Which side of a two-sided graph (users and items, authors and papers) each vertex is on.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/graph/graph.hpp"

namespace strobe {

/// The side of each vertex of a two-sided graph [N]: 0 for those that are only ever sources, 1 for those that are only
/// ever targets, -1 for those without an event. Empty when some vertex is both, so that the graph has one side.
using EventSides = std::vector<std::int8_t>;

/// The sides of the graph of these events, from its columns: whatever its file or generator says. Cost: O(N + E).
EventSides sides_of(const EventGraph& events);

/// The same from the edges of all steps, for files that hold steps; empty for orientation `both`, whose rows do not
/// tell sources from targets. [N] Cost: O(T N + edges).
EventSides sides_of_steps(const SnapshotGraph& graph);

}  // namespace strobe
