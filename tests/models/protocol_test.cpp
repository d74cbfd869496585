// Published protocols: what they fix, their negatives, and means over batches.
#include "models/tasks/protocols/protocol.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <tuple>

#include "core/errors.hpp"
#include "core/random.hpp"
#include "models/tasks/protocols/numpy_negatives.hpp"
#include "models/tasks/task_split.hpp"
#include "tests/workloads/support.hpp"

namespace strobe {
namespace {

/// Random events with many ties in time.
EventGraph tied_events(std::uint64_t seed, int count, int vertices = 30) {
  const RandomStream random(seed, 7);
  std::vector<std::tuple<int, int, double>> rows;
  for (int e = 0; e < count; ++e) {
    const auto draw = [&](int which) {
      return static_cast<int>(random.below(static_cast<std::uint64_t>(2 * e + which), vertices));
    };
    rows.emplace_back(draw(0), draw(1), static_cast<double>(e / 5));
  }
  return test::make_events(vertices, rows);
}

Json completed(const Json& values) { return complete_task_parameters("future-links", values, "/task"); }

TEST(Protocols, FixTheirOptionsAndKeepTheirNameInTheTask) {
  const Json tgb = completed({{"protocol", "tgb"}, {"negatives_file", "n.npz"}});
  EXPECT_EQ(tgb.at("candidates"), "all");
  EXPECT_EQ(tgb.at("ties"), "average");
  EXPECT_EQ(tgb.at("protocol"), "tgb");
  EXPECT_FALSE(tgb.contains("kept_out"));
  for (const char* name : {"dyglib", "tgn"}) {
    const Json task = completed({{"protocol", name}});
    EXPECT_EQ(task.at("kept_out"), 0.1);
    EXPECT_EQ(task.at("candidates"), "1");
    EXPECT_EQ(task.at("negatives"), "targets");
    EXPECT_FALSE(task.contains("negatives_file"));
    EXPECT_EQ(completed(task), task);
  }
  EXPECT_FALSE(completed({{"candidates", "9"}}).contains("protocol"));
  EXPECT_EQ(completed({{"protocol", "none"}}), completed(Json::object()));
}

TEST(Protocols, RefuseEachFixedOptionThatIsSetAgainstThem) {
  const auto refused = [](Json task, const std::string& option) {
    try {
      completed(task);
      ADD_FAILURE() << task.dump();
    } catch (const InvalidRequest& error) {
      EXPECT_EQ(error.where(), "/task/" + option) << task.dump();
    }
  };
  const Json tgb = {{"protocol", "tgb"}, {"negatives_file", "n.npz"}};
  const Json against_tgb = {{"split", "80/10/10"}, {"candidates", "49"}, {"ties", "optimistic"}, {"kept_out", 0.2}};
  for (const auto& [option, value] : against_tgb.items()) {
    Json task = tgb;
    task[option] = value;
    refused(task, option);
  }
  const Json against_dyglib = {{"split", "60/20/20"},    {"candidates", "all"}, {"self_pairs", "left_out"},
                               {"kept_out", 0.0},        {"batch", 100},        {"negatives", "any"},
                               {"training_negatives", 2}};
  for (const auto& [option, value] : against_dyglib.items()) refused({{"protocol", "dyglib"}, {option, value}}, option);
  refused({{"protocol", "tgb"}}, "negatives_file");
  refused({{"negatives_file", "n.npz"}}, "negatives_file");
  refused({{"protocol", "tgn"}, {"negatives_file", "n.npz"}}, "negatives_file");
  EXPECT_NO_THROW(completed({{"protocol", "tgn"}, {"split", "0.7/0.15/0.15"}, {"batch", 200}}));
}

TEST(Protocols, DrawTheNumbersOfNumPy) {
  // numpy.random.RandomState(0).randint(0, 10, 10), as NumPy's users know it, and of RandomState(2).randint(0, 1000,
  // 6).
  NumpyDraws zero(0), two(2);
  std::vector<std::int64_t> drawn, large;
  for (int i = 0; i < 10; ++i) drawn.push_back(zero.next(10));
  for (int i = 0; i < 6; ++i) large.push_back(two.next(1000));
  EXPECT_EQ(drawn, (std::vector<std::int64_t>{5, 0, 3, 3, 7, 9, 3, 5, 2, 4}));
  EXPECT_EQ(large, (std::vector<std::int64_t>{168, 527, 493, 584, 534, 299}));
  EXPECT_EQ(NumpyDraws(3).next(1), 0);
}

TEST(Protocols, NewNodesAreThoseThatNoRemainingTrainingEventTouches) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const EventGraph graph = tied_events(seed, 400, 60);
    const TimeSplit split = split_by_shares(graph, 0.7, 0.15);
    const VertexFlags kept = draw_kept_out(graph, split, 0.1, seed), fresh = never_trained(graph, split, kept);
    std::set<VertexId> trained, all;
    for (EdgeId e = 0; e < graph.events(); ++e) {
      const VertexId u = graph.source[e], v = graph.target[e];
      all.insert({u, v});
      if (e < split.train_end && kept[u] == 0 && kept[v] == 0) trained.insert({u, v});
    }
    for (VertexId v = 0; v < graph.vertices; ++v) EXPECT_EQ(fresh[v] == 1, all.count(v) > trained.count(v)) << v;
    EXPECT_EQ(events_left(graph, split, fresh, "targets", seed).numbers,
              events_left(graph, split, kept, "targets", seed).numbers);
  }
}

