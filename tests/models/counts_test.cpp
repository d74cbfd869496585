// Numbers of samples that tasks count from a graph's shape, against the samples that they draw on the graph itself.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "core/errors.hpp"
#include "models/tasks/task.hpp"
#include "tests/models/task_support.hpp"
#include "workloads/shape/shape.hpp"

namespace strobe {
namespace {

/// Six steps of different sizes on 30 vertices, with self-loops.
SnapshotGraph uneven_steps() {
  std::mt19937 random(3);
  SnapshotGraph graph;
  graph.vertices = 30;
  for (int t = 0; t < 6; ++t) {
    std::set<std::pair<VertexId, VertexId>> edges;
    for (int k = 0; k < 20 + 7 * t; ++k)
      edges.insert({static_cast<VertexId>(random() % 30), static_cast<VertexId>(random() % 30)});
    edges.insert({t, t});
    graph.snapshots.push_back(snapshot(30, edges));
  }
  return graph;
}

/// Samples by step.
std::map<Step, std::int64_t> by_step(const Samples& samples) {
  std::map<Step, std::int64_t> counts;
  for (const Step step : samples.step) ++counts[step];
  return counts;
}

std::map<Step, std::int64_t> by_step(const CountedSamples& samples) {
  std::map<Step, std::int64_t> counts;
  for (const StepSamples& step : samples.steps) counts[step.step] += step.count();
  return counts;
}

TEST(TaskCounts, OfLinkPredictionAreThoseOfTheDraw) {
  const SnapshotGraph graph = uneven_steps();
  const GraphStatistics shape = measure_statistics(graph, "uneven");
  for (const char* split : {"", "50/17/33"}) {
    const Json options{
        {"theta", 0.5}, {"positives", "all"}, {"ranking_negatives", 4}, {"ranked", 1000}, {"split", split}};
    const TaskCounts counts = task("link-prediction", options)->count(shape);
    const TaskData data = task("link-prediction", options)->draw(graph, 1);
    EXPECT_EQ(counts.steps, data.steps) << split;
    EXPECT_EQ(counts.train.arity, data.train.arity);
    EXPECT_EQ(counts.test.arity, data.test.arity);
    EXPECT_EQ(counts.train.edge_share, 0.5);
    EXPECT_EQ(by_step(counts.train), by_step(data.train)) << split;
    EXPECT_EQ(by_step(counts.test), by_step(data.test)) << split;
    for (const StepSamples& step : counts.train.steps) EXPECT_EQ(step.edges, step.pairs) << "a negative of each";
  }
}

TEST(TaskCounts, OfLinkPredictionRankNoMoreEdgesThanAsked) {
  const SnapshotGraph graph = uneven_steps();
  const Json options{
      {"theta", 0.5}, {"positives", "all"}, {"ranking_negatives", 4}, {"ranked", 5}, {"split", "34/0/66"}};
  const TaskCounts counts = task("link-prediction", options)->count(measure_statistics(graph, "uneven"));
  const TaskData data = task("link-prediction", options)->draw(graph, 1);
  std::int64_t all = 0;
  for (const auto& [step, count] : by_step(counts.test)) all += count;
  EXPECT_EQ(all, data.test.count());
}

TEST(TaskCounts, RefuseWhatAShapeDoesNotTell) {
  const GraphStatistics shape = measure_statistics(uneven_steps(), "uneven");
  EXPECT_THROW(task("link-prediction", {{"positives", "new"}})->count(shape), InvalidRequest);
  EXPECT_THROW(task("link-prediction", {{"negatives", "sides"}})->count(shape), InvalidRequest);
  EXPECT_THROW(task("vertex-regression", {{"target", "workload"}})->count(shape), InvalidRequest);
  EXPECT_NO_THROW(task("vertex-regression", {{"target", "degree"}})->count(shape));
}

TEST(TaskCounts, OfVertexRegressionAreThoseOfTheDraw) {
  const SnapshotGraph graph = uneven_steps();
  const GraphStatistics shape = measure_statistics(graph, "uneven");
  for (const char* which : {"active", "all"}) {
    for (const char* split : {"", "40/20/40"}) {
      const Json options{{"target", "degree"}, {"cells", which}, {"split", split}};
      const TaskCounts counts = task("vertex-regression", options)->count(shape);
      const TaskData data = task("vertex-regression", options)->draw(graph, 1);
      EXPECT_EQ(counts.steps, data.steps);
      EXPECT_EQ(counts.train.arity, data.train.arity);
      EXPECT_EQ(by_step(counts.train), by_step(data.train)) << which << " " << split;
      EXPECT_EQ(by_step(counts.test), by_step(data.test)) << which << " " << split;
    }
  }
}

TEST(TaskCounts, WithoutActiveVerticesExpectEndsToFallUniformly) {
  GraphStatistics shape = measure_statistics(uneven_steps(), "uneven");
  shape.active_vertices_per_step.clear();
  shape.vertices = 1000;
  shape.edges_per_step = {0, 1, 500, 1000000, 3, 3};
  const TaskCounts counts = task("vertex-regression", {{"split", "60/0/40"}})->count(shape);
  ASSERT_EQ(counts.train.steps.size(), 3u);
  EXPECT_EQ(counts.train.steps[0].vertices, 0);
  EXPECT_EQ(counts.train.steps[1].vertices, 2) << "both ends of one edge";
  EXPECT_EQ(counts.train.steps[2].vertices, std::llround(1000 * (1 - std::exp(-1.0)))) << "2 E / V = 1";
  EXPECT_EQ(counts.test.steps.at(0).vertices, 1000) << "all, and no more";
}

}  // namespace
}  // namespace strobe
