// The samples of a batch. A sample belongs to the batch, and the rank, of its first vertex at its step. Its other
// vertices join the batch's cells. A candidate belongs where the edge belongs against which it is ranked.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ids.hpp"
#include "models/tasks/task.hpp"

namespace strobe {

/// The samples of a task by step and first vertex (for a candidate, that of its edge), so that a batch finds its own.
struct SampleIndex {
  std::vector<std::int64_t> step_offsets;  // [T + 1]
  std::vector<VertexId> vertex;            // [n] ascending within a step
  std::vector<std::int64_t> sample;        // [n] position in the task's list, ascending within a vertex
};

/// `steps` counts steps of the graph; samples of later steps are left out. Cost O(n log n).
SampleIndex index_samples(const Samples& samples, std::int64_t steps);

/// The part of the samples whose first vertex `rank` owns; `owner` is [N]. Cost O(n).
SampleIndex of_rank(const SampleIndex& index, const std::vector<Rank>& owner, Rank rank);

/// The samples of `targets` (ascending) at `steps`: positions in the task's list, ascending. Cost O(min(samples of
/// these steps, targets log samples) + samples found).
std::vector<std::int64_t> samples_of(const SampleIndex& index, const std::vector<VertexId>& targets, Run steps);

/// BatchCells::others that `chosen` samples read: at each step the samples' vertices that are not targets, ascending.
/// Cost O(chosen log chosen).
std::vector<std::vector<VertexId>> other_vertices(const Samples& samples, const std::vector<std::int64_t>& chosen,
                                                  const std::vector<VertexId>& targets, Run steps);

}  // namespace strobe
