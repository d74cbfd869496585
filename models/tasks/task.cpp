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

TaskCounts Task::count(const GraphShape& shape) const {
  throw InvalidRequest("/task", "this task needs labels or targets, and the shape " + shape.name +
                                    " says nothing about them; use a task on edges or degrees, or a graph");
}

}  // namespace strobe
