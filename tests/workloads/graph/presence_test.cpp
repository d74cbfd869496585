// Which cells exist, against the definitions read off dense steps.
#include "workloads/graph/presence.hpp"

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "tests/workloads/graph/random_steps.hpp"
#include "tests/workloads/support.hpp"

namespace strobe {
namespace {

/// Whether vertex v has an edge at step t, at either end.
bool has_edge(const SnapshotGraph& graph, std::size_t v, std::size_t t) {
  const auto a = test::dense(*graph.snapshots[t]);
  for (std::size_t u = 0; u < a.size(); ++u)
    if (a[v][u] != 0 || a[u][v] != 0) return true;
  return false;
}

/// The definitions: for each vertex whether it exists at each step.
std::vector<bool> steps_of_vertex(const SnapshotGraph& graph, std::size_t v, const std::string& kind) {
  std::vector<bool> edge, exists;
  for (std::size_t t = 0; t < graph.snapshots.size(); ++t) edge.push_back(has_edge(graph, v, t));
  for (std::size_t t = 0; t < edge.size(); ++t) {
    const auto here = edge.begin() + static_cast<std::ptrdiff_t>(t);
    const bool before = std::find(edge.begin(), here, true) != here;
    const bool after = std::find(here, edge.end(), true) != edge.end();
    exists.push_back(kind == "active" ? edge[t] : edge[t] || (before && (kind == "seen" || after)));
  }
  return exists;
}

void expect_presence(const SnapshotGraph& graph, const std::string& kind,
                     const std::shared_ptr<const Presence>& presence) {
  ASSERT_NE(presence, nullptr);
  ASSERT_EQ(presence->vertices(), graph.vertices);
  ASSERT_EQ(presence->steps(), graph.steps());
  std::vector<std::int64_t> count(graph.snapshots.size(), 0);
  std::int64_t cells = 0;
  for (VertexId v = 0; v < graph.vertices; ++v) {
    const std::vector<bool> exists = steps_of_vertex(graph, static_cast<std::size_t>(v), kind);
    std::int32_t begin = -1;
    for (std::size_t t = 0; t < exists.size(); ++t) {
      if (!exists[t]) begin = -1;
      if (exists[t] && begin < 0) begin = static_cast<std::int32_t>(t);
      EXPECT_EQ(presence->begin(v, static_cast<Step>(t)), begin) << "vertex " << v << " step " << t;
      EXPECT_EQ(presence->exists(v, static_cast<Step>(t)), exists[t]);
      count[t] += exists[t] ? 1 : 0;
      cells += exists[t] ? 1 : 0;
    }
  }
  for (std::size_t t = 0; t < count.size(); ++t) EXPECT_EQ(presence->count(static_cast<Step>(t)), count[t]);
  EXPECT_EQ(presence->cells(), cells);
}

TEST(Presence, FollowsItsDefinitionsOnRandomGraphs) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const SnapshotGraph graph = test::random_steps(9, 11, seed % 3 == 0 ? 12 : 3, seed, seed % 4 == 1);
    for (const char* kind : {"seen", "lifetime", "active"}) {
      SCOPED_TRACE(std::string(kind) + " seed " + std::to_string(seed));
      expect_presence(graph, kind, presence_of(graph, kind));
    }
  }
}

TEST(Presence, IsTheSameInAFile) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const SnapshotGraph graph = test::random_steps(9, 11, seed % 3 == 0 ? 12 : 3, seed, seed % 4 == 1);
    for (const char* kind : {"seen", "lifetime", "active"}) {
      SCOPED_TRACE(std::string(kind) + " seed " + std::to_string(seed));
      const test::TemporaryFolder folder;
      write_presence(graph, kind, folder.file("cells"), [] { return [] { return false; }; });
      const std::shared_ptr<const Presence> mapped = read_presence(folder.file("cells"), nullptr);
      expect_presence(graph, kind, mapped);
      EXPECT_EQ(mapped->own_bytes(), 0u);
      EXPECT_GE(presence_of(graph, kind)->own_bytes(), 9 * 11 * sizeof(std::int32_t));
    }
  }
}

TEST(Presence, ByHand) {
  // 0 -> 1 at steps 1 and 3, a self-loop of 2 at step 3; vertex 3 has no edge, steps 0 and 4 have none.
  EventGraph events = test::make_events(4, {{0, 1, 0}, {0, 1, 2}, {2, 2, 2}});
  events.stepped = true;
  SnapshotGraph graph = make_snapshots(events, {});
  const auto empty = std::make_shared<const Snapshot>(Snapshot{{0, 0, 0, 0, 0}, {}, {}, {}});
  graph.snapshots.insert(graph.snapshots.begin(), empty);
  graph.snapshots.push_back(empty);
  ASSERT_EQ(graph.steps(), 5);
  const auto begins = [&](const char* kind, VertexId v) {
    const auto presence = presence_of(graph, kind);
    std::vector<std::int32_t> all;
    for (Step t = 0; t < 5; ++t) all.push_back(presence->begin(v, t));
    return all;
  };
  using List = std::vector<std::int32_t>;
  for (const VertexId v : {0, 1}) {
    EXPECT_EQ(begins("seen", v), (List{-1, 1, 1, 1, 1}));
    EXPECT_EQ(begins("lifetime", v), (List{-1, 1, 1, 1, -1}));
    EXPECT_EQ(begins("active", v), (List{-1, 1, -1, 3, -1}));
  }
  EXPECT_EQ(begins("seen", 2), (List{-1, -1, -1, 3, 3}));
  EXPECT_EQ(begins("active", 2), (List{-1, -1, -1, 3, -1}));
  EXPECT_EQ(begins("seen", 3), (List{-1, -1, -1, -1, -1}));
  EXPECT_EQ(presence_of(graph, "seen")->cells(), 10);
  EXPECT_EQ(presence_of(graph, "lifetime")->cells(), 7);
  EXPECT_EQ(presence_of(graph, "active")->cells(), 5);
}

TEST(Presence, AllIsNullAndOtherWordsAreRefused) {
  const SnapshotGraph graph = test::random_steps(5, 4, 6, 3);
  EXPECT_EQ(presence_of(graph, "all"), nullptr);
  try {
    presence_of(graph, "livetime");
    FAIL() << "a word that there is not";
  } catch (const InvalidRequest& error) {
    EXPECT_EQ(error.where(), "/presence");
    EXPECT_NE(error.message().find("did you mean 'lifetime'"), std::string::npos) << error.message();
  }
}

}  // namespace
}  // namespace strobe
