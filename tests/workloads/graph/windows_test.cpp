// Every way of cutting events into steps against a judge that asks, for each step and event, whether it belongs there.
#include "workloads/graph/windows.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "core/errors.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/preparation/preprocess.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

using test::dense;
using test::make_events;
using Matrix = std::vector<std::vector<double>>;

constexpr int judged_vertices = 6;

/// The expected events of one step: those in it, and those whose degrees are its features.
struct JudgedStep {
  std::vector<std::size_t> edges, degrees;
};

/// Random events at integer times, sorted; bursts and gaps, so that some windows are empty.
EventGraph random_events(std::mt19937& random, bool stepped) {
  std::vector<std::tuple<int, int, double>> rows;
  double time = stepped ? 3 : 1000;
  const int events = 20 + static_cast<int>(random() % 60);
  for (int i = 0; i < events; ++i) {
    if (random() % 3 == 0) time += static_cast<double>(random() % (random() % 8 == 0 ? 40 : 4));
    rows.emplace_back(random() % judged_vertices, random() % judged_vertices, time);
  }
  EventGraph graph = make_events(judged_vertices, rows);
  graph.stepped = stepped;
  for (int i = 0; i < events; ++i) graph.weight.push_back(static_cast<float>(random() % 7) - 3.0f);
  return graph;
}

/// The disjoint or sliding windows of `windowing` by their definition; each is the list of its events.
std::vector<std::vector<std::size_t>> judge_windows(const EventGraph& g, const Windowing& w) {
  const double first = g.time.front(), last = g.time.back();
  const bool drop = w.partial == "drop";
  std::vector<std::vector<std::size_t>> windows;
  const auto select = [&](auto belongs) {
    windows.emplace_back();
    for (std::size_t e = 0; e < g.time.size(); ++e)
      if (belongs(e)) windows.back().push_back(e);
  };
  if (w.events > 0) {
    const auto size = static_cast<std::size_t>(w.events), stride = w.stride.empty() ? size : std::stoul(w.stride);
    for (std::size_t begin = 0; begin < g.time.size(); begin += stride) {
      if (drop && begin + size > g.time.size()) break;
      select([&](std::size_t e) { return e >= begin && e < begin + size; });
    }
  } else if (w.count > 0) {
    const double length = (last - first + (g.stepped ? 1 : 0)) / static_cast<double>(w.count);
    for (std::int64_t k = 0; k < w.count; ++k) {
      select([&](std::size_t e) {
        const double slice = std::floor((g.time[e] - first) / length);
        return std::min(slice, static_cast<double>(w.count - 1)) == static_cast<double>(k);
      });
    }
  } else {
    const double length = w.duration.empty() ? 1 : std::stod(w.duration);
    const double stride = w.stride.empty() ? length : std::stod(w.stride);
    for (double begin = first; begin <= last; begin += stride) {
      const bool full = g.stepped ? begin + length - 1 <= last : begin + length <= last;
      if (drop && !full) break;
      select([&](std::size_t e) { return g.time[e] >= begin && g.time[e] < begin + length; });
    }
  }
  return windows;
}

/// Steps from windows: lags unite neighbours, cumulative and edge life look back.
std::vector<JudgedStep> judge_steps(const EventGraph& g, const Windowing& w) {
  const auto windows = judge_windows(g, w);
  std::vector<JudgedStep> steps;
  for (std::size_t t = 0; t + static_cast<std::size_t>(w.lags) < windows.size(); ++t) {
    std::size_t from = t, to = t + static_cast<std::size_t>(w.lags);
    if (w.cumulative) from = 0;
    JudgedStep step;
    for (std::size_t k = from; k <= to; ++k)
      step.degrees.insert(step.degrees.end(), windows[k].begin(), windows[k].end());
    const std::size_t life = w.edge_life;
    if (life > 1) from = t + 1 >= life ? t + 1 - life : 0;
    for (std::size_t k = from; k <= to; ++k) step.edges.insert(step.edges.end(), windows[k].begin(), windows[k].end());
    steps.push_back(step);
  }
  return steps;
}

Matrix judged_matrix(const EventGraph& g, const JudgedStep& step, const Windowing& w) {
  Matrix matrix(judged_vertices, std::vector<double>(judged_vertices, 0.0));
  for (const std::size_t e : step.edges) {
    double& value = matrix[g.target[e]][g.source[e]];
    value = w.weights == "binary" ? 1 : value + (w.weights == "file" ? static_cast<double>(g.weight[e]) : 1.0);
  }
  return matrix;
}

