// Which side of a two-sided graph (users and items, authors and papers) each vertex is on.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/graph/graph.hpp"

namespace strobe {

/// `SnapshotGraph::side` of the graph of these events: 0 for vertices that are only ever sources, 1 for those that are
/// only ever targets, -1 for those without an event; empty when some vertex is both. [N] Cost: O(N + E).
std::vector<std::int8_t> sides_of_events(const EventGraph& events);

/// The same from the edges of all steps, for files that hold steps; empty for orientation `both`, whose rows do not
/// tell sources from targets. [N] Cost: O(T N + edges).
std::vector<std::int8_t> sides_of_steps(const SnapshotGraph& graph);

}  // namespace strobe
