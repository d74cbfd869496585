#include "models/task.hpp"

#include <numeric>

#include "core/errors.hpp"

namespace strobe {

double Samples::total_weight() const {
  return weight.empty() ? static_cast<double>(count()) : std::accumulate(weight.begin(), weight.end(), 0.0);
}

TaskCounts Task::count(const GraphShape& shape) const {
  throw InvalidRequest("/task", "this task needs labels or targets, and the shape " + shape.name +
                                    " says nothing about them; use a task on edges or degrees, or a graph");
}

}  // namespace strobe
