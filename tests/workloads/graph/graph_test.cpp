#include "workloads/graph/graph.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

using test::dense;
using test::make_events;
using Matrix = std::vector<std::vector<double>>;

std::vector<std::int64_t> edges_per_step(const SnapshotGraph& graph) {
  std::vector<std::int64_t> result;
  for (const auto& snapshot : graph.snapshots) result.push_back(snapshot->nonzeros());
  return result;
}

EventGraph six_events() {
  return make_events(3, {{0, 1, 100}, {0, 1, 104}, {1, 2, 109}, {2, 2, 110}, {1, 0, 131}, {0, 2, 139}},
                     {1.5f, 2.0f, -1.0f, 0.0f, 4.0f, 8.0f});
}

TEST(Windows, DurationIsHalfOpenFromTheFirstEventAndKeepsEmptyWindows) {
  const SnapshotGraph graph = make_snapshots(six_events(), {.duration = "10s"});
  EXPECT_EQ(edges_per_step(graph), (std::vector<std::int64_t>{2, 1, 0, 2}));
  EXPECT_EQ(graph.step_begin, (std::vector<double>{100, 110, 120, 130}));
  EXPECT_EQ(graph.edges(), 5);
  for (const auto& snapshot : graph.snapshots) test::expect_sorted_rows(*snapshot);
}

TEST(Windows, RowsAreTargetsAndParallelEdgesAreCounted) {
  const SnapshotGraph graph = make_snapshots(six_events(), {.duration = "10s"});
  EXPECT_EQ(dense(*graph.snapshots[0]), (Matrix{{0, 0, 0}, {2, 0, 0}, {0, 1, 0}}));
  EXPECT_EQ(dense(*graph.snapshots[1]), (Matrix{{0, 0, 0}, {0, 0, 0}, {0, 0, 1}}));
}

TEST(Windows, WeightsBinaryAndFile) {
  EXPECT_EQ(dense(*make_snapshots(six_events(), {.duration = "10s", .weights = "binary"}).snapshots[0]),
            (Matrix{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}}));
  const SnapshotGraph file = make_snapshots(six_events(), {.duration = "10s", .weights = "file"});
  EXPECT_EQ(dense(*file.snapshots[0]), (Matrix{{0, 0, 0}, {3.5, 0, 0}, {0, -1, 0}}));
  EXPECT_EQ(file.snapshots[1]->nonzeros(), 1) << "an edge of weight zero is an edge";
}

TEST(Windows, OrientationOutIsTheTransposeAndBothTheirSum) {
  const Matrix in = dense(*make_snapshots(six_events(), {.count = 1}, "in").snapshots[0]);
  const Matrix out = dense(*make_snapshots(six_events(), {.count = 1}, "out").snapshots[0]);
  const Matrix both = dense(*make_snapshots(six_events(), {.count = 1}, "both").snapshots[0]);
  for (std::size_t v = 0; v < 3; ++v) {
    for (std::size_t u = 0; u < 3; ++u) {
      EXPECT_EQ(out[v][u], in[u][v]);
      EXPECT_EQ(both[v][u], v == u ? in[v][v] : in[v][u] + in[u][v]) << "a self-loop is its own reverse";
    }
  }
  const Matrix binary = dense(*make_snapshots(six_events(), {.count = 1, .weights = "binary"}, "both").snapshots[0]);
  EXPECT_EQ(binary, (Matrix{{0, 1, 1}, {1, 0, 1}, {1, 1, 1}}));
}

TEST(Windows, FeaturesAreDegreesWithMultiplicity) {
  const SnapshotGraph graph = make_snapshots(six_events(), {.duration = "10s"}, "out");
  ASSERT_EQ(graph.feature_width, 2);
  const std::vector<float> first(graph.features.begin(), graph.features.begin() + 6);
  EXPECT_EQ(first, (std::vector<float>{0, 2, 2, 1, 1, 0}));  // (in, out) of vertices 0, 1, 2
  const std::vector<float> second(graph.features.begin() + 6, graph.features.begin() + 12);
  EXPECT_EQ(second, (std::vector<float>{0, 0, 0, 0, 1, 1})) << "a self loop counts once in and once out";
}

