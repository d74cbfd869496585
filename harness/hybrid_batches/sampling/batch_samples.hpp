// The samples of a batch. A sample belongs to the batch, and the rank, of its first vertex at its step; its other
// vertices join the cells that the batch wants. A candidate goes where the edge goes that it is ranked against.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ids.hpp"
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

}  // namespace strobe
