// Whom an inductive split keeps out, and which events are left.
#include "models/tasks/kept_out.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <tuple>

#include "core/errors.hpp"
#include "core/random.hpp"
#include "models/tasks/event_task.hpp"
#include "tests/workloads/support.hpp"

namespace strobe {
namespace {

/// `count` events among 40 vertices of one kind, with labels; of the last ten vertices none after event 70.
EventGraph letters(std::uint64_t seed, int count = 100) {
  const RandomStream random(seed, 3);
  std::vector<std::tuple<int, int, double>> rows;
  for (int e = 0; e < count; ++e) {
    const auto draw = [&](int which) {
      return static_cast<int>(random.below(static_cast<std::uint64_t>(2 * e + which), e < 70 ? 40 : 30));
    };
    rows.emplace_back(draw(0), draw(1), static_cast<double>(e / 2));
  }
  EventGraph graph = test::make_events(40, rows);
  std::vector<std::int8_t> labels;
  for (int e = 0; e < count; ++e) labels.push_back(static_cast<std::int8_t>(e % 3));
  graph.event_label = labels;
  return graph;
}

constexpr TimeSplit parts{70, 84};

std::set<VertexId> ends_of(const EventGraph& graph, EdgeId first, EdgeId last) {
  std::set<VertexId> ends;
  for (std::size_t e = first; e < static_cast<std::size_t>(last); ++e)
    ends.insert(graph.source[e]), ends.insert(graph.target[e]);
  return ends;
}

TEST(KeptOutDraws, AreAShareOfAllVerticesFromThoseOfValidationAndTestEvenly) {
  const EventGraph graph = letters(1);
  const std::set<VertexId> offered = ends_of(graph, 70, 100);
  const double all = ends_of(graph, 0, 100).size();
  std::vector<int> times(40, 0);
  constexpr int draws = 4000;
  int kept = 0;
  for (std::uint64_t seed = 0; seed < draws; ++seed) {
    const VertexFlags flags = draw_kept_out(graph, parts, 0.2, seed);
    kept = static_cast<int>(std::accumulate(flags.begin(), flags.end(), 0));
    ASSERT_EQ(kept, static_cast<int>(0.2 * all + 1e-9));
    for (std::size_t v = 0; v < flags.size(); ++v) times[v] += flags[v];
  }
  const double share = kept / static_cast<double>(offered.size());
  for (std::size_t v = 0; v < times.size(); ++v) {
    const double wanted = offered.count(static_cast<VertexId>(v)) != 0 ? share * draws : 0;
    EXPECT_NEAR(times[v], wanted, wanted == 0 ? 0 : 5 * std::sqrt(draws * share * (1 - share))) << v;
  }
  EXPECT_EQ(draw_kept_out(graph, parts, 0.2, 9), draw_kept_out(graph, parts, 0.2, 9));
}

TEST(KeptOutDraws, RemainingEventsTouchNoKeptOutVertex) {
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    const EventGraph graph = letters(seed);
    const VertexFlags flags = draw_kept_out(graph, parts, 0.1, seed);
    const auto out = [&](VertexId v) { return flags[v] == 1; };
    for (const char* negatives : {"auto", "any"}) {
      const TrainedEvents left = events_left(graph, parts, flags, negatives, seed);
      std::set<VertexId> pool;
      std::size_t next = 0;
      for (std::size_t e = 0; e < 100; ++e) {
        const bool touches = out(graph.source[e]) || out(graph.target[e]);
        EXPECT_EQ(is_inductive(graph, flags, static_cast<EdgeId>(e)), touches);
        if (e < 70 && touches) continue;
        for (const VertexId v : {graph.source[e], graph.target[e]})
          if (!out(v) && (v == graph.target[e] || std::string(negatives) == "any")) pool.insert(v);
        if (e >= 70) continue;
        ASSERT_LT(next, left.numbers.size());
        EXPECT_EQ(left.numbers[next], static_cast<EdgeId>(e));
        EXPECT_EQ(left.graph->source[next], graph.source[e]);
        EXPECT_EQ(left.graph->target[next], graph.target[e]);
        EXPECT_EQ(left.graph->time[next], graph.time[e]);
        EXPECT_EQ(left.graph->event_label[next], graph.event_label[e]);
        ++next;
      }
      EXPECT_EQ(left.graph->events(), static_cast<EdgeId>(next));
      EXPECT_LT(next, 70u);
      EXPECT_EQ(left.candidates->pool(), (std::vector<VertexId>{pool.begin(), pool.end()})) << negatives;
    }
  }
}

TEST(KeptOutDraws, RefuseSplitsWithoutRemainingEvents) {
  const EventGraph graph = letters(5);
  EXPECT_THROW(draw_kept_out(graph, parts, 0.01, 1), InvalidRequest) << "none of 40";
  EXPECT_THROW(draw_kept_out(graph, parts, 0.95, 1), InvalidRequest) << "more than occur later";
  EXPECT_THROW(events_left(graph, parts, VertexFlags(40, 1), "auto", 1), InvalidRequest) << "nothing to train on";
  // One event is left, and its target is the only one that may be drawn.
  const EventGraph few = test::make_events(4, {{0, 1, 0}, {0, 2, 1}, {0, 3, 2}, {0, 2, 3}});
  EXPECT_THROW(events_left(few, {3, 3}, {0, 0, 1, 1}, "targets", 1), InvalidRequest);
  EXPECT_NO_THROW(events_left(few, {3, 3}, {0, 0, 1, 1}, "any", 1));
  // The only vertex that is kept out has no test event.
  const EventGraph late = test::make_events(4, {{0, 1, 0}, {2, 1, 1}, {0, 1, 2}, {2, 3, 3}, {0, 1, 4}, {2, 1, 5}});
  const auto task = EventTaskRegistry::instance().find("future-links").value;
  int refusals = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    try {
      task(Json{{"kept_out", 0.25}, {"split", "50/17/33"}, {"negatives", "any"}})->draw(late, seed);
    } catch (const InvalidRequest& error) {
      if (std::string(error.what()).find("judge inductively") != std::string::npos) ++refusals;
    }
  }
  EXPECT_GT(refusals, 0);
  EXPECT_LT(refusals, 40);
}

