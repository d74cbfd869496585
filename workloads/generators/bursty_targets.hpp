// Whom the events of `bursty_events` go to.
#pragma once

#include <vector>

#include "workloads/generators/bursty_arrivals.hpp"

namespace strobe {

/// The target of each event [E]. With probability `repeat` it is one of the last `history_depth` targets of its source,
/// with weights by how many of these events went to it. Other events go to none of these targets. So among events whose
/// source had an earlier one, exactly this share is expected to be repeats. Four in five of the others go to a target
/// of the topic that the source prefers at the time, the rest to any, by popularity. Some name targets in turn, so that
/// all occur where the events suffice. No target is its own source. O(E) expected.
std::vector<VertexId> draw_targets(const BurstyParameters& parameters, const Arrivals& arrivals, std::uint64_t seed);

}  // namespace strobe
