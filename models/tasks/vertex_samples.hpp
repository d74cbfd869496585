// Shared parts of the tasks on single vertices: the split of steps by time and the vertices that are present at a step.
#pragma once

#include <string>
#include <vector>

#include "models/tasks/growing_samples.hpp"
#include "models/tasks/task.hpp"
#include "models/tasks/task_split.hpp"

namespace strobe {

/// Number of leading steps that are trained on, of `steps`: floor(share * steps), at least 1 and at most steps - 1.
/// Throws InvalidRequest("/workload", ...) when there are fewer than two steps.
std::int64_t training_steps(std::int64_t steps, double share, const std::string& task);

/// The parts of `steps` by `split` (split_steps), or without one by `train_share` (training_steps), the rest being
/// tested.
StepSplit vertex_split(std::int64_t steps, const std::string& split, double train_share, const std::string& task);

/// The three parts of a task's data while they are drawn.
struct GrowingParts {
  GrowingSamples train{}, validation{}, test{};

  /// The part of step t.
  GrowingSamples& of_step(const StepSplit& split, Step t);
  /// Moves the samples to `data`.
  void finish(TaskData& data);
};

/// Whether each vertex has an edge at the step, in or out: [N].
std::vector<bool> active_vertices(const Snapshot& snapshot, std::int64_t vertices);

/// Adds a sample of one vertex.
void append_sample(GrowingSamples& samples, VertexId vertex, Step step, std::int32_t label);

}  // namespace strobe
