// Sides of two-sided graphs, compared with lists written by hand and with sets of sources and targets.
#include "workloads/graph/sides.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "tests/workloads/support.hpp"
#include "workloads/binary/binary_snapshots.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

using Side = std::vector<std::int8_t>;
using test::make_events;

TEST(Sides, AreThoseOfAllEventsInEveryOrientation) {
  EventGraph events = make_events(5, {{0, 3, 0}, {1, 3, 5}, {0, 2, 30}});
  for (const char* orientation : {"in", "out", "both"})
    EXPECT_EQ(make_snapshots(events, {.duration = "10"}, orientation).side, (Side{0, 0, 1, 1, -1})) << orientation;
  // The last window is dropped, and its event still tells what vertex 2 is.
  EXPECT_EQ(make_snapshots(events, {.duration = "10", .min_edges = 2}).side, (Side{0, 0, 1, 1, -1}));
  events.source.push_back(3), events.target.push_back(2), events.time.push_back(31);
  EXPECT_TRUE(make_snapshots(events, {.duration = "10"}).side.empty()) << "3 is a target and a source";
  EXPECT_TRUE(make_snapshots(make_events(3, {{0, 1, 0}, {2, 2, 1}}), {.count = 1}).side.empty()) << "a self-loop";
}

TEST(Sides, OfRandomGraphsAreThoseOfSets) {
  std::mt19937 random(7);
  int two_sided = 0;
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<std::tuple<int, int, double>> rows;
    std::set<int> sources, targets;
    for (int e = 0; e < 4; ++e) {
      rows.emplace_back(random() % 8, random() % 8, e);
      sources.insert(std::get<0>(rows.back())), targets.insert(std::get<1>(rows.back()));
    }
    Side expected;
    for (int v = 0; v < 8; ++v) {
      if (sources.contains(v) && targets.contains(v)) {
        expected.clear();
        break;
      }
      expected.push_back(sources.contains(v) ? 0 : targets.contains(v) ? 1 : -1);
    }
    two_sided += !expected.empty();
    const SnapshotGraph graph = make_snapshots(make_events(8, rows), {.events = 1});
    EXPECT_EQ(graph.side, expected);
    EXPECT_EQ(sides_of_steps(graph), expected);
  }
  EXPECT_GT(two_sided, 10);
  EXPECT_LT(two_sided, 190);
}

TEST(Sides, OfStepsFollowTheirRows) {
  const EventGraph events = make_events(4, {{0, 3, 0}, {1, 3, 5}, {0, 2, 30}});
  EXPECT_EQ(sides_of_steps(make_snapshots(events, {.duration = "10"}, "out")), (Side{0, 0, 1, 1}));
  EXPECT_TRUE(sides_of_steps(make_snapshots(events, {.duration = "10"}, "both")).empty());
}

TEST(Sides, OfFilesOfStepsAreKnownToo) {
  const test::TemporaryFolder folder;
  const std::string file = folder.write("a.json", R"({"edges": [[0, 1], [2, 1]], "weights": [1, 2],
                                                      "FX": [[1, 2, 3], [4, 5, 6], [7, 8, 9]]})");
  EXPECT_EQ(load_workload(file, Json::object(), 1).side, (Side{0, 1, 0}));
  EXPECT_EQ(load_workload(file, Json::parse(R"({"orientation": "both"})"), 1).side, (Side{0, 1, 0}));
  EXPECT_EQ(load_workload(file, Json::object(), 1).step_end, (std::vector<double>{1, 2, 3}));
  // Steps of both orientations say nothing of sides, the file that holds them does.
  write_binary_snapshots(load_workload(file, Json::parse(R"({"orientation": "both"})"), 1), folder.file("b.strobe"));
  EXPECT_EQ(load_workload(folder.file("b.strobe"), Json::object(), 1).side, (Side{0, 1, 0}));
  EXPECT_EQ(load_workload(folder.file("b.strobe"), Json::object(), 1).step_end, (std::vector<double>{1, 2, 3}));
}

}  // namespace
}  // namespace strobe
