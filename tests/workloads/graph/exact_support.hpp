// Graphs with and without doubles in addition to fp32 numbers.
#pragma once

#include <memory>
#include <vector>

#include "workloads/graph/exact_values.hpp"

namespace strobe::test {

/// The snapshot as a dense matrix [row][column] of what fp64 runs read.
inline std::vector<std::vector<double>> dense_exact(const Snapshot& snapshot) {
  const std::size_t n = snapshot.row_offsets.size() - 1;
  std::vector<std::vector<double>> matrix(n, std::vector<double>(n, 0.0));
  for (std::size_t v = 0; v < n; ++v) {
    for (std::size_t i = snapshot.row_offsets[v]; i < static_cast<std::size_t>(snapshot.row_offsets[v + 1]); ++i)
      matrix[v][snapshot.columns[i]] += exact_value(snapshot, i);
  }
  return matrix;
}

/// The graph as fp32 runs read it.
inline SnapshotGraph in_fp32(SnapshotGraph graph) {
  for (auto& snapshot : graph.snapshots) {
    auto rounded = std::make_shared<Snapshot>(*snapshot);
    rounded->exact_values.clear();
    snapshot = rounded;
  }
  graph.exact_features.clear();
  return graph;
}

}  // namespace strobe::test
