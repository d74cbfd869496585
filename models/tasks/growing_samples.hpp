// Samples that are drawn one after the other.
#pragma once

#include "models/tasks/task.hpp"
#include "workloads/storage/growing_column.hpp"

namespace strobe {

/// The arrays of Samples while they grow. Under a bound of memory (reading_bound.hpp) large ones move into temporary
/// files, so the system may take them out of memory.
struct GrowingSamples {
  GrowingColumn<VertexId> vertices{};
  GrowingColumn<Step> step{};
  GrowingColumn<std::int32_t> label{};
  GrowingColumn<double> value{}, weight{}, baseline{};
  GrowingColumn<std::int32_t> candidate_of{};
  GrowingColumn<double> memory{};
  GrowingColumn<std::int32_t> codes{};

  std::int64_t count() const { return static_cast<std::int64_t>(step.size()); }
  /// The samples, with `of_each` vertices each; this is empty then.
  Samples finish(int of_each) {
    return {of_each,         vertices.finish(), step.finish(),         label.finish(),  value.finish(),
            weight.finish(), baseline.finish(), candidate_of.finish(), memory.finish(), codes.finish()};
  }
};

}  // namespace strobe
