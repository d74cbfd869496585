// Cells of a window of steps: the vertices of each step, in the order of rows.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ids.hpp"

namespace strobe {

/// Rows are time-major; vertices of a step ascend.
struct StepCells {
  std::vector<std::int64_t> offsets = {0};  // [steps + 1]
  std::vector<VertexId> vertices;           // [cells]

  std::int64_t steps() const { return static_cast<std::int64_t>(offsets.size()) - 1; }
  std::int64_t count() const { return offsets.back(); }
  std::int64_t count(std::int64_t step) const { return end(step) - begin(step); }
  /// Rows of one step.
  std::int64_t begin(std::int64_t step) const { return offsets[step]; }
  std::int64_t end(std::int64_t step) const { return offsets[static_cast<std::size_t>(step) + 1]; }
  VertexId vertex(std::int64_t row) const { return vertices[row]; }
  void close_step() { offsets.push_back(static_cast<std::int64_t>(vertices.size())); }
};

}  // namespace strobe