/// Metrics of some events by their definitions, with many equal scores.
std::map<std::string, double> defined_metrics(const EventOutputs& outputs, const std::vector<std::size_t>& events) {
  double reciprocal = 0, wins = 0, precision = 0;
  std::vector<std::pair<double, int>> pairs;
  for (const std::size_t i : events) {
    const double* const scores = outputs.values.data() + outputs.first[i];
    double rank = 1;
    for (std::int64_t k = 1; k < outputs.counts[i]; ++k)
      rank += scores[k] > scores[0] ? 1 : scores[k] == scores[0] ? 0.5 : 0;
    reciprocal += 1 / rank;
    pairs.emplace_back(scores[0], 1), pairs.emplace_back(scores[1], 0);
  }
  const double count = events.size();
  for (const auto& [score, label] : pairs) {
    if (label == 0) continue;
    double above = 0, right = 0;
    for (const auto& [other, other_label] : pairs) {
      if (other_label == 0) wins += score > other ? 1 : score == other ? 0.5 : 0;
      above += other >= score ? 1 : 0;
      right += other >= score && other_label == 1 ? 1 : 0;
    }
    precision += right / above;  // of a positive: the recall gained is 1 / count, at the precision of its threshold
  }
  return {{"mrr", reciprocal / count}, {"ap", precision / count}, {"auc", wins / count / count}};
}

TEST(KeptOutMetrics, AreThoseOfTheEventsWithAKeptOutEnd) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const EventGraph graph = letters(seed, 200);
    const auto task = EventTaskRegistry::instance().find("future-links").value(Json{{"kept_out", 0.15}});
    const EventTaskData data = task->draw(graph, seed);
    const EdgeId first = data.split.validation_end;
    const RandomStream random(seed, 9);
    EventOutputs outputs;
    std::vector<std::size_t> all, inductive;
    for (EdgeId e = first; e < graph.events(); ++e) {
      const std::size_t i = all.size();
      all.push_back(i);
      if (is_inductive(graph, data.kept_out, e)) inductive.push_back(i);
      outputs.first.push_back(static_cast<std::int64_t>(outputs.values.size()));
      outputs.counts.push_back(8);
      for (std::uint64_t k = 0; k < 8; ++k)
        outputs.values.push_back(static_cast<double>(random.below(8 * i + k, 12)) + (k == 0 ? 2.0 : 0.0));
    }
    ASSERT_FALSE(inductive.empty());
    ASSERT_LT(inductive.size(), all.size());
    EXPECT_EQ(data.metric_events.at("inductive_mrr"), static_cast<std::int64_t>(inductive.size()));
    const auto metrics = task->metrics(graph, data, first, outputs);
    EXPECT_EQ(metrics.size(), 6u);
    const auto usual = std::find_if(all.begin(), all.end(), [&](std::size_t i) {
      return !is_inductive(graph, data.kept_out, first + static_cast<EdgeId>(i));
    });
    const EventOutputs one{{1.0, 0.0}, {0}, {2}};
    EXPECT_EQ(task->metrics(graph, data, first + static_cast<EdgeId>(*usual), one).size(), 3u) << "none to judge so";
    for (const auto& [name, value] : defined_metrics(outputs, all)) EXPECT_NEAR(metrics.at(name), value, 1e-12);
    for (const auto& [name, value] : defined_metrics(outputs, inductive))
      EXPECT_NEAR(metrics.at("inductive_" + name), value, 1e-12) << name << " seed " << seed;
  }
}

}  // namespace
}  // namespace strobe
