#include "models/tasks/vertex_samples.hpp"

#include <algorithm>

namespace strobe {

std::int64_t training_steps(std::int64_t steps, double share, const std::string& task) {
  if (steps < 2) {
    throw InvalidRequest("/workload", task +
                                          " needs at least two steps with samples (train and test), this graph has " +
                                          std::to_string(steps) + "; take a narrower window");
  }
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(share * static_cast<double>(steps)), 1, steps - 1);
}

StepSplit vertex_split(std::int64_t steps, const std::string& split, double train_share, const std::string& task) {
  if (!split.empty()) return split_steps(steps, split, task);
  const std::int64_t trained = training_steps(steps, train_share, task);
  return {trained, 0, steps - trained};
}

GrowingSamples& GrowingParts::of_step(const StepSplit& split, Step t) {
  if (t < split.train) return train;
  return t < split.train + split.validation ? validation : test;
}

void GrowingParts::finish(TaskData& data) {
  data.train = train.finish(1), data.validation = validation.finish(1), data.test = test.finish(1);
}

std::vector<bool> active_vertices(const Snapshot& snapshot, std::int64_t vertices) {
  std::vector<bool> active(vertices, false);
  for (std::size_t v = 0; v < active.size(); ++v) {
    if (snapshot.row_offsets[v + 1] > snapshot.row_offsets[v]) active[v] = true;
  }
  for (const VertexId u : snapshot.columns) active[u] = true;
  return active;
}

void append_sample(GrowingSamples& samples, VertexId vertex, Step step, std::int32_t label) {
  samples.vertices.push_back(vertex);
  samples.step.push_back(step);
  samples.label.push_back(label);
}

}  // namespace strobe
