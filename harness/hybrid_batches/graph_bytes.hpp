// Host memory of the graph of hybrid batches, from counts alone, before the graph is made or read.
#pragma once

#include <cstdint>
#include <optional>

#include "harness/full_batch/plan/data_plan.hpp"

namespace strobe {

/// Counts of a graph of steps that need not exist yet. Edges are a lower bound, over all steps.
struct GraphCounts {
  double vertices = 0, steps = 0, edges = 0, feature_width = 2;
};

/// Bytes of the steps as they were read or made, of the matrices and features that training reads, and of the samples.
struct GraphBytes {
  double raw = 0, prepared = 0, samples = 0;
  double all() const { return raw + prepared + samples; }
};

/// Bytes of a graph with these counts, whose last step only gives targets; without samples. Edges that smoothing adds
/// are not counted.
GraphBytes graph_bytes(const GraphCounts& counts, const Preparation& preparation, bool fp64);
/// Private bytes of the arrays of `data`: none for arrays of a mapped file; for a shape, the bytes that its graph would take.
GraphBytes graph_bytes(const DataPlan& data, const ModelChoice& choice);

/// Counts that follow from the workload's parameters. Known for generators of steps with a given number of edges, and
/// for events, generated or of a listed data set, in a number of slices. Edges of events are left out, because some
/// repeat.
std::optional<GraphCounts> foreseen_counts(const Json& workload);

/// Refuses a graph that takes more than `memory_bytes`, before it is made: InvalidRequest with both figures.
void check_foreseen(const Case& request, const ModelChoice& choice, double memory_bytes);

}  // namespace strobe
