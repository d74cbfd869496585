// The samples of a task on cells that exist.
#pragma once

#include <functional>
#include <string>

#include "models/tasks/task.hpp"
#include "workloads/graph/presence.hpp"

namespace strobe {

/// The samples that read no cell but such as exist, in their order. A ranked edge that goes takes its candidates along.
/// Cost O(n arity).
Samples keep_existing(const Samples& samples, const Presence& presence);

/// What a task draws on a graph.
using DrawSamples = std::function<TaskData(const SnapshotGraph&)>;

/// What `draw`, which is of `task`, gives on `graph`, without the samples that read cells which do not exist; class
/// weights and baselines are of the training samples that are left. Notes say of presence `kind` what it looks ahead to
/// and how many samples it leaves out; a metric that the samples left cannot give is absent with its reason. Throws
/// what the draw throws, and InvalidRequest("/presence", ...) when no training sample, or no test sample of a task that
/// drew some, is left.
TaskData draw_existing_samples(const Task& task, const DrawSamples& draw, const SnapshotGraph& graph,
                               const Presence& presence, const std::string& kind);

}  // namespace strobe
