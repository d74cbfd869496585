// The timelines of a batch's layers where some cells do not exist. Sequences begin at different steps, so they are no
// rectangles: temporal stages walk them packed, and layers that go step by step hand states on to the vertices that
// stay (workloads/graph/presence.hpp).
#pragma once

#include <vector>

#include "backends/device.hpp"
#include "harness/full_batch/inputs/visible_cells.hpp"
#include "harness/hybrid_batches/encoding/step_cells.hpp"
#include "models/snapshots/layer_protocol.hpp"

namespace strobe {

/// The cells chained along sequences, which are runs of consecutive steps of a vertex. Steps count from the window's
/// first. A sequence also begins at every step that `reset_every` > 0 divides. Cost O(cells).
VisibleCells chained(const StepCells& cells, std::int64_t reset_every);

/// The runs of steps that have the same vertices. Cost O(cells).
std::vector<TemporalSegment> steps_alike(const StepCells& cells);

/// How each segment but the first takes over the states of the step before it: [segments - 1]. States are
/// `rows_per_vertex` blocks of one row per vertex. A vertex that the step before lacks starts from zero. Cost O(cells).
std::vector<PackedRows> states_that_stay(Device& device, const StepCells& cells,
                                         const std::vector<TemporalSegment>& segments, std::int64_t rows_per_vertex);

}  // namespace strobe
