// Historical and inductive candidates, and links that are new: each again by its words, from the list of events.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "core/errors.hpp"
#include "core/random.hpp"
#include "models/tasks/event_task.hpp"
#include "models/tasks/link_rules.hpp"
#include "models/tasks/task.hpp"
#include "tests/workloads/support.hpp"

namespace strobe {
namespace {

/// Senders 0..5 hit targets 6..17: half of the time one of few of their own, in bursts of two at one time.
EventGraph habits(std::uint64_t seed, int count) {
  const RandomStream random(seed, random_purpose::test);
  std::vector<std::tuple<int, int, double>> rows;
  for (int e = 0; e < count; ++e) {
    const auto draw = [&](int which, int n) {
      return static_cast<int>(random.below(static_cast<std::uint64_t>(4 * e + which), static_cast<std::uint64_t>(n)));
    };
    const int sender = draw(0, 6), shift = e < count / 2 ? 0 : 3;
    const int target = draw(1, 2) > 0 ? 6 + (sender + shift + draw(2, 3)) % 12 : 6 + draw(3, 12);
    rows.emplace_back(sender, target, static_cast<double>(e / 2));
  }
  return test::make_events(18, rows);
}

std::unique_ptr<EventTask> of_events(const Json& options) {
  return EventTaskRegistry::instance().find("future-links").value(options);
}

/// Targets of `source` among the events [first, last).
std::set<VertexId> hit(const EventGraph& graph, VertexId source, EdgeId first, EdgeId last) {
  std::set<VertexId> targets;
  for (EdgeId e = first; e < last; ++e)
    if (graph.source[e] == source) targets.insert(graph.target[e]);
  return targets;
}

std::set<VertexId> without(std::set<VertexId> all, const std::set<VertexId>& these) {
  for (const VertexId v : these) all.erase(v);
  return all;
}

/// The targets that the source hits at the time of the event.
std::set<VertexId> hit_at_once(const EventGraph& graph, EdgeId event) {
  std::set<VertexId> targets;
  for (EdgeId e = 0; e < graph.events(); ++e)
    if (graph.source[e] == graph.source[event] && graph.time[e] == graph.time[event]) targets.insert(graph.target[e]);
  return targets;
}

/// The set that the candidates of `event` should come from as far as it reaches.
std::set<VertexId> first_choice(const EventGraph& graph, const TimeSplit& split, EdgeId batch, EdgeId event,
                                const std::string& kind) {
  const VertexId source = graph.source[event];
  const EdgeId part = event < split.validation_end ? split.train_end : split.validation_end;
  const EdgeId known = part + (event - part) / batch * batch;
  const std::set<VertexId> chosen = kind == "historical"
                                        ? hit(graph, source, 0, split.train_end)
                                        : without(hit(graph, source, part, known), hit(graph, source, 0, part));
  return without(chosen, hit_at_once(graph, event));
}

TEST(HardNegatives, ComeFromTheirSetAndRandomOnesFillUp) {
  std::int64_t full = 0, filled = 0;
  for (const std::uint64_t seed : {1, 2, 3}) {
    const EventGraph graph = habits(seed, 300);
    for (const std::string kind : {"historical", "inductive"}) {
      for (const auto& [wanted, batch] : {std::pair{1, 7}, {3, 20}, {6, 1}, {100, 20}}) {
        const EventTaskData data = of_events({{"candidates", std::to_string(wanted)},
                                              {"evaluation_negatives", kind},
                                              {"negatives", "targets"},
                                              {"batch", batch}})
                                       ->draw(graph, seed);
        const std::set<VertexId> pool(data.candidates->pool().begin(), data.candidates->pool().end());
        for (EdgeId e = data.split.train_end; e < graph.events(); ++e) {
          const std::set<VertexId> allowed = without(pool, hit_at_once(graph, e));
          const std::set<VertexId> first = first_choice(graph, data.split, batch, e, kind);
          const std::vector<VertexId> drawn = data.candidates->evaluation(e, wanted);
          const std::size_t hard = std::min(first.size(), static_cast<std::size_t>(wanted));
          ASSERT_EQ(drawn.size(), std::min(allowed.size(), static_cast<std::size_t>(wanted)));
          ASSERT_EQ(std::set<VertexId>(drawn.begin(), drawn.end()).size(), drawn.size()) << "one twice";
          for (std::size_t i = 0; i < drawn.size(); ++i) {
            EXPECT_TRUE(allowed.contains(drawn[i]));
            EXPECT_EQ(first.contains(drawn[i]), i < hard) << kind << " seed " << seed << " event " << e << " of " << i;
          }
          EXPECT_EQ(data.candidates->evaluation(e, 1).front(), drawn.front()) << "the negative of ap";
          const std::vector<VertexId> all = data.candidates->evaluation(e, -1);
          EXPECT_EQ(std::set<VertexId>(all.begin(), all.end()), allowed);
          EXPECT_EQ(all.front(), drawn.front());
          (hard == drawn.size() ? full : filled) += 1;
        }
      }
    }
  }
  EXPECT_GT(full, 200);
  EXPECT_GT(filled, 200);
}

TEST(HardNegatives, OfAnExampleByHand) {
  // Training 0..5, validation 6..7, test 8..11 in batches of two. Vertex 0 hits 2, 3 and 4 in training.
  const EventGraph graph = test::make_events(8, {{0, 2, 0},
                                                 {0, 3, 1},
                                                 {1, 5, 2},
                                                 {0, 4, 3},
                                                 {1, 6, 4},
                                                 {0, 2, 5},
                                                 {0, 5, 6},   // validation: 5 is new to vertex 0
                                                 {1, 2, 7},   //
                                                 {0, 6, 8},   // test: 6 is new to vertex 0
                                                 {0, 7, 9},   // 7 too, in the same batch
                                                 {0, 3, 10},  //
                                                 {0, 2, 11}});
  const auto drawn = [&](const std::string& kind, EdgeId event) {
    EventCandidates candidates(graph, "targets", 1);
    candidates.sample({kind == "historical" ? NegativeSampling::historical : NegativeSampling::inductive, {6, 8}, 2});
    const auto all = candidates.evaluation(event, 2);
    return std::set<VertexId>(all.begin(), all.end());
  };
  EXPECT_EQ(drawn("historical", 10), (std::set<VertexId>{2, 4})) << "3 is the destination";
  EXPECT_EQ(drawn("historical", 11), (std::set<VertexId>{3, 4}));
  EXPECT_EQ(drawn("inductive", 10), (std::set<VertexId>{6, 7})) << "5 was new in validation, not in the test";
  EXPECT_EQ(drawn("inductive", 9).size(), 2u) << "6 came in the same batch, so both are random";
}

TEST(HardNegatives, AreUniformOverTheirSet) {
  std::vector<std::tuple<int, int, double>> rows;
  for (int v = 1; v <= 8; ++v) rows.emplace_back(0, v, v);
  rows.emplace_back(0, 9, 20), rows.emplace_back(0, 10, 30);
  const EventGraph graph = test::make_events(11, rows);
  std::map<VertexId, int> often, first;
  for (std::uint64_t seed = 0; seed < 800; ++seed) {
    EventCandidates candidates(graph, "targets", seed);
    candidates.sample({NegativeSampling::historical, {8, 9}, 200});
    const auto drawn = candidates.evaluation(9, 3);
    for (const VertexId v : drawn) ++often[v];
    ++first[drawn.front()];
  }
  ASSERT_EQ(often.size(), 8u);
  // Binomial with means 800 * 3 / 8 and 800 / 8, and deviations 14 and 9: five deviations to either side.
  for (VertexId v = 1; v <= 8; ++v) {
    EXPECT_NEAR(often[v], 300, 70) << v;
    EXPECT_NEAR(first[v], 100, 47) << v;
  }
}

TEST(HardNegatives, AreTheSameForBothFamiliesAndChangeNoDrawOfTraining) {
  for (const std::uint64_t seed : {4, 5}) {
    const EventGraph graph = habits(seed, 300);
    Windowing cut;
    cut.count = 30;
    const SnapshotGraph steps = make_snapshots(graph, cut);
    for (const std::string kind : {"historical", "inductive"}) {
      for (const std::string links : {"all", "new"}) {
        const Json options = {{"candidates", "4"}, {"batch", 20}, {"evaluation_negatives", kind}, {"links", links}};
        const EventTaskData events = of_events(options)->draw(graph, seed);
        const auto draw = [&](const Json& how) {
          return TaskRegistry::instance().find("future-links").value(how)->draw_of_events(steps, graph, seed);
        };
        const TaskData snapshots = draw(options), plain = draw({{"candidates", "4"}, {"batch", 20}});
        EXPECT_EQ(snapshots.rules, events.rules);
        EXPECT_EQ(snapshots.levels.best_rule, events.levels.best_rule);
        EXPECT_EQ(snapshots.train.vertices, plain.train.vertices);
        EXPECT_EQ(snapshots.train.weight, plain.train.weight);
        std::vector<VertexId> wanted, found(snapshots.test.vertices.begin(), snapshots.test.vertices.end());
        for (EdgeId e = events.split.validation_end; e < graph.events(); ++e) {
          if (links == "new" && hit(graph, graph.source[e], 0, e).contains(graph.target[e])) continue;
          wanted.insert(wanted.end(), {graph.source[e], graph.target[e]});
          for (const VertexId v : events.candidates->evaluation(e, 4))
            wanted.insert(wanted.end(), {graph.source[e], v});
        }
        EXPECT_EQ(found, wanted) << kind << " " << links;
      }
    }
  }
}

TEST(HardNegatives, LowerTheRulesThatRemember) {
  double random = 0, historical = 0;
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
    const EventGraph graph = habits(seed, 600);
    const auto rules = [&](const char* kind) {
      return of_events({{"candidates", "3"}, {"evaluation_negatives", kind}})->draw(graph, seed).levels.best_rule;
    };
    random += rules("random").at("auc") / 5, historical += rules("historical").at("auc") / 5;
  }
  EXPECT_LT(historical, random);
}

TEST(NewLinks, AreTheFirstEventsOfTheirPairs) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const EventGraph graph = habits(seed, 200);
    const auto task = of_events({{"candidates", "5"}, {"batch", 20}, {"links", "new"}, {"ties", "pessimistic"}});
    const EventTaskData data = task->draw(graph, seed);
    const EdgeId first = data.split.validation_end;
    EventOutputs outputs;
    const RandomStream random(seed, random_purpose::test, 1);
    double reciprocal = 0, judged = 0;
    for (EdgeId e = first; e < graph.events(); ++e) {
      outputs.first.push_back(static_cast<std::int64_t>(outputs.values.size()));
      outputs.counts.push_back(6);
      double rank = 1;
      for (int c = 0; c < 6; ++c) {
        outputs.values.push_back(static_cast<double>(random.below(outputs.values.size(), 10)));
        if (c > 0) rank += outputs.values.back() >= outputs.values[outputs.first.back()] ? 1 : 0;
      }
      if (hit(graph, graph.source[e], 0, e).contains(graph.target[e])) continue;
      reciprocal += 1 / rank, judged += 1;
    }
    ASSERT_GT(judged, 0);
    ASSERT_LT(judged, static_cast<double>(graph.events() - first));
    EXPECT_NEAR(task->metrics(graph, data, first, outputs).at("mrr"), reciprocal / judged, 1e-12);
    EXPECT_EQ(data.metric_events.at("mrr"), static_cast<std::int64_t>(judged));
    EXPECT_EQ(data.metric_events.at("recency_mrr"), static_cast<std::int64_t>(judged));
    // EdgeBank never finds a pair that had no event: all candidates that it knows come first.
    EXPECT_LE(data.rules.at("edgebank_unlimited_mrr"), 0.5);
  }
}

TEST(NewLinks, AreRefusedWhereThereAreNone) {
  std::vector<std::tuple<int, int, double>> rows;
  for (int e = 0; e < 60; ++e) rows.emplace_back(e % 2, 2 + e % 3, e);
  const EventGraph graph = test::make_events(5, rows);
  try {
    of_events({{"links", "new"}})->draw(graph, 1);
    ADD_FAILURE() << "accepted";
  } catch (const InvalidRequest& error) {
    EXPECT_EQ(error.where(), "/task/links");
    EXPECT_NE(std::string(error.what()).find("links=all"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace strobe
