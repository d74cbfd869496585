// A part of a timeline: some steps of a graph as a graph of its own (DGC, SIGMOD'23, Figure 5, trains on quarters).
#pragma once

#include <string>

#include "workloads/graph/windows.hpp"

namespace strobe {

/// Keeps of `graph` and of its `cut` the steps A to B - 1 that `range`, "A:B", names, counted from 0; "" keeps all.
/// Vertices stay. Throws InvalidRequest unless 0 <= A < B <= T. Call it before features and labels of cells are set.
void keep_steps(const std::string& range, SnapshotGraph& graph, StepCut& cut);

}  // namespace strobe