/// 2^24 + 1 is no fp32, so counting in fp32 stops there.
TEST(Windows, CountsGoBeyondFp32) {
  constexpr std::size_t many = (std::size_t{1} << 24) + 3;
  EventGraph events;
  events.vertices = 3;
  std::vector<VertexId> source(many + 2, 0), target(many + 2, 1);
  std::vector<double> time(many + 2, 0);
  source[many] = 0, target[many] = 2, time[many] = 1;
  source[many + 1] = 0, target[many + 1] = 1, time[many + 1] = 1;
  events.source = std::move(source), events.target = std::move(target), events.time = test::pack(time);
  for (std::int64_t v = 0; v < 3; ++v) events.original_id.push_back(v);
  const SnapshotGraph graph = make_snapshots(events, {.duration = "1"});
  EXPECT_EQ(graph.features, (std::vector<float>{0, 16777220, 16777220, 0, 0, 0, 0, 2, 1, 0, 1, 0})) << "rounded once";
  const SnapshotGraph cumulative = make_snapshots(events, {.duration = "1", .cumulative = true});
  EXPECT_EQ(std::vector<float>(cumulative.features.begin() + 6, cumulative.features.end()),
            (std::vector<float>{0, 16777220, 16777220, 0, 1, 0}))
      << "16777221 out of 0 and 16777220 into 1, each to the nearest fp32";
  const test::TemporaryFolder folder;
  write_binary_graph(events, folder.file("hub.strobe"));
  for (const char* options : {R"({"window": "1"})", R"({"window": "1", "orientation": "out"})"}) {
    const Json report = inspect_workload(folder.file("hub.strobe"), Json::parse(options), 1);
    EXPECT_EQ(report["events"], 16777221);
    EXPECT_EQ(report["merged_events"], 16777221 - 3);
    EXPECT_EQ(report["in_degree"]["max"], 16777220);
    EXPECT_EQ(report["out_degree"]["max"], 16777221);
    EXPECT_EQ(report["out_degree"]["mean"], 5592407);
  }
}

TEST(Windows, WeightsBeyondFp32AreRefused) {
  EventGraph events =
      make_events(3, {{0, 1, 0}, {0, 1, 1}, {2, 1, 12}, {2, 1, 13}, {1, 2, 14}}, {1e38f, 1e38f, 3e38f, 3e38f, 3e38f});
  events.original_id = {10, 20, 30};
  events.provenance.source = "huge.csv";
  const auto fault = [&](const Windowing& windowing, const char* orientation) -> std::string {
    try {
      make_snapshots(events, windowing, orientation);
      return "";
    } catch (const InvalidInput& error) {
      return error.what();
    }
  };
  const auto says = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  const std::string in = fault({.duration = "10", .weights = "file"}, "in");
  EXPECT_TRUE(says(in, "huge.csv") && says(in, "vertex 30 to vertex 20 in step 1")) << in;
  EXPECT_TRUE(says(fault({.duration = "10", .weights = "file"}, "out"), "vertex 30 to vertex 20 in step 1"));
  EXPECT_EQ(fault({.duration = "1", .weights = "file"}, "in"), "") << "one event of an edge in each step";
  EXPECT_TRUE(says(fault({.duration = "1", .weights = "file", .cumulative = true}, "in"), "in step 13"));
  EXPECT_TRUE(says(fault({.duration = "1", .weights = "file", .edge_life = 2}, "in"), "in step 13"));
  EXPECT_TRUE(says(fault({.duration = "1", .weights = "file", .lags = 1}, "in"), "in step 12"));
  EXPECT_TRUE(says(fault({.duration = "2", .weights = "file", .stride = "1"}, "in"), "in step 12"));
  EXPECT_EQ(fault({.duration = "10", .weights = "count"}, "in"), "");
  events.target.edit()[3] = 0;
  EXPECT_EQ(fault({.duration = "10", .weights = "file"}, "in"), "");
  EXPECT_TRUE(says(fault({.duration = "10", .weights = "file"}, "both"), "vertex 30 and vertex 20 in step 1") ||
              says(fault({.duration = "10", .weights = "file"}, "both"), "vertex 20 and vertex 30 in step 1"));
}

TEST(Windows, PartialLastWindow) {
  EXPECT_EQ(edges_per_step(make_snapshots(six_events(), {.duration = "10s", .partial = "drop"})),
            (std::vector<std::int64_t>{2, 1, 0}));
  EXPECT_EQ(edges_per_step(make_snapshots(six_events(), {.events = 4, .partial = "keep"})),
            (std::vector<std::int64_t>{3, 2}));
  EXPECT_EQ(edges_per_step(make_snapshots(six_events(), {.events = 4, .partial = "drop"})),
            (std::vector<std::int64_t>{3}));
  EXPECT_EQ(make_snapshots(six_events(), {.events = 3, .partial = "drop"}).steps(), 2)
      << "no window of 3 is partial in 6";
  EXPECT_THROW(make_snapshots(six_events(), {.events = 7, .partial = "drop"}), InvalidRequest);
}

TEST(Windows, EventsPerWindowIgnoreTime) {
  const SnapshotGraph graph = make_snapshots(six_events(), {.events = 2});
  EXPECT_EQ(edges_per_step(graph), (std::vector<std::int64_t>{1, 2, 2}));
  EXPECT_EQ(graph.step_begin, (std::vector<double>{100, 109, 131}));
}