std::vector<float> judged_features(const EventGraph& g, const JudgedStep& step) {
  std::vector<float> features(2 * judged_vertices, 0.0f);
  for (const std::size_t e : step.degrees) {
    features[2 * static_cast<std::size_t>(g.target[e])] += 1;
    features[2 * static_cast<std::size_t>(g.source[e]) + 1] += 1;
  }
  return features;
}

std::size_t distinct_edges(const EventGraph& g, const JudgedStep& step) {
  std::set<std::pair<VertexId, VertexId>> pairs;
  for (const std::size_t e : step.edges) pairs.emplace(g.source[e], g.target[e]);
  return pairs.size();
}

void expect_as_judged(const EventGraph& events, const Windowing& windowing, const std::string& what) {
  std::vector<JudgedStep> judged = judge_steps(events, windowing);
  std::erase_if(judged, [&](const JudgedStep& step) {
    return distinct_edges(events, step) < static_cast<std::size_t>(windowing.min_edges);
  });
  if (judged.empty()) {
    EXPECT_THROW(make_snapshots(events, windowing), InvalidRequest) << what;
    return;
  }
  const SnapshotGraph graph = make_snapshots(events, windowing);
  ASSERT_EQ(static_cast<std::size_t>(graph.steps()), judged.size()) << what;
  ASSERT_EQ(graph.features.size(), judged.size() * 2 * judged_vertices) << what;
  ASSERT_EQ(graph.step_begin.size(), judged.size()) << what;
  for (std::size_t t = 0; t < judged.size(); ++t) {
    test::expect_sorted_rows(*graph.snapshots[t]);
    EXPECT_EQ(static_cast<std::size_t>(graph.snapshots[t]->nonzeros()), distinct_edges(events, judged[t])) << what << t;
    EXPECT_EQ(dense(*graph.snapshots[t]), judged_matrix(events, judged[t], windowing)) << what << " step " << t;
    const auto from = graph.features.begin() + static_cast<std::ptrdiff_t>(t * 2 * judged_vertices);
    EXPECT_EQ(std::vector<float>(from, from + 2 * judged_vertices), judged_features(events, judged[t])) << what << t;
  }
}

std::vector<Windowing> all_windowings(std::mt19937& random) {
  const auto number = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  std::vector<Windowing> list;
  const int length = number(2, 12), size = number(2, 15), count = number(2, 9);
  const std::vector<Windowing> bases = {{.duration = std::to_string(length)}, {.events = size}, {.count = count}};
  for (Windowing base : bases) {
    base.partial = number(0, 1) ? "drop" : "keep";
    base.weights = std::vector<std::string>{"count", "binary", "file"}[number(0, 2)];
    base.min_edges = number(0, 3) == 0 ? number(1, 3) : 0;
    list.push_back(base);
    Windowing cumulative = base, lags = base, life = base, sliding = base;
    cumulative.cumulative = true;
    list.push_back(cumulative);
    lags.lags = 1;
    list.push_back(lags);
    life.edge_life = number(2, 5);
    life.weights = life.weights == "binary" ? "count" : life.weights;  // lives add, so binary edges count steps
    list.push_back(life);
    if (base.count > 0) continue;
    sliding.stride = std::to_string(number(1, base.events > 0 ? size : length));
    list.push_back(sliding);
  }
  return list;
}

