// Which side of a two-sided graph (users and items, authors and papers) each vertex is on.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/graph/graph.hpp"

namespace strobe {

/// The side of each vertex of a two-sided graph [N]: 0 for pure sources, 1 for pure targets, -1 for vertices without an
/// event. Empty when some vertex is both, so that the graph has one side.
using EventSides = std::vector<std::int8_t>;

/// The sides of the graph of these events, from its columns, independently of its file or generator. Cost: O(N + E).
EventSides sides_of(const EventGraph& events);

/// The same from the edges of all steps, for files that hold steps. Empty for orientation `both`, whose rows do not
/// separate sources from targets. [N] Cost: O(T N + edges).
EventSides sides_of_steps(const SnapshotGraph& graph);

}  // namespace strobe
