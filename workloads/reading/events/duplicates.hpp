// Rows of a graph that occur more than once.
#pragma once

#include <cstdint>

#include "workloads/graph/graph.hpp"

namespace strobe {

/// The number of events beyond the first of an equal (source, target, time). Under a bound of memory
/// (reading_bound.hpp) it needs a share of it. Cost: O(E log n) for n events of one time.
std::int64_t count_duplicates(const EventGraph& graph);

}  // namespace strobe
