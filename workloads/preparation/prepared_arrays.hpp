// The steps of preparing a graph, for callers that keep its arrays somewhere else than in one PreparedGraph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "workloads/preparation/feature_scale.hpp"
#include "workloads/preparation/preprocess.hpp"

namespace strobe {

/// The arrays of a PreparedGraph while they grow. A caller may take values away from the front between blocks.
struct PreparedArrays {
  std::vector<std::int64_t> row_offsets;
  std::vector<VertexId> columns;
  std::vector<double> values64;
  std::vector<float> values32;
  std::vector<double> features64;
  std::vector<float> features32;
  std::vector<double> products64;
  std::vector<float> products32;
  std::int64_t nonzeros = 0;  // appended so far
};

/// A graph before preparing: the graph without its arrays, and an upper bound of its non-zeros.
struct PreparedSizes {
  PreparedGraph graph;
  std::size_t most_nonzeros = 0;
};

/// Throws what `prepare` throws for its arguments.
PreparedSizes prepared_sizes(const FeatureScale& scale, const Preprocessing& what, std::int64_t steps);

/// Appends the arrays to `arrays`, a few steps at a time, and calls `after_block` after each block of steps. It does
/// not check its arguments; `prepared_sizes` does. Memory: one block of steps in addition to `arrays`.
void prepare_blocks(const FeatureScale& scale, const Preprocessing& what, std::int64_t steps, bool fp64,
                    PreparedArrays& arrays, const std::function<void()>& after_block);

}  // namespace strobe
