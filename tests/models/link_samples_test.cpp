// The pairs and candidates that link prediction draws, against brute force on random graphs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "models/tasks/task.hpp"
#include "tests/models/task_support.hpp"

namespace strobe {
namespace {

using Pair = std::pair<VertexId, VertexId>;
using Pairs = std::set<Pair>;

SnapshotGraph graph_of(std::int64_t vertices, const std::vector<Pairs>& steps) {
  SnapshotGraph graph;
  graph.vertices = vertices;
  for (const Pairs& edges : steps) graph.snapshots.push_back(snapshot(vertices, edges));
  return graph;
}

/// Every ordered pair, self-loops too, with the given probability, but no vertex leads to all others.
Pairs random_edges(VertexId vertices, double density, std::mt19937& random) {
  Pairs edges;
  std::uniform_real_distribution<double> uniform;
  for (VertexId u = 0; u < vertices; ++u) {
    for (VertexId v = 0; v < vertices; ++v) {
      if (v != (u + 1) % vertices && uniform(random) < density) edges.insert({u, v});
    }
  }
  return edges;
}

/// `count` draws of a user (0 .. users - 1) and an item (users .. users + items - 1); `turned`: items lead to users.
Pairs random_purchases(VertexId users, VertexId items, int count, const std::string& orientation,
                       std::mt19937& random) {
  Pairs edges;
  for (int k = 0; k < count; ++k) {
    const auto user = static_cast<VertexId>(random() % static_cast<unsigned>(users));
    const auto item = static_cast<VertexId>(users + static_cast<VertexId>(random() % static_cast<unsigned>(items)));
    if (orientation != "out") edges.insert({user, item});
    if (orientation != "in") edges.insert({item, user});
  }
  return edges;
}

SnapshotGraph shop(VertexId users, VertexId items, int count, const std::string& orientation, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Pairs> steps;
  for (int t = 0; t < 6; ++t) steps.push_back(random_purchases(users, items, count, orientation, random));
  SnapshotGraph graph = graph_of(users + items, steps);
  graph.orientation = orientation;
  for (VertexId v = 0; v < users + items; ++v) graph.side.push_back(v < users ? 0 : 1);
  return graph;
}

std::unique_ptr<Task> link_prediction(const Json& options) {
  return TaskRegistry::instance().find("link-prediction").value(options);
}

/// Targets of the candidates of each edge, by the edge's position.
std::map<std::int32_t, std::vector<VertexId>> candidates_of(const Samples& samples) {
  std::map<std::int32_t, std::vector<VertexId>> result;
  for (std::size_t i = 0; i < samples.step.size(); ++i) {
    if (samples.candidate_of[i] < 0) continue;
    EXPECT_EQ(samples.vertices[2 * i], samples.vertices[2 * static_cast<std::size_t>(samples.candidate_of[i])]);
    result[samples.candidate_of[i]].push_back(samples.vertices[2 * i + 1]);
  }
  return result;
}

/// Outputs [n, 2] whose class 1 has a uniform score.
std::vector<double> random_outputs(std::size_t count, std::mt19937& random) {
  std::vector<double> outputs;
  std::uniform_real_distribution<double> uniform;
  for (std::size_t i = 0; i < count; ++i) {
    outputs.push_back(0);
    outputs.push_back(uniform(random));
  }
  return outputs;
}

TEST(LinkCandidates, AreDistinctNonNeighboursAndAsManyAsThereAre) {
  for (const double density : {0.05, 0.5, 0.9}) {
    for (const unsigned seed : {1u, 2u, 3u}) {
      std::mt19937 random(seed);
      const SnapshotGraph graph = graph_of(14, {random_edges(14, density, random), random_edges(14, density, random)});
      const auto task = link_prediction({{"theta", 1.0}, {"ranking_negatives", 6}, {"negatives", "any"}});
      const TaskData data = task->draw(graph, seed);
      for (const auto& [edge, drawn] : candidates_of(data.test)) {
        const VertexId u = data.test.vertices[2 * static_cast<std::size_t>(edge)];
        std::size_t free = 0;
        for (VertexId w = 0; w < 14; ++w) free += w != u && !leads(graph, 1, u, w) ? 1 : 0;
        EXPECT_EQ(drawn.size(), std::min<std::size_t>(6, free)) << density;
        EXPECT_EQ(std::set<VertexId>(drawn.begin(), drawn.end()).size(), drawn.size());
        for (const VertexId w : drawn) EXPECT_TRUE(w != u && !leads(graph, 1, u, w));
      }
    }
  }
}

TEST(LinkCandidates, AreUniformWhetherTriedOrListed) {
  // Vertex 0 leads to 1 of 12, or to 7 of 12; 3 candidates of the others.
  for (const VertexId degree : {1, 7}) {
    Pairs edges;
    for (VertexId v = 1; v <= degree; ++v) edges.insert({0, v});
    const SnapshotGraph graph = graph_of(12, {edges, edges});
    const auto task = link_prediction({{"theta", 1.0}, {"ranking_negatives", 3}, {"ranked", 1}});
    std::map<VertexId, double> drawn;
    constexpr int draws = 3000;
    for (int seed = 0; seed < draws; ++seed) {
      const TaskData data = task->draw(graph, static_cast<std::uint64_t>(seed));
      const auto by_edge = candidates_of(data.test);
      for (const VertexId w : by_edge.begin()->second) drawn[w] += 1;
    }
    const double free = 11 - degree, share = 3 / free;
    EXPECT_EQ(static_cast<double>(drawn.size()), free);
    for (const auto& [w, times] : drawn)
      EXPECT_NEAR(times / draws, share, 4.5 * std::sqrt(share * (1 - share) / draws)) << w;
  }
}

TEST(LinkCandidates, ARandomScorerReachesTheStatedChance) {
  std::mt19937 random(5);
  for (const double density : {0.02, 0.4, 0.85}) {
    const SnapshotGraph graph = graph_of(20, {random_edges(20, density, random), random_edges(20, density, random)});
    const auto task = link_prediction({{"theta", 1.0}, {"ranking_negatives", 10}});
    const TaskData data = task->draw(graph, 3);
    std::vector<double> mrr;
    double chance = 0, fewest = 0, mean = 0;
    for (int k = 0; k < 400; ++k) {
      const auto metrics = task->metrics(random_outputs(data.test.step.size(), random), data.test);
      mrr.push_back(metrics.at("mrr"));
      chance = metrics.at("mrr_chance");
      fewest = metrics.at("ranking_candidates_min");
      mean = metrics.at("ranking_candidates_mean");
    }
    double sum = 0, squares = 0;
    for (const double value : mrr) sum += value / 400;
    for (const double value : mrr) squares += (value - sum) * (value - sum) / 399;
    EXPECT_NEAR(sum, chance, 4 * std::sqrt(squares / 400)) << density;
    double expected = 0, all = 0, least = 100;
    const auto by_edge = candidates_of(data.test);
    for (const auto& [edge, drawn] : by_edge) {
      const double k = drawn.size();
      double harmonic = 0;
      for (double n = 1; n <= k + 1; ++n) harmonic += 1 / n;
      expected += harmonic / (k + 1) / static_cast<double>(by_edge.size());
      all += k / static_cast<double>(by_edge.size());
      least = std::min(least, k);
    }
    EXPECT_NEAR(chance, expected, 1e-12);
    EXPECT_NEAR(mean, all, 1e-12);
    EXPECT_EQ(fewest, least);
    const bool noted = std::any_of(data.notes.begin(), data.notes.end(), [](const std::string& note) {
      return note.find("fewer than 10 candidates") != std::string::npos;
    });
    EXPECT_EQ(noted, least < 10) << density;
  }
}

TEST(LinkCandidates, OfTrainingTargetsAreAsManyAsThereAre) {
  // The test step leads to vertices that are no target in training.
  std::mt19937 random(8);
  const Pairs train = {{0, 1}, {2, 3}, {1, 4}, {5, 6}, {6, 7}};
  for (const double density : {0.2, 0.6}) {
    const Pairs test = random_edges(12, density, random);
    const TaskData data =
        link_prediction({{"theta", 1.0}, {"negatives", "targets"}, {"ranking_negatives", 5}, {"split", "50/0/50"}})
            ->draw(graph_of(12, {train, test}), 1);
    const auto candidates = candidates_of(data.test);
    for (std::size_t i = 0; i < data.test.step.size(); ++i) {
      if (data.test.candidate_of[i] >= 0 || data.test.label[i] == 0) continue;
      const VertexId u = data.test.vertices[2 * i];
      std::size_t allowed = 0;
      for (const VertexId v : {1, 3, 4, 6, 7}) allowed += u != v && !test.contains({u, v}) ? 1 : 0;
      const auto found = candidates.find(static_cast<std::int32_t>(i));
      EXPECT_EQ(found == candidates.end() ? 0 : found->second.size(), allowed) << u;
    }
  }
}

TEST(LinkCandidates, AnEdgeWithoutAnyIsNotRanked) {
  // 0 leads to all others, 1 to 2 alone.
  const Pairs edges = {{0, 1}, {0, 2}, {0, 3}, {1, 2}};
  const auto task = link_prediction({{"theta", 1.0}, {"ranking_negatives", 5}});
  const TaskData data = task->draw(graph_of(4, {edges, edges}), 1);
  std::mt19937 random(1);
  const auto metrics = task->metrics(random_outputs(data.test.step.size(), random), data.test);
  EXPECT_EQ(task->metric_samples(data.test).at("mrr"), 1);
  EXPECT_EQ(task->metric_samples(data.test).at("auc"), 8);
  EXPECT_EQ(task->metric_samples(data.test).at("seen_share"), 4);
  EXPECT_DOUBLE_EQ(metrics.at("mrr_chance"), (1 + 1.0 / 2 + 1.0 / 3) / 3);
  const auto reported = [](const TaskData& drawn) {
    std::string notes;
    for (const std::string& note : drawn.notes) notes += note + "\n";
    return notes;
  };
  EXPECT_NE(reported(data).find("0 at least; those without any are left out of mrr"), std::string::npos) << reported(data);
  const std::string some = reported(task->draw(graph_of(4, {{{0, 1}, {0, 2}, {1, 2}}, {{0, 1}, {0, 2}, {1, 2}}}), 1));
  EXPECT_NE(some.find("1 at least"), std::string::npos) << some;
  EXPECT_EQ(some.find("left out of mrr"), std::string::npos) << some;
  const TaskData full = task->draw(graph_of(3, {{{1, 2}}, {{0, 1}, {0, 2}}}), 1);
  EXPECT_NE(full.why_absent("mrr"), "");
  EXPECT_EQ(full.why_absent("auc"), "");
}

TEST(LinkNegatives, OfATwoSidedGraphKeepToTheSides) {
  for (const std::string orientation : {"in", "out", "both"}) {
    const SnapshotGraph graph = shop(40, 60, 80, orientation, 7);
    for (const char* which : {"auto", "sides"}) {
      const TaskData data = link_prediction({{"theta", 1.0}, {"negatives", which}})->draw(graph, 2);
      EXPECT_EQ(data.notes.front(), "negatives=sides");
      for (const Samples* samples : {&data.train, &data.test}) {
        std::map<std::pair<std::int32_t, bool>, int> count;  // by label and direction
        for (std::size_t i = 0; i < samples->step.size(); ++i) {
          const VertexId u = samples->vertices[2 * i], v = samples->vertices[2 * i + 1];
          EXPECT_NE(u < 40, v < 40) << orientation;
          const bool candidate = !samples->candidate_of.empty() && samples->candidate_of[i] >= 0;
          if (!candidate) ++count[{samples->label[i], u < 40}];
          if (orientation != "both") {
            EXPECT_EQ(u < 40, orientation == "in");
          }
        }
        EXPECT_EQ((count[{0, true}]), (count[{1, true}])) << "the direction must tell nothing, " << orientation;
        EXPECT_EQ((count[{0, false}]), (count[{1, false}]));
      }
    }
    EXPECT_EQ(link_prediction({{"negatives", "any"}})->draw(graph, 2).notes.front(), "negatives=any");
  }
  SnapshotGraph one_sided = shop(40, 60, 80, "in", 7);
  one_sided.side.clear();
  EXPECT_EQ(link_prediction(Json::object())->draw(one_sided, 2).notes.front(), "negatives=any");
  EXPECT_THROW(link_prediction({{"negatives", "sides"}})->draw(one_sided, 2), InvalidRequest);
}

/// AUC of a score that knows the sides and degrees of the training steps, on purchases without any pattern.
double side_and_degree_auc(const SnapshotGraph& graph, const std::string& negatives, std::uint64_t seed) {
  const auto task = link_prediction({{"theta", 1.0}, {"negatives", negatives}});
  const TaskData data = task->draw(graph, seed);
  std::vector<double> outputs;
  for (std::size_t i = 0; i < data.test.step.size(); ++i) {
    const VertexId u = data.test.vertices[2 * i], v = data.test.vertices[2 * i + 1];
    outputs.push_back(0);
    outputs.push_back((u < 200 ? 1e4 : 0) + (v >= 200 ? 1e4 : 0) + data.test.baseline[i]);
  }
  return task->metrics(outputs, data.test).at("auc");
}

TEST(LinkNegatives, OfATwoSidedGraphRevealNothingBySides) {
  double sides = 0, any = 0, bank = 0;
  constexpr int draws = 10;
  for (int k = 0; k < draws; ++k) {
    const SnapshotGraph graph = shop(200, 200, 1500, "in", static_cast<unsigned>(k));
    sides += side_and_degree_auc(graph, "auto", 1) / draws;
    any += side_and_degree_auc(graph, "any", 1) / draws;
    const auto task = link_prediction({{"theta", 1.0}});
    const TaskData data = task->draw(graph, 1);
    bank += task->metrics(std::vector<double>(2 * data.test.step.size(), 0.0), data.test).at("edgebank_auc") / draws;
  }
  // 1,470 positives and negatives: the AUC of chance has a standard error of 0.0107, the mean of ten 0.0034.
  EXPECT_NEAR(sides, 0.5, 0.0137);
  EXPECT_NEAR(bank, 0.5, 0.0137);
  EXPECT_GT(any, 0.85);  // three of four negatives cannot be
}

TEST(LinkNegatives, AreFoundWhereOneNonEdgeIsLeft) {
  Pairs all;
  for (VertexId u = 0; u < 40; ++u) {
    for (VertexId v = 0; v < 40; ++v) {
      if (u != v) all.insert({u, v});
    }
  }
  Pairs all_but_one = all;
  all_but_one.erase({17, 4});
  const auto task = link_prediction({{"theta", 0.05}});
  const TaskData data = task->draw(graph_of(40, {all_but_one, all_but_one}), 1);
  EXPECT_EQ(data.train.count(), 2 * 78);
  for (std::size_t i = 78; i < 156; ++i)
    EXPECT_EQ((Pair{data.train.vertices[2 * i], data.train.vertices[2 * i + 1]}), (Pair{17, 4}));
  EXPECT_THROW(task->draw(graph_of(40, {all, all}), 1), InvalidRequest);

  SnapshotGraph sold = graph_of(30, std::vector<Pairs>(2));  // every user bought every item but one
  Pairs purchases;
  for (VertexId u = 0; u < 10; ++u) {
    for (VertexId v = 10; v < 30; ++v) purchases.insert({u, v});
  }
  purchases.erase({3, 25});
  sold.snapshots.assign(2, snapshot(30, purchases));
  for (VertexId v = 0; v < 30; ++v) sold.side.push_back(v < 10 ? 0 : 1);
  const TaskData rare = link_prediction({{"theta", 0.1}})->draw(sold, 1);
  for (std::size_t i = 0; i < rare.train.step.size(); ++i) {
    if (rare.train.label[i] != 0) continue;
    EXPECT_EQ((Pair{rare.train.vertices[2 * i], rare.train.vertices[2 * i + 1]}), (Pair{3, 25}));
  }
}

TEST(LinkSplit, LaterStepsAreValidatedAndTestedFromTheStepBefore) {
  std::mt19937 random(11);
  std::vector<Pairs> steps;
  for (int t = 0; t < 10; ++t) steps.push_back(random_edges(16, 0.15, random));
  const SnapshotGraph graph = graph_of(16, steps);
  const Json options = {{"theta", 0.5}, {"split", "60/20/20"}, {"ranking_negatives", 3}, {"ranked", 9}};
  const TaskData data = link_prediction(options)->draw(graph, 1);
  EXPECT_EQ(data.steps, 9);
  const auto read = [](const Samples& samples) { return std::set<Step>(samples.step.begin(), samples.step.end()); };
  EXPECT_EQ(read(data.train), (std::set<Step>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(read(data.validation), (std::set<Step>{5, 6}));  // of steps 6 and 7
  EXPECT_EQ(read(data.test), (std::set<Step>{7, 8}));        // of steps 8 and 9
  EXPECT_EQ(data.trained_steps(), 6);
  for (const Samples* samples : {&data.validation, &data.test}) {
    EXPECT_EQ(candidates_of(*samples).size(), 9u);
    for (std::size_t i = 0; i < samples->step.size(); ++i) {
      const VertexId u = samples->vertices[2 * i], v = samples->vertices[2 * i + 1];
      const Step s = samples->step[i] + 1;
      EXPECT_EQ(leads(graph, s, u, v), samples->label[i] == 1);
      double popular = 0;
      int memory = 0;
      for (Step t = 0; t < s; ++t) {
        for (VertexId w = 0; w < 16; ++w) popular += leads(graph, t, w, v) ? 1 : 0;
        if (leads(graph, t, u, v)) memory = t + 1 == s ? 2 : 1;
      }
      EXPECT_EQ(samples->baseline[i], popular);
      if (samples->candidate_of[i] < 0) {
        EXPECT_EQ(samples->memory[i], memory);
      }
    }
  }
  // A later step changes nothing that was drawn or known before it.
  SnapshotGraph other = graph;
  other.snapshots.back() = snapshot(16, random_edges(16, 0.3, random));
  const TaskData again = link_prediction(options)->draw(other, 1);
  EXPECT_EQ(again.train.vertices, data.train.vertices);
  EXPECT_EQ(again.validation.vertices, data.validation.vertices);
  EXPECT_EQ(again.validation.baseline, data.validation.baseline);
}

TEST(LinkSplit, EmptyIsTheLastStep) {
  std::mt19937 random(12);
  std::vector<Pairs> steps;
  for (int t = 0; t < 10; ++t) steps.push_back(random_edges(16, 0.15, random));
  const SnapshotGraph graph = graph_of(16, steps);
  const TaskData plain = link_prediction(Json::object())->draw(graph, 1);
  EXPECT_EQ(plain.validation.count(), 0);
  const TaskData split = link_prediction({{"split", "90/0/10"}})->draw(graph, 1);
  EXPECT_EQ(split.train.vertices, plain.train.vertices);
  EXPECT_EQ(split.test.vertices, plain.test.vertices);
  EXPECT_EQ(split.test.step, plain.test.step);
}

TEST(LinkSplit, NoTestPairSaysWhy) {
  const Pairs many = {{0, 1}, {1, 2}, {2, 3}, {3, 4}};
  const auto reason = [&](const std::vector<Pairs>& steps, const Json& options) {
    const TaskData data = link_prediction(options)->draw(graph_of(5, steps), 1);
    EXPECT_EQ(data.test.count(), 0);
    EXPECT_NE(std::find(data.notes.begin(), data.notes.end(), data.why_absent("auc")), data.notes.end());
    EXPECT_EQ(data.why_absent("mrr"), data.why_absent("auc"));
    return data.why_absent("auc");
  };
  const Json theta = {{"theta", 0.3}};
  EXPECT_EQ(reason({many, {{0, 1}}}, theta), "no test pair was drawn: 0.3 of 1 edge rounds to none");
  EXPECT_EQ(reason({many, {}}, theta), "no test pair was drawn: the test step has no edge");
  EXPECT_EQ(reason({many, {{0, 1}, {1, 0}}}, {{"theta", 0.2}}),
            "no test pair was drawn: 0.2 of 2 edges rounds to none");
  EXPECT_EQ(reason({many, many}, {{"theta", 1.0}, {"positives", "new"}}),
            "no test pair was drawn: the test step has no new edge");
  EXPECT_EQ(reason({many, many, {{0, 1}}, {{0, 1}}}, {{"theta", 0.3}, {"split", "50/0/50"}}),
            "no test pair was drawn: 0.3 of the edges of each of the 2 test steps rounds to none");
  const TaskData shown = link_prediction(theta)->draw(graph_of(5, {many, many}), 1);
  EXPECT_TRUE(shown.absent.empty());
}

}  // namespace
}  // namespace strobe
