// Rows that remove edges: KONECT networks of kind `dynamic`, where an event of weight -1 ends what one of weight 1
// began.
#pragma once

#include <cstdint>

#include "workloads/graph/graph.hpp"
#include "workloads/graph/windows.hpp"

namespace strobe {

/// Events of `events` that remove an edge; 0 unless `removals` is set.
std::int64_t count_removals(const EventGraph& events);

/// Makes of `events`, whose weights are 1 and -1, a graph with removals. Self-loops and duplicates are then those of
/// the rows that add, and a note says how many rows remove an edge and how many of them one that is not there.
void settle_removals(EventGraph& events);

/// `cut_steps` of a graph with removals: a removal is no event, so it does not fill a window of `windowing.events`; it
/// belongs to the window of the event before it.
StepCut cut_steps_with_removals(const EventGraph& events, const Windowing& windowing);

/// Replaces edges and features of `graph`, made of `events` by `cut` and before steps are dropped, by what is left when
/// the rows of each step are played in time order on an empty set: a removal takes away what was added before it, once
/// or several times, and one of an edge that is not there does nothing. The rows of a step are those of its window,
/// with `cumulative` all up to its end, with edge life those of its windows (features stay those of the newest). The
/// value of an edge counts the rows that added it since it was removed last.
void apply_removals(const EventGraph& events, const StepCut& cut, const Windowing& windowing,
                    const std::string& orientation, SnapshotGraph& graph);

}  // namespace strobe
