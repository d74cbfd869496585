// The samples of a batch. A sample belongs to the batch, and the rank, of its first vertex at its step; its other
// vertices join the cells that the batch wants. A candidate goes where the edge goes that it is ranked against.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/batches/batch_graph.hpp"
#include "harness/exchange/placed_samples.hpp"
#include "models/tasks/task.hpp"

namespace strobe {

/// The samples of a task by step and first vertex (of a candidate: of its edge), so that a batch finds its own.
struct SampleIndex {
  std::vector<std::int64_t> step_offsets;  // [T + 1]
  std::vector<VertexId> vertex;            // [n] ascending within a step
  std::vector<std::int64_t> sample;        // [n] position in the task's list, ascending within a vertex
};

/// Cost O(n log n). `steps` of the graph; samples of later steps are left out.
SampleIndex index_samples(const Samples& samples, std::int64_t steps);

/// The samples of `targets` (ascending) at `steps`: positions in the task's list, ascending. Cost O(min(samples of
/// these steps, targets log samples) + what is found).
std::vector<std::int64_t> samples_of(const SampleIndex& index, const std::vector<VertexId>& targets, Run steps);

/// BatchCells::others that `chosen` samples read: at each step the vertices of samples that are no targets, ascending.
/// Cost O(chosen log chosen).
std::vector<std::vector<VertexId>> other_vertices(const Samples& samples, const std::vector<std::int64_t>& chosen,
                                                  const std::vector<VertexId>& targets, Run steps);

/// Samples as rows of a batch graph's embeddings.
struct BatchSamples {
  LocalSamples local;
  double total_weight = 0;                 // of these samples: what a loss pooled over the batch is divided by
  std::vector<double> weight_of_step;      // [steps.count] likewise of each step, for a loss that is a mean over steps
  std::vector<std::int64_t> step_of_each;  // [n] the batch's step of each sample
};

/// `chosen` as rows of `batch`, in the order of the task's list. Throws Error for one that reads a cell outside it.
BatchSamples samples_in_batch(const Samples& samples, const std::vector<std::int64_t>& chosen, const BatchGraph& batch);

}  // namespace strobe
