// The data that a case takes from its workload when the workload is a shape instead of a graph.
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

/// The shape that the case's workload names, with the counts of its task's samples. Throws InvalidRequest for an
/// unknown field, for a task that needs labels, and for a strategy or partitioner that needs the graph's structure.
ShapeCase make_shape_case(const Case& request, const Task& task);

/// Whether a strategy's placements depend on sizes alone, so that a shape is enough.
bool serves_shapes(const std::string& strategy);

/// Refuses shape workloads in cases that compute values or need the graph's structure.
void check_shape(const Case& c, const std::string& pointer);

}  // namespace strobe
