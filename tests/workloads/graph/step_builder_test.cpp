// Large steps within a bound of memory: their edges against sums that are added up in a map, and their private memory.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "core/random.hpp"
#include "tests/workloads/reading/bounded_support.hpp"

namespace strobe {
namespace {

using test::bounded_mib;

/// Random events; with `hub`, two in three have vertex 5 as target or source. Weights that fp32 rounds, or small ones.
EventGraph events_with_hub(std::uint64_t seed, std::int64_t vertices, std::size_t events, bool hub, bool rounded) {
  const RandomStream random(seed, 31);
  EventGraph graph;
  std::vector<VertexId> source, target;
  std::vector<double> time, exact;
  std::vector<float> weight;
  for (std::uint64_t e = 0; e < events; ++e) {
    const auto any = [&](std::uint64_t i) {
      return static_cast<VertexId>(random.below(5 * e + i, static_cast<std::uint64_t>(vertices)));
    };
    source.push_back(hub && e % 3 == 0 ? 5 : any(0));
    target.push_back(hub && e % 3 == 1 ? 5 : any(1));
    time.push_back(static_cast<double>(e / 3));
    exact.push_back((rounded ? 0.1 : 1.0) * static_cast<double>(1 + random.below(5 * e + 2, 50)));
    weight.push_back(static_cast<float>(exact.back()));
  }
  graph.vertices = vertices;
  graph.source = std::move(source), graph.target = std::move(target), graph.time = std::move(time);
  graph.weight = std::move(weight);
  if (rounded) graph.exact_weight = std::move(exact);
  return graph;
}

using SumOfEdge = std::map<std::pair<VertexId, VertexId>, std::pair<double, double>>;  // of fp32 weights, and exact

/// The edges of the events [first, last) by row and column.
SumOfEdge sums_of(const EventGraph& events, std::size_t first, std::size_t last, const std::string& orientation,
                  bool counted) {
  SumOfEdge sums;
  for (std::size_t e = first; e < last; ++e) {
    const VertexId u = events.source[e], v = events.target[e];
    const auto add = [&](VertexId row, VertexId column) {
      auto& [sum, exact] = sums[{row, column}];
      sum += counted ? 1.0 : double{events.weight[e]};
      exact += counted ? 1.0 : events.exact_weight.empty() ? double{events.weight[e]} : events.exact_weight[e];
    };
    if (orientation != "out") add(v, u);
    if (orientation == "out" || (orientation == "both" && u != v)) add(u, v);
  }
  return sums;
}

void expect_edges(const Snapshot& step, const SumOfEdge& sums, bool binary, const std::string& what) {
  ASSERT_EQ(step.columns.size(), sums.size()) << what;
  std::size_t at = 0;
  std::int64_t wrong = 0, rounded = 0;
  for (const auto& [edge, sum] : sums) {
    const auto place = static_cast<std::int64_t>(at);
    wrong += step.row_offsets[edge.first] > place || step.row_offsets[edge.first + 1] <= place;
    wrong += step.columns[at] != edge.second;
    wrong += step.values[at] != (binary ? 1.0f : static_cast<float>(sum.first));
    if (!step.exact_values.empty()) wrong += step.exact_values[at] != sum.second;
    rounded += !binary && static_cast<double>(static_cast<float>(sum.first)) != sum.second;
    ++at;
  }
  EXPECT_EQ(wrong, 0) << what;
  EXPECT_EQ(step.exact_values.empty(), rounded == 0) << what;
}

TEST(LargeSteps, HaveTheSumsOfAMapWithinAnyBound) {
  for (const std::uint64_t seed : {1, 2}) {
    for (const bool hub : {false, true}) {
      const EventGraph events = events_with_hub(seed, 700, 60'000, hub, seed == 2);
      for (const auto& [weights, orientation] : std::vector<std::pair<std::string, std::string>>{
               {"count", "in"}, {"file", "out"}, {"file", "both"}, {"binary", "both"}}) {
        Windowing windowing;
        windowing.events = 30'000;
        windowing.weights = weights;
        for (const std::uint64_t limit : {0, 1 << 17, 1 << 20, 1 << 24}) {
          const test::TemporaryFolder aside;
          std::optional<BoundedReading> bound;
          if (limit > 0) bound.emplace(limit, test::folder_of(aside));
          const SnapshotGraph graph = make_snapshots(events, windowing, orientation);
          ASSERT_EQ(graph.steps(), 2);
          for (std::size_t t = 0; t < 2; ++t)
            expect_edges(*graph.snapshots[t],
                         sums_of(events, 30'000 * t, 30'000 * (t + 1), orientation, weights == "count"),
                         weights == "binary", fmt::format("{} {} {} {} hub {}", weights, orientation, limit, t, hub));
        }
      }
    }
  }
}

TEST(LargeSteps, CumulativeAndLivingOnesAreTheSameWithinABound) {
  const EventGraph events = events_with_hub(3, 900, 90'000, true, true);
  for (const char* weights : {"count", "file", "binary"}) {
    for (const bool cumulative : {true, false}) {
      Windowing windowing;
      windowing.count = 6;
      windowing.weights = weights;
      windowing.cumulative = cumulative;
      if (!cumulative) windowing.edge_life = 3;
      const SnapshotGraph whole = make_snapshots(events, windowing);
      const test::TemporaryFolder aside;
      const BoundedReading bound(1 << 18, test::folder_of(aside));
      const SnapshotGraph graph = make_snapshots(events, windowing);
      for (std::size_t t = 0; t < 6; ++t) {
        const Snapshot &a = *whole.snapshots[t], &b = *graph.snapshots[t];
        EXPECT_TRUE(a.row_offsets == b.row_offsets && a.columns == b.columns && a.values == b.values &&
                    a.exact_values == b.exact_values)
            << weights << cumulative << t;
        EXPECT_EQ(a.exact_values.empty(), std::string(weights) != "file");
      }
      EXPECT_TRUE(test::lies_in_file(graph.snapshots.back()->columns.data()));
    }
  }
}

TEST(LargeSteps, TakeNoPrivateMemoryThatGrowsWithTheirEdges) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers take memory of their own";
#endif
  for (const bool hub : {false, true}) {
    const EventGraph events = events_with_hub(4, 50'000, 2'000'000, hub, false);
    for (const std::string kind : {"one", "cumulative", "edge life"}) {
      Windowing windowing;
      windowing.count = kind == "one" ? 1 : 3;
      windowing.weights = "file";
      windowing.cumulative = kind == "cumulative";
      if (kind == "edge life") windowing.edge_life = 3;
      const auto make = [&] { EXPECT_GT(make_snapshots(events, windowing).edges(), 500'000); };
      const double events_in = static_cast<double>(events.events());
      EXPECT_GT(test::most_private_bytes_within(0, make) / events_in, 12.0) << kind << " hub " << hub;
      EXPECT_LT(test::most_private_bytes_within(8 * bounded_mib, make) / events_in, 5.0) << kind << " hub " << hub;
    }
  }
}

}  // namespace
}  // namespace strobe
