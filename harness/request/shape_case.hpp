// What a case takes from its workload when that is a shape instead of a graph.
#pragma once

#include "harness/request/case.hpp"
#include "models/tasks/task.hpp"
#include "workloads/shape/shape_graph.hpp"

namespace strobe {

/// A shape, the number of samples that the task would draw, and the in-degrees that place them.
struct ShapeCase {
  CompleteShape complete;
  TaskCounts samples;
  Histogram in_degree;
};

/// The shape that the case's workload names, with its task's samples counted. Throws InvalidRequest for a field that
/// nobody knows, a task that needs labels, and a strategy or partitioner that needs the graph's structure.
ShapeCase make_shape_case(const Case& request, const Task& task);

/// Whether a strategy's placements follow from sizes alone, so that a shape is enough for it.
bool serves_shapes(const std::string& strategy);

/// Refuses a case whose workload is a shape on anything but shape-only tensors.
void check_shape(const Case& c, const std::string& pointer);

}  // namespace strobe
