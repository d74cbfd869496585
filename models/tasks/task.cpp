#include "models/tasks/task.hpp"

#include <algorithm>
#include <numeric>

#include "core/errors.hpp"

namespace strobe {

double Samples::total_weight() const {
  return weight.empty() ? static_cast<double>(count()) : std::accumulate(weight.begin(), weight.end(), 0.0);
}

std::string TaskData::why_absent(const std::string& metric) const {
  const std::string all = metric.rfind("validation_", 0) == 0 ? "validation_" : "";
  for (const std::string& key : {metric, all}) {
    const auto reason = absent.find(key);
    if (reason != absent.end()) return reason->second;
  }
  return "";
}

std::int64_t TaskData::trained_steps() const {
  return train.step.empty() ? 0 : *std::max_element(train.step.begin(), train.step.end()) + 1;
}

TaskCounts Task::count(const GraphStatistics& shape) const {
  throw InvalidRequest("/task", "this task needs labels or targets, and the shape " + shape.name +
                                    " says nothing about them; use a task on edges or degrees, or a graph");
}

TaskData Task::draw_of_events(const SnapshotGraph& graph, const EventGraph&, std::uint64_t seed) const {
  return draw(graph, seed);
}

TaskData draw_samples(const Task& task, const SnapshotGraph& graph, const EventGraph* events, std::uint64_t seed) {
  return events != nullptr && task.wants_events() ? task.draw_of_events(graph, *events, seed) : task.draw(graph, seed);
}

std::vector<std::string> tasks_for(const std::string& family) {
  std::vector<std::string> names;
  for (const auto& [name, entry] : TaskRegistry::instance().entries()) {
    if (entry.value.serves(family)) names.push_back(name);
  }
  return names;
}

ReferenceLevels reference_levels(const std::string& metric, const Task& task, const TaskData& data) {
  ReferenceLevels levels = data.levels;
  add_best_rule(metric, data.rules, levels);
  const std::string part = metric.starts_with("validation_") ? "validation_" : "";
  const Samples& samples = part.empty() ? data.test : data.validation;
  if (samples.count() == 0) return levels;
  // The outputs of a model do not change what its rules reach.
  const std::vector<double> outputs(static_cast<std::size_t>(samples.count() * task.classes()), 0.0);
  std::map<std::string, double> values;
  for (const auto& [name, value] : task.metrics(outputs, samples)) values[part + name] = value;
  add_best_rule(metric, values, levels);
  return levels;
}

}  // namespace strobe
