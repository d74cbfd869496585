// Targets of a regression that are the values of the next step, as exactly as the file says them.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "models/tasks/task.hpp"
#include "workloads/graph/graph.hpp"

namespace strobe {
namespace {

constexpr std::int64_t target_vertices = 3, target_steps = 8;

double value_of(std::int64_t step, std::int64_t vertex) { return static_cast<double>(10 * step + vertex) + 0.1; }

/// Steps with features `value_of` and their next values as targets; with `exact`, features also have doubles.
SnapshotGraph series(bool exact) {
  SnapshotGraph graph;
  graph.vertices = target_vertices;
  graph.feature_width = 1;
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->row_offsets = {0, 1, 2, 3};
  snapshot->columns = {1, 2, 0};
  snapshot->values = {1, 1, 1};
  for (std::int64_t t = 0; t < target_steps; ++t) {
    graph.snapshots.push_back(snapshot);
    for (std::int64_t v = 0; v < target_vertices; ++v) {
      graph.features.push_back(static_cast<float>(value_of(t, v)));
      if (exact) graph.exact_features.push_back(value_of(t, v));
      const auto next = static_cast<float>(value_of(t + 1, v));
      graph.targets.push_back(t + 1 < target_steps ? next : std::numeric_limits<float>::quiet_NaN());
    }
  }
  return graph;
}

TaskData draw(const SnapshotGraph& graph) {
  return TaskRegistry::instance().find("vertex-regression").value(Json::object())->draw(graph, 1);
}

TEST(ExactTargets, AreTheDoublesOfTheNextStep) {
  const TaskData exact = draw(series(true)), rounded = draw(series(false));
  for (const auto part : {&TaskData::train, &TaskData::test}) {
    const Samples &a = exact.*part, &b = rounded.*part;
    ASSERT_EQ(a.count(), b.count());
    ASSERT_GT(a.count(), 0);
    for (std::size_t i = 0; i < a.value.size(); ++i) {
      const double value = value_of(a.step[i] + 1, a.vertices[i]);
      EXPECT_EQ(a.value[i], value);
      EXPECT_EQ(b.value[i], static_cast<double>(static_cast<float>(value)));
    }
  }
}

TEST(ExactTargets, OfAnotherSeriesDoNotChange) {
  SnapshotGraph graph = series(true);
  for (double& value : graph.exact_features.edit()) value += 1;  // features that are not the targets' series
  const TaskData data = draw(graph), rounded = draw(series(false));
  EXPECT_EQ(data.train.value, rounded.train.value);
}

}  // namespace
}  // namespace strobe
