// A graph of four vertices and five steps for tests of tasks, and what they ask for of a task.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "models/tasks/task.hpp"

namespace strobe {

inline std::shared_ptr<const Snapshot> snapshot(std::int64_t count,
                                                const std::set<std::pair<VertexId, VertexId>>& edges) {
  auto result = std::make_shared<Snapshot>();
  result->row_offsets.push_back(0);
  for (VertexId v = 0; v < count; ++v) {
    for (VertexId u = 0; u < count; ++u) {
      if (edges.count({u, v}) == 0) continue;
      result->columns.push_back(u);
      result->values.push_back(1.0f);
    }
    result->row_offsets.push_back(static_cast<std::int64_t>(result->columns.size()));
  }
  return result;
}

/// Edges u -> v of five steps; vertex 3 never has one.
inline SnapshotGraph hand_graph() {
  SnapshotGraph graph;
  graph.vertices = 4;
  graph.snapshots = {snapshot(4, {{0, 1}}), snapshot(4, {{0, 1}, {2, 1}}), snapshot(4, {{1, 0}}),
                     snapshot(4, {{0, 2}, {1, 2}}), snapshot(4, {{2, 0}})};
  return graph;
}

inline std::unique_ptr<Task> task(const std::string& name, const Json& options = Json::object()) {
  return TaskRegistry::instance().find(name).value(options);
}

using Cells = std::vector<std::pair<Step, VertexId>>;

inline Cells cells(const Samples& samples) {
  Cells result;
  for (std::size_t i = 0; i < samples.step.size(); ++i) result.emplace_back(samples.step[i], samples.vertices[i]);
  return result;
}

/// Equal to within 4 units in the last place: the library's logarithm and the compiler's may differ in the last one.
inline void expect_values(const Column<double>& got, const Column<double>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_DOUBLE_EQ(got[i], expected[i]) << "value " << i;
}

/// Whether step `t` has the edge u -> v.
inline bool leads(const SnapshotGraph& graph, Step t, VertexId u, VertexId v) {
  const Snapshot& s = *graph.snapshots[t];
  for (std::int64_t e = s.row_offsets[v]; e < s.row_offsets[static_cast<std::size_t>(v) + 1]; ++e) {
    if (s.columns[e] == u) return true;
  }
  return false;
}

}  // namespace strobe
