// What the tasks on single vertices share: the split of steps by time and the vertices that are present at a step.
#pragma once

#include <string>
#include <vector>

#include "models/task.hpp"

namespace strobe {

/// Number of leading steps that are trained on, of `steps`: floor(share * steps), at least 1 and at most steps - 1.
/// Throws InvalidRequest("/workload", ...) when there are fewer than two steps.
std::int64_t training_steps(std::int64_t steps, double share, const std::string& task);

/// Whether each vertex has an edge at the step, in or out: [N].
std::vector<bool> active_vertices(const Snapshot& snapshot, std::int64_t vertices);

/// Adds a sample of one vertex.
void append_sample(Samples& samples, VertexId vertex, Step step, std::int32_t label);

}  // namespace strobe
