// The best possible of planted events: its metrics by their definitions, and the law that nothing exceeds it but by
// chance: neither a rule, nor a filter with other parameters, nor one that forgets.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/random.hpp"
#include "models/tasks/event_task.hpp"
#include "models/tasks/future_links/without_model.hpp"
#include "models/tasks/task.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

EventGraph planted(const Json& parameters, std::uint64_t seed) {
  return load_events("planted", parameters, seed).value();
}

EventTaskData draw_links(const EventGraph& graph, std::uint64_t seed, const Json& options = Json::object()) {
  return EventTaskRegistry::instance().find("future-links").value(options)->draw(graph, seed);
}

/// Scores of the destination and of its candidates, event by event.
using Scores = std::vector<std::vector<double>>;

/// Test events scored by the filter of `law`; with `only_new` those whose pair had no event.
Scores scored(const EventGraph& graph, const PlantedLinks& law, const EventTaskData& data, std::int64_t wanted,
              bool only_new = false) {
  PlantedFilter filter(law);
  std::map<VertexId, std::set<VertexId>> met;
  Scores scores;
  for (EdgeId e = 0; e < graph.events(); ++e) {
    const VertexId u = graph.source[e], v = graph.target[e];
    filter.look(u, graph.time[e]);
    if (e >= data.split.validation_end && !(only_new && met[u].contains(v))) {
      double known = 0;
      for (const VertexId w : met[u]) known += filter.probability(w);
      std::vector<VertexId> all = data.candidates->evaluation(e, wanted);
      all.insert(all.begin(), v);
      scores.emplace_back();
      for (const VertexId w : all) {
        const double p = filter.probability(w);
        scores.back().push_back(!only_new ? p : met[u].contains(w) ? 0 : p / (1 - known));
      }
    }
    filter.learn(v);
    met[u].insert(v);
  }
  return scores;
}

std::vector<double> reciprocal_ranks(const Scores& scores) {
  std::vector<double> ranks;
  for (const std::vector<double>& own : scores) {
    // The mean over all orders of ties: each place among them is equally likely.
    double first = 1, last = 1, sum = 0;
    for (std::size_t i = 1; i < own.size(); ++i) first += own[i] > own[0] ? 1 : 0, last += own[i] >= own[0] ? 1 : 0;
    for (double rank = first; rank <= last; ++rank) sum += 1 / rank;
    ranks.push_back(sum / (last - first + 1));
  }
  return ranks;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

/// Area under the ROC curve by its definition: the share of pairs in the right order.
double right_order(const Scores& scores) {
  double right = 0;
  for (const auto& a : scores)
    for (const auto& b : scores) right += a[0] > b[1] ? 1 : a[0] == b[1] ? 0.5 : 0;
  return right / static_cast<double>(scores.size() * scores.size());
}

TEST(BestPossible, IsTheMetricOfThePosterior) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const EventGraph graph = planted({{"vertices", 150}, {"events", 3000}, {"communities", 6}}, seed);
    for (const bool only_new : {false, true}) {
      const EventTaskData data =
          draw_links(graph, seed, {{"candidates", "9"}, {"batch", 30}, {"links", only_new ? "new" : "all"}});
      const Scores scores = scored(graph, graph.planted, data, 9, only_new);
      if (only_new) {
        EXPECT_LT(scores.size(), 450u);
      }
      EXPECT_NEAR(data.levels.best_possible.at("mrr"), mean(reciprocal_ranks(scores)), 1e-12);
      EXPECT_NEAR(data.levels.best_possible.at("auc"), right_order(scores), 1e-9);
      EXPECT_EQ(data.levels.best_possible.size(), 6u) << "of test and validation";
    }
  }
}

/// How much better the scores `a` are than `b` in mean reciprocal rank, in standard errors of the difference.
double errors_above(const Scores& a, const Scores& b) {
  const std::vector<double> x = reciprocal_ranks(a), y = reciprocal_ranks(b);
  std::vector<double> difference;
  double square = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    difference.push_back(x[i] - y[i]);
    square += difference.back() * difference.back();
  }
  const double average = mean(difference), n = static_cast<double>(x.size());
  const double deviation = std::sqrt(std::max(square / n - average * average, 1e-30) / n);
  return average / deviation;
}

