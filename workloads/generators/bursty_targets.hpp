// Whom the events of `bursty_events` go to.
#pragma once

#include <vector>

#include "workloads/generators/bursty_arrivals.hpp"

namespace strobe {

/// The target of each event [E]. With probability `repeat` it is one of the last `history_depth` targets of its source,
/// the more often the more of these events went to it; so of the events whose source had one before exactly this share
/// is expected to be repeats, because the others go to none of these targets. They go, four times in five, to a target
/// of the topic that the source prefers at the time, and otherwise to any, by popularity; some name targets in turn, so
/// that all occur where the events suffice. No target is its own source. O(E) expected.
std::vector<VertexId> draw_targets(const BurstyParameters& parameters, const Arrivals& arrivals, std::uint64_t seed);

}  // namespace strobe
