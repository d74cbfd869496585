// Numbers of samples that tasks count from a graph's shape, against the samples that they draw on the graph itself.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "core/errors.hpp"
#include "models/tasks/task.hpp"
#include "tests/models/task_support.hpp"
#include "tests/workloads/support.hpp"
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

/// 3,000 events between 2,000 vertices at an even pace. With `repeats` a third of them have the pair of the event
/// before, so steps have fewer edges than events.
EventGraph even_events(std::uint64_t seed, bool repeats) {
  std::mt19937_64 random(seed);
  std::vector<std::tuple<int, int, double>> rows;
  for (int e = 0; e < 3000; ++e) {
    const auto draw = [&random] { return static_cast<int>(random() % 2000); };
    const bool again = repeats && e > 0 && random() % 3 == 0;
    const int source = again ? std::get<0>(rows.back()) : draw(), target = again ? std::get<1>(rows.back()) : draw();
    rows.emplace_back(source, target, static_cast<double>(e));
  }
  return test::make_events(2000, rows);
}

void expect_near_by_step(const CountedSamples& counted, const Samples& drawn, double slack) {
  std::map<Step, std::int64_t> expected = by_step(drawn), found = by_step(counted);
  std::int64_t sum = 0;
  for (const auto& [step, count] : found) {
    EXPECT_NEAR(static_cast<double>(count), static_cast<double>(expected[step]), slack) << step;
    sum += count;
  }
  EXPECT_NEAR(static_cast<double>(sum) / static_cast<double>(drawn.count()), 1, slack == 0 ? 0 : 0.03);
}

TEST(TaskCounts, OfFutureLinksAreThoseOfTheDraw) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    for (const bool repeats : {false, true}) {
      const EventGraph events = even_events(seed, repeats);
      Windowing cut;
      cut.count = 20;
      const SnapshotGraph graph = make_snapshots(events, cut);
      GraphStatistics shape = measure_statistics(graph, "even");
      shape.events = events.events();
      for (const char* split : {"70/15/15", "50/20/30"}) {
        const auto links =
            task("future-links", {{"candidates", "7"}, {"batch", 1}, {"split", split}, {"negatives", "any"}});
        const TaskCounts counts = links->count(shape);
        const TaskData data = links->draw_of_events(graph, events, seed);
        EXPECT_EQ(counts.steps, data.steps) << split;
        EXPECT_EQ(counts.train.arity, data.train.arity);
        // Which step has how many events is known from its edges alone: 150 events of a step have about 100 pairs.
        expect_near_by_step(counts.train, data.train, repeats ? 35 : 0);
        expect_near_by_step(counts.test, data.test, repeats ? 35 * 8 : 0);
      }
    }
  }
}

TEST(TaskCounts, OfFutureLinksTakeAnEdgeForAnEventWhereEventsAreNotKnown) {
  GraphStatistics shape = measure_statistics(uneven_steps(), "uneven");
  shape.edges_per_step = {10, 20, 30, 40, 0, 100};
  shape.edges = 200;
  const TaskCounts counts = task("future-links", {{"candidates", "4"}, {"split", "50/0/50"}})->count(shape);
  EXPECT_EQ(counts.steps, 5) << "the last step is read by nobody";
  EXPECT_EQ(by_step(counts.train), (std::map<Step, std::int64_t>{{0, 40}, {1, 60}, {2, 80}})) << "a negative of each";
  EXPECT_EQ(by_step(counts.test), (std::map<Step, std::int64_t>{{4, 500}})) << "each among four others";
}

TEST(TaskCounts, RefuseWhatAShapeDoesNotTell) {
  const GraphStatistics shape = measure_statistics(uneven_steps(), "uneven");
  EXPECT_THROW(task("link-prediction", {{"positives", "new"}})->count(shape), InvalidRequest);
  EXPECT_THROW(task("link-prediction", {{"negatives", "sides"}})->count(shape), InvalidRequest);
  EXPECT_THROW(task("vertex-regression", {{"target", "workload"}})->count(shape), InvalidRequest);
  for (const auto& [option, value] : std::map<std::string, Json>{
           {"negatives", "sides"}, {"links", "new"}, {"pair_history", 9}, {"protocol", "tgb"}}) {
    Json options{{option, value}};
    if (option == "protocol") options["negatives_file"] = "none.npz";
    try {
      task("future-links", options)->count(shape);
      ADD_FAILURE() << option << " was not refused";
    } catch (const InvalidRequest& refused) {
      EXPECT_EQ(refused.where(), "/task/" + option);
    }
  }
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
