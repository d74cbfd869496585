// Preparing single steps, for callers that keep the arrays somewhere else than in one PreparedGraph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "workloads/preparation/feature_scale.hpp"
#include "workloads/preparation/preprocess.hpp"

namespace strobe {

/// Arrays of a PreparedGraph, of some of its steps.
struct PreparedArrays {
  std::vector<std::int64_t> row_offsets;
  std::vector<VertexId> columns;
  std::vector<double> values64;
  std::vector<float> values32;
  std::vector<double> features64;
  std::vector<float> features32;
  std::vector<double> products64;
  std::vector<float> products32;
  std::int64_t nonzeros = 0;
};

/// A graph before preparing: the graph without its arrays, and an upper bound of its non-zeros.
struct PreparedSizes {
  PreparedGraph graph;
  std::size_t most_nonzeros = 0;
};

/// Throws what `prepare` throws for its arguments.
PreparedSizes prepared_sizes(const FeatureScale& scale, const Preprocessing& what, std::int64_t steps);

/// Step `t` alone: row_offsets [N] are the ends of its rows, counted from its first entry. `announce` hears the number
/// of its non-zeros early. It does not check its arguments; `prepared_sizes` does. Throws as `prepare` does.
PreparedArrays prepare_alone(const FeatureScale& scale, const Preprocessing& what, std::int64_t t, bool fp64,
                             const std::function<void(std::int64_t)>& announce);

}  // namespace strobe