TEST(BestPossible, NoOtherParametersNorMemoryExceedIt) {
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
    const EventGraph graph = planted({{"vertices", 600}, {"events", 12000}, {"communities", 8}}, seed);
    const EventTaskData data = draw_links(graph, seed);
    const Scores best = scored(graph, graph.planted, data, 49);
    const auto others = [&](const auto& change) {
      PlantedLinks law = graph.planted;
      change(law);
      const Scores scores = scored(graph, law, data, 49);
      EXPECT_LT(errors_above(scores, best), 3.5) << "seed " << seed;
      EXPECT_LT(right_order(scores), right_order(best) + 0.01);
      return mean(reciprocal_ranks(best)) - mean(reciprocal_ranks(scores));
    };
    EXPECT_GT(others([](PlantedLinks& law) { law.drift = 0.02; }), 0.002) << "seed " << seed;
    EXPECT_GT(others([](PlantedLinks& law) { law.drift = 0.9; }), 0.01);
    EXPECT_GT(others([](PlantedLinks& law) { law.tempo = 1; }), 0.001) << "time tells something";
    EXPECT_GT(others([](PlantedLinks& law) { law.noise = 0.7; }), 0) << "less trust in what was seen";
    others([](PlantedLinks& law) { law.rate *= 3; });
    // Any order of equal scores is as good as any other.
    Scores untied = best;
    const RandomStream random(seed, random_purpose::test);
    std::uint64_t place = 0;
    for (std::vector<double>& own : untied)
      for (double& score : own) score *= 1 + 1e-9 * random.uniform(place++);
    EXPECT_LT(std::abs(errors_above(untied, best)), 3.5) << "seed " << seed;
  }
}

TEST(BestPossible, NoRuleExceedsItAndRulesAreNearChance) {
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    const EventGraph graph = planted(Json::object(), seed);
    for (const char* links : {"all", "new"}) {
      const ReferenceLevels levels = draw_links(graph, seed, {{"links", links}}).levels;
      double chance = 0;
      for (int i = 1; i <= 50; ++i) chance += 1.0 / i / 50;
      for (const char* part : {"", "validation_"}) {
        const std::string metric = std::string(part) + "mrr";
        EXPECT_LT(levels.best_rule.at(metric), chance + 0.015) << links << " seed " << seed;
        EXPECT_GT(levels.best_possible.at(metric), 3.5 * levels.best_rule.at(metric));
        EXPECT_GT(levels.best_possible.at(std::string(part) + "auc"),
                  levels.best_rule.at(std::string(part) + "auc") + 0.3);
        EXPECT_GT(levels.best_possible.at(std::string(part) + "ap"), levels.best_rule.at(std::string(part) + "ap"));
      }
    }
  }
}

TEST(BestPossible, IsKnownWhereTheLawIsAndCandidatesAreRandom) {
  const EventGraph graph = planted({{"vertices", 150}, {"events", 2000}}, 1);
  EXPECT_TRUE(draw_links(graph, 1, {{"evaluation_negatives", "historical"}}).levels.best_possible.empty());
  EXPECT_FALSE(draw_links(graph, 1, {{"evaluation_negatives", "historical"}}).levels.best_rule.empty());
  EXPECT_EQ(draw_links(graph, 1, {{"ties", "optimistic"}}).levels.best_possible.count("mrr"), 0u)
      << "equal scores for all have mrr 1 there";
  const ReferenceLevels kept_out = draw_links(graph, 1, {{"kept_out", 0.1}}).levels;
  EXPECT_EQ(kept_out.best_possible.count("mrr"), 1u);
  EXPECT_EQ(kept_out.best_possible.count("inductive_mrr"), 0u);
  EXPECT_EQ(kept_out.best_rule.count("inductive_mrr"), 1u);
  EventGraph unknown = graph;
  unknown.planted = {};
  EXPECT_TRUE(draw_links(unknown, 1).levels.best_possible.empty());
  // Both families have the same levels.
  Windowing cut;
  cut.count = 20;
  const SnapshotGraph steps = make_snapshots(graph, cut);
  const TaskData data =
      TaskRegistry::instance().find("future-links").value(Json::object())->draw_of_events(steps, graph, 1);
  EXPECT_EQ(data.levels.best_possible, draw_links(graph, 1).levels.best_possible);
  EXPECT_EQ(data.levels.best_rule, draw_links(graph, 1).levels.best_rule);
}

TEST(BestRules, AreTheBestOfEachMetric) {
  ReferenceLevels levels;
  add_best_rules({{"recency_mrr", 0.2},
                  {"popularity_mrr", 0.3},
                  {"recency_auc", 0.7},
                  {"inductive_recency_mrr", 0.1},
                  {"popularity_auc", std::nan("")}},
                 "validation_", levels);
  EXPECT_EQ(levels.best_rule,
            (std::map<std::string, double>{
                {"validation_mrr", 0.3}, {"validation_auc", 0.7}, {"validation_inductive_mrr", 0.1}}));
  EXPECT_EQ(levels.rule.at("validation_mrr"), "popularity");
  EXPECT_EQ(levels.rule.at("validation_auc"), "recency");
}

}  // namespace
}  // namespace strobe