TEST(WindowsJudged, EveryWayAgreesWithTheDefinition) {
  std::mt19937 random(7);
  int judged = 0;
  for (int trial = 0; trial < 150; ++trial) {
    const EventGraph events = random_events(random, trial % 2 == 1);
    if (events.time.front() == events.time.back()) continue;
    for (const Windowing& w : all_windowings(random)) {
      if (judge_windows(events, w).size() <= static_cast<std::size_t>(w.lags)) continue;
      // Slices of stepped time may have borders that division cannot name exactly; powers of two can.
      if (w.count > 0 && w.count != 2 && w.count != 4 && w.count != 8) continue;
      expect_as_judged(events, w,
                       "trial " + std::to_string(trial) + " duration '" + w.duration + "' events " +
                           std::to_string(w.events) + " count " + std::to_string(w.count) + " stride '" + w.stride +
                           "' lags " + std::to_string(w.lags) + " life " + std::to_string(w.edge_life) + " partial " +
                           w.partial + " ");
      ++judged;
      if (::testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(judged, 1200);
}

EventGraph one_a_second(int events) {
  std::vector<std::tuple<int, int, double>> rows;
  for (int i = 0; i < events; ++i) rows.emplace_back(i % 5, (i + 1) % 5, i);
  return make_events(6, rows);
}

TEST(WindowsJudged, UnitsOfDurations) {
  EventGraph events = make_events(3, {{0, 1, 0}, {1, 2, 3600}, {2, 0, 86400}, {0, 2, 86400 * 29.0}});
  EXPECT_EQ(make_snapshots(events, {.duration = "1h"}).steps(), 29 * 24 + 1);
  EXPECT_EQ(make_snapshots(events, {.duration = "1d"}).steps(), 30);
  EXPECT_EQ(make_snapshots(events, {.duration = "1w"}).steps(), 5);
  EXPECT_EQ(make_snapshots(events, {.duration = "30d"}).steps(), 1);
  EXPECT_EQ(make_snapshots(events, {.duration = "2d", .stride = "12h"}).steps(), 59);
}

/// DynaHB Table 1 and its readers: 200 slices and 30 lags give Stackexch's 170 snapshots, and so on.
TEST(WindowsJudged, LagsGiveDynaHbsNumbersOfSnapshots) {
  const EventGraph events = one_a_second(1000);
  const std::tuple<int, int, int> published[] = {{200, 30, 170}, {100, 30, 70}, {100, 20, 80}, {100, 10, 90}};
  for (const auto& [slices, lags, snapshots] : published) {
    const SnapshotGraph graph = make_snapshots(events, {.count = slices, .lags = lags});
    EXPECT_EQ(graph.steps(), snapshots);
    EXPECT_EQ(graph.repeats, "sliding");
  }
}

TEST(WindowsJudged, CumulativeHoldsEverythingAndSharesQuietSteps) {
  const EventGraph events = make_events(3, {{0, 1, 0}, {1, 2, 10}, {0, 1, 40}});
  const SnapshotGraph graph = make_snapshots(events, {.duration = "10s", .cumulative = true});
  ASSERT_EQ(graph.steps(), 5);
  EXPECT_EQ(graph.snapshots[1], graph.snapshots[2]);
  EXPECT_EQ(graph.snapshots[2], graph.snapshots[3]);
  EXPECT_EQ(dense(*graph.snapshots[4]), (Matrix{{0, 0, 0}, {2, 0, 0}, {0, 1, 0}}));
  EXPECT_EQ(graph.features[4 * 6 + 2], 2.0f) << "in-degree of vertex 1";
  EXPECT_EQ(graph.repeats, "cumulative");
  EXPECT_EQ(graph.step_begin, (std::vector<double>{0, 10, 20, 30, 40}));
}

TEST(WindowsJudged, EdgeLifeOfTheWorkloadIsTheModelsSmoothing) {
  const SnapshotGraph raw = make_snapshots(one_a_second(40), {.events = 5});
  const SnapshotGraph lived = make_snapshots(one_a_second(40), {.events = 5, .edge_life = 3});
  const SnapshotGraph smoothed = edge_life(raw, 3);
  ASSERT_EQ(lived.steps(), smoothed.steps());
  for (std::size_t t = 0; t < lived.snapshots.size(); ++t) {
    EXPECT_EQ(lived.snapshots[t]->columns, smoothed.snapshots[t]->columns);
    EXPECT_EQ(lived.snapshots[t]->values, smoothed.snapshots[t]->values);
  }
  EXPECT_EQ(lived.features, raw.features) << "features stay the raw step's degrees";
}

TEST(WindowsJudged, NothingIsCountedTwice) {
  const auto smoothing = [](const Windowing& windowing, const std::string& smooth, std::int64_t window) {
    const SnapshotGraph graph = make_snapshots(one_a_second(40), windowing);
    return prepare(graph, {.smooth = smooth, .window = window}, graph.steps(), true).nonzeros();
  };
  EXPECT_THROW(smoothing({.events = 5, .edge_life = 3}, "edge_life", 3), InvalidRequest);
  EXPECT_THROW(smoothing({.events = 5, .cumulative = true}, "edge_life", 2), InvalidRequest);
  EXPECT_THROW(smoothing({.events = 5, .lags = 2}, "edge_life", 2), InvalidRequest);
  EXPECT_EQ(smoothing({.events = 5, .edge_life = 3}, "edge_life", 1), smoothing({.events = 5}, "edge_life", 3))
      << "a window of one step smooths nothing";
  EXPECT_GT(smoothing({.events = 5, .lags = 2}, "m_product", 2), 0) << "averages of overlapping windows are wanted";
  EXPECT_GT(smoothing({.events = 5, .edge_life = 3}, "m_product", 2), 0) << "as TM-GCN's public code does";
}

TEST(WindowsJudged, SmallStepsAreDroppedAndCounted) {
  const EventGraph events = make_events(3, {{0, 1, 0}, {1, 2, 1}, {0, 1, 25}, {0, 1, 26}, {1, 2, 40}, {2, 0, 41}});
  const SnapshotGraph graph = make_snapshots(events, {.duration = "10s", .min_edges = 2});
  EXPECT_EQ(graph.step_begin, (std::vector<double>{0, 40}));
  ASSERT_EQ(graph.provenance.notes.size(), 1u);
  EXPECT_NE(graph.provenance.notes[0].find("3 steps with fewer than 2"), std::string::npos);
  EXPECT_EQ(make_snapshots(events, {.duration = "10s", .min_edges = 1}).steps(), 3) << "only empty steps go";
  EXPECT_EQ(make_snapshots(events, {.duration = "10s"}).steps(), 5);
}

TEST(WindowsJudged, ImpossibleRequestsNameTheirOption) {
  const auto where = [](const Windowing& windowing) -> std::string {
    try {
      make_snapshots(one_a_second(20), windowing);
    } catch (const InvalidRequest& error) {
      return error.where();
    }
    return "accepted";
  };
  EXPECT_EQ(where({.duration = "4s", .stride = "5s"}), "stride");
  EXPECT_EQ(where({.duration = "4s", .stride = "soon"}), "stride");
  EXPECT_EQ(where({.events = 4, .stride = "1s"}), "stride");
  EXPECT_EQ(where({.events = 4, .stride = "5"}), "stride");
  EXPECT_EQ(where({.events = 4, .stride = "0"}), "stride");
  EXPECT_EQ(where({.count = 4, .stride = "1"}), "stride");
  EXPECT_EQ(where({.count = 4, .lags = 4}), "lags");
  EXPECT_EQ(where({.count = 4, .lags = -1}), "lags");
  EXPECT_EQ(where({.count = 4, .edge_life = 0}), "edge_life");
  EXPECT_EQ(where({.count = 4, .min_edges = 100}), "min_edges");
  EXPECT_EQ(where({.duration = "4s", .cumulative = true, .stride = "2s"}), "window");
  EXPECT_EQ(where({.count = 4, .lags = 1, .edge_life = 2}), "window");
  EXPECT_EQ(where({.duration = "1000s", .partial = "drop", .stride = "10s"}), "partial");
  EXPECT_EQ(where({.duration = "5s", .stride = "1ns"}), "stride") << "19 billion steps";
  EXPECT_EQ(where({.duration = "5s", .stride = "5s"}), "accepted");
}

TEST(WindowsJudged, OptionsReachTheWindows) {
  const Json life = {{"window", "30d"}, {"edge_life", 4}};
  EXPECT_EQ(load_workload("chess", life, 1).repeats, "edge_life");
  EXPECT_EQ(load_workload("chess", {{"window", "60d"}, {"stride", "30d"}}, 1).steps(), 101);
  EXPECT_EQ(load_workload("chess", {{"window_count", 100}, {"lags", 20}}, 1).steps(), 80);
  const SnapshotGraph all = load_workload("chess", {{"window", "365d"}, {"cumulative", true}}, 1);
  EXPECT_EQ(all.snapshots.back()->nonzeros(), 60046) << "all distinct pairs";
  try {
    complete_workload_parameters("chess", {{"lags", 2}, {"cumulative", true}}, "/cases/1/workload");
    FAIL() << "options that exclude each other were accepted";
  } catch (const InvalidRequest& error) {
    EXPECT_EQ(error.where(), "/cases/1/workload");
  }
}

}  // namespace
}  // namespace strobe
