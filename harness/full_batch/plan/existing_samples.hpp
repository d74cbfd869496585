// The samples of a task on cells that exist.
#pragma once

#include <functional>
#include <string>

#include "models/tasks/task.hpp"
#include "workloads/graph/presence.hpp"

namespace strobe {

/// The samples that read existing cells only, in their order. A ranked edge that is removed takes its candidates along.
/// Cost O(n arity).
Samples keep_existing(const Samples& samples, const Presence& presence);

/// Draws a task's samples on a graph.
using DrawSamples = std::function<TaskData(const SnapshotGraph&)>;

/// Draws samples of `task` on `graph` with `draw`, and leaves out those that read missing cells. Class weights and
/// baselines come from the remaining training samples. Notes say how presence `kind` looks ahead, and how many samples
/// it leaves out. A metric that the remaining samples cannot give is absent, with its reason. Throws what the draw
/// throws. Throws InvalidRequest("/presence", ...) if no training sample is left, or no test sample of a task that drew
/// some.
TaskData draw_existing_samples(const Task& task, const DrawSamples& draw, const SnapshotGraph& graph,
                               const Presence& presence, const std::string& kind);

}  // namespace strobe