TEST(Windows, CountGivesEqualSlicesAndTheLastHoldsTheLastEvent) {
  const SnapshotGraph graph = make_snapshots(six_events(), {.count = 3});  // 39 s in slices of 13 s
  EXPECT_EQ(graph.step_begin, (std::vector<double>{100, 113, 126}));
  EXPECT_EQ(edges_per_step(graph), (std::vector<std::int64_t>{3, 0, 2}));
  EXPECT_EQ(make_snapshots(six_events(), {.count = 7}).steps(), 7);
}

TEST(Windows, StepsAreTakenAsTheyAre) {
  EventGraph events = make_events(2, {{0, 1, 3}, {1, 0, 3}, {0, 1, 6}});
  events.stepped = true;
  const SnapshotGraph graph = make_snapshots(events, {});
  EXPECT_EQ(edges_per_step(graph), (std::vector<std::int64_t>{2, 0, 0, 1}));
  EXPECT_EQ(graph.step_begin, (std::vector<double>{3, 4, 5, 6}));
  EXPECT_EQ(edges_per_step(make_snapshots(events, {.duration = "3"})), (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(edges_per_step(make_snapshots(events, {.duration = "3", .partial = "drop"})),
            (std::vector<std::int64_t>{2}));
  EXPECT_EQ(make_snapshots(events, {.duration = "2", .partial = "drop"}).steps(), 2)
      << "four steps fill two windows of two";
  EXPECT_THROW(make_snapshots(events, {.duration = "3d"}), InvalidRequest);
  EXPECT_THROW(make_snapshots(events, {.duration = "1.5"}), InvalidRequest);
}

TEST(Windows, EveryEventLiesInExactlyOneWindow) {
  std::vector<std::tuple<int, int, double>> rows;
  for (int i = 0; i < 500; ++i) rows.emplace_back(i % 7, i % 5, 0.1 * i);  // 0.1 * i falls on window borders inexactly
  const EventGraph events = make_events(7, rows);
  for (const char* duration : {"0.1", "0.3", "0.7", "49.9"}) {
    const SnapshotGraph graph = make_snapshots(events, {.duration = duration});
    double sum = 0;
    for (const auto& snapshot : graph.snapshots) {
      for (const float value : snapshot->values) sum += static_cast<double>(value);
    }
    EXPECT_EQ(sum, 500) << duration;
  }
}

TEST(Windows, ImpossibleRequestsAreRefused) {
  const EventGraph events = six_events();
  EXPECT_THROW(make_snapshots(events, {}), InvalidRequest);
  EXPECT_THROW(make_snapshots(events, {.duration = "10s", .events = 5}), InvalidRequest);
  EXPECT_THROW(make_snapshots(events, {.duration = "0s"}), InvalidRequest);
  EXPECT_THROW(make_snapshots(events, {.duration = "soon"}), InvalidRequest);
  EXPECT_THROW(make_snapshots(events, {.events = -1}), InvalidRequest);
  EXPECT_THROW(make_snapshots(events, {.count = -1}), InvalidRequest);
  EXPECT_THROW(make_snapshots(events, {.duration = "1d", .weights = "heavy"}), InvalidRequest);
  EXPECT_THROW(make_snapshots(events, {.duration = "1d", .partial = "half"}), InvalidRequest);
  EXPECT_THROW(make_snapshots(events, {.duration = "1d"}, "up"), InvalidRequest);
  EXPECT_THROW(make_snapshots(make_events(2, {}), {.duration = "1d"}), InvalidRequest);
  EXPECT_THROW(make_snapshots(make_events(2, {{0, 1, 5}, {1, 0, 5}}), {.count = 2}), InvalidRequest);
  EXPECT_THROW(make_snapshots(make_events(2, {{0, 1, 5}}), {.duration = "1d", .weights = "file"}), InvalidInput);
  EXPECT_THROW(make_snapshots(make_events(2, {{0, 1, 0}, {1, 0, 2e9}}), {.duration = "1ms"}), InvalidRequest)
      << "2e12 steps";
  EXPECT_THROW(make_snapshots(events, {.count = 1000000000000}), InvalidRequest);
}

TEST(Overlap, MeanOverStepsWithEdges) {
  // steps: {01, 12}, {01, 20}, {}, {20}: overlaps 1/2, (left out), 0
  EventGraph events = make_events(3, {{0, 1, 0}, {1, 2, 0}, {0, 1, 1}, {2, 0, 1}, {2, 0, 3}});
  events.stepped = true;
  EXPECT_DOUBLE_EQ(mean_overlap(make_snapshots(events, {})), 0.25);
  EXPECT_DOUBLE_EQ(mean_overlap(make_snapshots(events, {}, "out")), 0.25);
  EXPECT_TRUE(std::isnan(mean_overlap(make_snapshots(events, {.count = 1}))));
}

}  // namespace
}  // namespace strobe
