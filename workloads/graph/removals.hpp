// Rows that remove edges: KONECT networks of kind `dynamic`, where an event of weight -1 ends what one of weight 1
// began.
#pragma once

#include <cstdint>

#include "workloads/graph/graph.hpp"
#include "workloads/graph/step_shelf.hpp"
#include "workloads/graph/windows.hpp"

namespace strobe {

/// Events of `events` that remove an edge; 0 unless `removals` is set.
std::int64_t count_removals(const EventGraph& events);

/// Turns `events`, whose weights are 1 and -1, into a graph with removals. Self-loops and duplicates then count only
/// rows that add. A note states the number of rows that remove an edge, and how many of them remove an edge that is not
/// there.
void settle_removals(EventGraph& events);

/// `cut_steps` of a graph with removals: a removal is no event, so it does not fill a window of `windowing.events`; it
/// belongs to the window of the event before it.
StepCut cut_steps_with_removals(const EventGraph& events, const Windowing& windowing);

/// Replaces edges and features of `graph`, made of `events` by `cut` and before steps are dropped. The rows of each
/// step are played in time order on an empty set; the edges left at the end are those of the step. A removal takes away
/// all earlier additions of its edge, one or several. A removal of an edge that is not there does nothing. The rows of
/// a step are those of its window. With `cumulative` they are all rows up to its end; with edge life, those of its
/// windows (features stay those of the newest). The value of an edge is the number of rows that added it since its last
/// removal.
void apply_removals(const EventGraph& events, const StepCut& cut, const Windowing& windowing,
                    const std::string& orientation, StepShelf& shelf, SnapshotGraph& graph);

}  // namespace strobe