TEST(Protocols, EveryJudgedEventHasANegativeAndThoseWithNewNodesTwo) {
  const EventGraph graph = tied_events(5, 1500, 80);
  const TimeSplit split = split_by_shares(graph, 0.7, 0.15);
  const VertexFlags fresh = never_trained(graph, split, draw_kept_out(graph, split, 0.1, 4));
  const auto given = numpy_negatives(graph, split, fresh, 200);
  const std::set<VertexId> targets(graph.target.begin(), graph.target.end());
  EXPECT_EQ(given->most(), 2);
  for (EdgeId e = split.train_end; e < graph.events(); ++e) {
    const std::vector<VertexId> own = given->of(e);
    ASSERT_EQ(own.size(), is_inductive(graph, fresh, e) ? 2u : 1u) << e;
    for (const VertexId v : own) EXPECT_EQ(targets.count(v), 1u);
  }
}

TEST(Protocols, MeansOfBatchesAreTheMeansOfEachBatchAlone) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const RandomStream random(seed, 9);
    EventOutputs scores;
    std::vector<std::size_t> events;
    for (std::uint64_t i = 0; i < 47; ++i) {
      scores.first.push_back(static_cast<std::int64_t>(scores.values.size()));
      scores.counts.push_back(3);
      for (std::uint64_t c = 0; c < 3; ++c)  // few values, so that there are ties
        scores.values.push_back(static_cast<double>(random.below(3 * i + c, 6)));
      if (i % 3 != 1) events.push_back(i);
    }
    const auto means = means_of_batches(scores, events, 10, 2, "inductive_", TieRule::average);
    double precision = 0, area = 0, reciprocal = 0, batches = 0;
    for (std::size_t first = 0; first < events.size(); first += 10, ++batches) {
      const std::size_t last = std::min(events.size(), first + 10);
      const std::vector<std::size_t> own(events.begin() + first, events.begin() + last);
      const auto score = [&](std::size_t e, int c) { return scores.values[3 * e + c]; };
      double wins = 0;
      std::set<double> thresholds;
      for (const std::size_t a : own) {
        for (const std::size_t b : own) wins += score(a, 0) > score(b, 2) ? 1 : score(a, 0) == score(b, 2) ? 0.5 : 0;
        thresholds.insert({score(a, 0), score(a, 2)});
        reciprocal += score(a, 0) > score(a, 2) ? 1 : score(a, 0) == score(a, 2) ? 1 / 1.5 : 0.5;
      }
      area += wins / static_cast<double>(own.size() * own.size());
      double before = 0;
      for (auto t = thresholds.rbegin(); t != thresholds.rend(); ++t) {
        const auto count = [&](int c) {
          return static_cast<double>(std::count_if(own.begin(), own.end(), [&](auto e) { return score(e, c) >= *t; }));
        };
        precision += (count(0) - before) / static_cast<double>(own.size()) * count(0) / (count(0) + count(2));
        before = count(0);
      }
    }
    EXPECT_NEAR(means.at("inductive_ap"), precision / batches, 1e-12);
    EXPECT_NEAR(means.at("inductive_auc"), area / batches, 1e-12);
    EXPECT_NEAR(means.at("inductive_mrr"), reciprocal / static_cast<double>(events.size()), 1e-12);
  }
}

TEST(Protocols, SplitEventsOfOneTimeIntoOnePartAsNumPyDoes) {
  // numpy.quantile([0, 0, 1, 1, 1, 2, 2, 3, 3, 3], [0.7, 0.85]) = [2.3, 3]
  const EventGraph graph = test::make_events(
      4,
      {{0, 1, 0}, {1, 2, 0}, {0, 1, 1}, {2, 3, 1}, {0, 3, 1}, {1, 0, 2}, {1, 2, 2}, {0, 2, 3}, {3, 1, 3}, {2, 0, 3}});
  try {
    split_by_shares(graph, 0.7, 0.15);
    ADD_FAILURE() << "no test event is later than 3";
  } catch (const InvalidRequest& error) {
    EXPECT_NE(std::string(error.what()).find("test part"), std::string::npos) << error.what();
  }
  EXPECT_EQ(split_by_shares(graph, 0.5, 0.2), (TimeSplit{5, 7}));
}

}  // namespace
}  // namespace strobe
