// Features and classes of vertices, from a file or the user, carried over to steps.
#pragma once

#include <string>
#include <vector>

#include "workloads/graph/graph.hpp"
#include "workloads/graph/windows.hpp"

namespace strobe {

/// The number of the vertex with this original id, -1 when no event has it.
VertexId find_vertex(const EventGraph& graph, std::int64_t original_id);

/// Sorts by time, ties in their order. Under a bound of memory (reading_bound.hpp) large labels are sorted in files.
void sort_by_time(TimedLabels& labels);

/// Replaces the features of `graph`. "" leaves them. "own" takes the vertex features of `events`, the same in every
/// step; `events` is null for a file of steps, whose features are its own already. Any other value is a .npy file [N,
/// F] (the same in every step) or [T, N, F]. Its N rows are those of the vertices by ascending original id. When it has
/// more rows, a row belongs to the original id that equals its number. Throws InvalidInput for another shape or values
/// that are no finite fp32, InvalidRequest when there are no vertex features or they would not fit this machine's
/// memory.
void set_features(const EventGraph* events, const std::string& features, SnapshotGraph& graph);

/// Fills `cell_label` from the timed labels: a cell gets the class of its vertex' newest label of largest share that
/// belongs to the step, -1 without one. `rule` says to which step a label of time t belongs:
///   within  the last step that begins at or before t, if t lies before its end: the label says what its events say
///   before  the last window that ends at or before t, if it is a step: the label says what comes after its events
///   auto    before where the graph's format says that labels describe later events (TGB), else within
/// Labels whose window is no step (before the first one, dropped, after the last one) and classes beyond 127 are left
/// out. Notes say which rule was used and how many labels are left out, by cause. `kept` is the cut of the graph's
/// steps. Throws InvalidRequest for another rule.
void set_cell_labels(const EventGraph& events, const StepCut& kept, const std::string& rule, SnapshotGraph& graph);

/// Notes that the file labels events, when it does, as steps do not hold these.
void note_event_labels(const EventGraph& events, Provenance& provenance);

/// That note; "" when there is none.
std::string event_labels_note(const Provenance& provenance);

}  // namespace strobe
