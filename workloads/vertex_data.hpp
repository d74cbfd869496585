// What a file or the user says about vertices, carried over to steps: features and classes.
#pragma once

#include <string>

#include "workloads/graph.hpp"

namespace strobe {

/// The number of the vertex with this original id, -1 when no event has it.
VertexId find_vertex(const EventGraph& graph, std::int64_t original_id);

/// Puts the labels of `more` behind those of `labels`.
void append(TimedLabels& labels, const TimedLabels& more);

/// Sorts by time, ties in their order.
void sort_by_time(TimedLabels& labels);

/// Replaces the features of `graph`: "" leaves them; own takes the vertex features of `events` (null for a file of
/// steps, whose features are its own already), the same in every step; anything else is a .npy file [N, F] (the same in
/// every step) or [T, N, F]. Its N rows stand for the vertices by ascending original id; when there are more, a row
/// stands for the original id that equals its number. Throws InvalidInput for another shape or values that are no
/// finite fp32, InvalidRequest when there are no vertex features or they would not fit this machine's memory.
void set_features(const EventGraph* events, const std::string& features, SnapshotGraph& graph);

/// Fills `cell_label` from the timed labels: a cell gets the class of its vertex' newest label of largest share with a
/// time in the step, -1 without one. A label belongs to the last step that begins at or before its time; a note counts
/// those before the first step and classes beyond 127, which are left out.
void set_cell_labels(const EventGraph& events, SnapshotGraph& graph);

}  // namespace strobe
