// Link prediction: its draws on graphs written out by hand, and its metrics of given outputs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "core/errors.hpp"
#include "models/tasks/task.hpp"
#include "tests/models/task_support.hpp"

namespace strobe {
namespace {

/// 30 vertices, 6 steps, vertex v gets edges from its four successors, shifted by the step.
SnapshotGraph ring() {
  SnapshotGraph graph;
  graph.vertices = 30;
  for (VertexId t = 0; t < 6; ++t) {
    std::set<std::pair<VertexId, VertexId>> edges;
    for (VertexId v = 0; v < 15; ++v) {
      for (VertexId k = 1; k <= 4; ++k) edges.insert({(v + k + t) % 30, v});
    }
    graph.snapshots.push_back(snapshot(30, edges));
  }
  return graph;
}

TEST(LinkPrediction, CandidatesShareTheSourceAndAreNoEdges) {
  const SnapshotGraph graph = ring();
  const TaskData data = task("link-prediction", {{"theta", 0.2}, {"ranking_negatives", 7}})->draw(graph, 3);
  std::vector<int> of_positive;
  std::set<std::int32_t> before;
  for (std::size_t i = 0; i < data.test.step.size(); ++i) {
    const VertexId u = data.test.vertices[2 * i], v = data.test.vertices[2 * i + 1];
    const std::int32_t k = data.test.candidate_of[i];
    EXPECT_NE(u, v);
    EXPECT_EQ(leads(graph, 5, u, v), data.test.label[i] == 1);
    if (k < 0) continue;
    EXPECT_EQ(u, data.test.vertices[2 * static_cast<std::size_t>(k)]);
    EXPECT_EQ(data.test.label[k], 1);
    of_positive.resize(static_cast<std::size_t>(k) + 1);
    ++of_positive.back();
  }
  EXPECT_EQ(of_positive, std::vector<int>(12, 7));  // theta * 60 edges
  EXPECT_TRUE(data.train.candidate_of.empty());
  const TaskData again = task("link-prediction", {{"theta", 0.2}, {"ranking_negatives", 7}})->draw(graph, 3);
  EXPECT_EQ(again.test.vertices, data.test.vertices);
  const TaskData other = task("link-prediction", {{"theta", 0.2}, {"ranking_negatives", 7}})->draw(graph, 4);
  EXPECT_NE(other.test.vertices, data.test.vertices);
}

TEST(LinkPrediction, NegativesMayBeOfTargetsOnly) {
  const TaskData data = task("link-prediction", {{"negatives", "targets"}, {"theta", 0.5}})->draw(ring(), 1);
  for (const Samples* samples : {&data.train, &data.test}) {
    for (std::size_t i = 0; i < samples->step.size(); ++i) EXPECT_LT(samples->vertices[2 * i + 1], 15);
  }
}

TEST(LinkPrediction, RanksAtMostSoManyPositives) {
  const TaskData data =
      task("link-prediction", {{"theta", 1.0}, {"ranked", 5}, {"ranking_negatives", 3}})->draw(ring(), 1);
  std::set<std::int32_t> ranked(data.test.candidate_of.begin(), data.test.candidate_of.end());
  EXPECT_EQ(ranked, (std::set<std::int32_t>{-1, 0, 1, 2, 3, 4}));
}

TEST(LinkPrediction, TieRuleDecidesTheRank) {
  Samples test;
  test.arity = 2;
  test.step.assign(6, 0);
  test.label = {1, 1, 0, 0, 0, 0};
  test.candidate_of = {-1, -1, -1, 0, 0, 1};
  test.baseline = {5, 1, 1, 3, 3, 2};
  test.memory = {2, 1, 0, 0, 0, 0};
  // Scores are logit 1 minus logit 0: 2, 0, -1, then candidates 2, 3 (of the first) and 0 (of the second).
  const std::vector<double> outputs = {0, 2, 0, 0, 1, 0, 1, 3, 0, 3, 4, 4};
  const auto with = [&](const std::string& ties) {
    return task("link-prediction", {{"ties", ties}})->metrics(outputs, test);
  };
  EXPECT_DOUBLE_EQ(with("optimistic").at("mrr"), (1.0 / 2 + 1.0) / 2);
  EXPECT_DOUBLE_EQ(with("average").at("mrr"), (1.0 / 2.5 + 1.0 / 1.5) / 2);
  EXPECT_DOUBLE_EQ(with("pessimistic").at("mrr"), (1.0 / 3 + 1.0 / 2) / 2);
  EXPECT_DOUBLE_EQ(with("average").at("popularity_mrr"), (1.0 + 1.0 / 2) / 2);
  EXPECT_DOUBLE_EQ(with("average").at("auc"), 1.0);
  EXPECT_DOUBLE_EQ(with("average").at("ap"), 1.0);
  EXPECT_DOUBLE_EQ(with("average").at("accuracy"), 2.0 / 3.0);  // the second pair's logits are equal
  EXPECT_EQ(task("link-prediction", {{"ranking_negatives", 0}})->metrics(outputs, test).count("mrr"), 0u);
  EXPECT_DOUBLE_EQ(with("average").at("repeated_share"), 0.5);
  EXPECT_DOUBLE_EQ(with("average").at("seen_share"), 1.0);
  EXPECT_DOUBLE_EQ(with("average").at("edgebank_auc"), 1.0);
}

using Pairs = std::set<std::pair<VertexId, VertexId>>;

/// Positives of the step that is tested, or of training step `read`.
Pairs positives(const Samples& samples, Step read) {
  Pairs result;
  for (std::size_t i = 0; i < samples.step.size(); ++i) {
    if (samples.label[i] == 1 && samples.step[i] == read)
      result.insert({samples.vertices[2 * i], samples.vertices[2 * i + 1]});
  }
  return result;
}

TEST(LinkPrediction, NewPositivesAreNoEdgesOfTheStepBefore) {
  SnapshotGraph graph;
  graph.vertices = 8;
  const Pairs first = {{0, 1}, {2, 1}, {3, 4}}, second = {{0, 1}, {5, 6}}, third = {{0, 1}, {2, 1}, {6, 5}};
  graph.snapshots = {snapshot(8, first), snapshot(8, second), snapshot(8, third)};
  const auto drawn = [&](const std::string& which) {
    return task("link-prediction", {{"theta", 1.0}, {"positives", which}, {"ranking_negatives", 1}})->draw(graph, 1);
  };
  const TaskData all = drawn("all"), fresh = drawn("new");
  EXPECT_EQ(positives(all.test, 1), third);
  EXPECT_EQ(positives(all.train, 1), second);
  EXPECT_EQ(positives(fresh.test, 1), (Pairs{{2, 1}, {6, 5}}));
  EXPECT_EQ(positives(fresh.train, 1), (Pairs{{5, 6}}));
  EXPECT_EQ(positives(fresh.train, 0), first);  // nothing is before it
  EXPECT_EQ(positives(drawn("auto").test, 1), third);
  graph.repeats = "cumulative";
  EXPECT_EQ(positives(drawn("auto").test, 1), (Pairs{{2, 1}, {6, 5}}));
  const auto metrics = [](const TaskData& data) {
    return task("link-prediction", {{"ranking_negatives", 1}})
        ->metrics(std::vector<double>(2 * data.test.step.size(), 0.0), data.test);
  };
  EXPECT_DOUBLE_EQ(metrics(all).at("repeated_share"), 1.0 / 3);  // 0 -> 1
  EXPECT_DOUBLE_EQ(metrics(all).at("seen_share"), 2.0 / 3);      // and 2 -> 1
  EXPECT_DOUBLE_EQ(metrics(fresh).at("repeated_share"), 0.0);
  EXPECT_DOUBLE_EQ(metrics(fresh).at("seen_share"), 0.5);
}

}  // namespace
}  // namespace strobe
