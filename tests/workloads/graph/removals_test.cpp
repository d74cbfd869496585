// Networks whose rows add and remove edges, against a set on which the rows of every step are played.
#include "workloads/graph/removals.hpp"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "core/errors.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

using test::any_note;
using test::TemporaryFolder;

const std::string six_rows = "% asym dynamic\n1 2 1 100\n2 3 1 110\n1 2 -1 205\n3 1 1 210\n2 3 1 305\n3 1 -1 310\n";

std::vector<std::int64_t> steps_edges(const SnapshotGraph& graph) {
  std::vector<std::int64_t> edges;
  for (const auto& snapshot : graph.snapshots) edges.push_back(snapshot->nonzeros());
  return edges;
}

TEST(Removals, AreNoEdgesOfAnyStep) {
  const TemporaryFolder folder;
  const std::string path = folder.write("out.dyn", six_rows);
  for (const char* weights : {"count", "file", "binary"}) {
    Json options = {{"window", "100s"}, {"weights", weights}};
    const SnapshotGraph disjoint = load_workload(path, options, 1);
    EXPECT_EQ(steps_edges(disjoint), (std::vector<std::int64_t>{2, 1, 1})) << weights;
    for (const auto& snapshot : disjoint.snapshots)
      EXPECT_EQ(snapshot->values, std::vector<float>(snapshot->columns.size(), 1));
    options["cumulative"] = true;
    EXPECT_EQ(steps_edges(load_workload(path, options, 1)), (std::vector<std::int64_t>{2, 2, 1})) << weights;
  }
  const EventGraph events = read_events(path);
  EXPECT_TRUE(events.removals);
  EXPECT_EQ(count_removals(events), 2);
  EXPECT_TRUE(any_note(events, "2 rows of weight -1 remove an edge and are no events; 0 of them"));
  const Json report = inspect_workload(path, {{"window", "100s"}}, 1);
  EXPECT_EQ(report.at("events"), 4);
  EXPECT_EQ(report.at("edges_per_step"), (Json{2, 1, 1}));
}

/// A row of the judge's file.
struct PlayedRow {
  int source, target;
  bool adds;
  int time;
};

using Play = std::map<std::pair<int, int>, int>;  // how often an edge was added since it was removed last

Play play(const std::vector<PlayedRow>& rows, double begin, double end) {
  Play edges;
  for (const PlayedRow& row : rows) {
    if (row.time < begin || row.time >= end) continue;
    const std::pair edge(row.source, row.target);
    if (row.adds)
      ++edges[edge];
    else
      edges.erase(edge);
  }
  return edges;
}

std::vector<PlayedRow> random_rows(std::uint32_t seed, int vertices) {
  std::mt19937 random(seed);
  std::vector<PlayedRow> rows;
  int time = 1000;
  for (int v = 0; v < vertices; ++v) rows.push_back({v, (v + 1) % vertices, true, time});  // every id occurs
  for (int i = 0; i < 120; ++i) {
    time += static_cast<int>(random() % 5);
    rows.push_back(
        {static_cast<int>(random()) % 3 == 0 ? 0 : static_cast<int>(random() % static_cast<unsigned>(vertices)),
         static_cast<int>(random() % static_cast<unsigned>(vertices)), random() % 3 != 0, time});
  }
  return rows;
}

std::string konect_file(const TemporaryFolder& folder, const std::vector<PlayedRow>& rows) {
  std::string text = "% asym dynamic\n";
  for (const PlayedRow& row : rows)
    text += std::to_string(row.source) + " " + std::to_string(row.target) + (row.adds ? " 1 " : " -1 ") +
            std::to_string(row.time) + "\n";
  return folder.write("out.random", text);
}

void expect_step(const SnapshotGraph& graph, std::size_t t, const Play& edges, const Play& degrees) {
  std::vector<std::vector<double>> expected(graph.vertices, std::vector<double>(graph.vertices, 0.0));
  for (const auto& [edge, count] : edges) {
    const auto u = static_cast<std::size_t>(edge.first), v = static_cast<std::size_t>(edge.second);
    if (graph.orientation != "out") expected[v][u] += count;
    const bool is_there = graph.orientation == "both" && u == v;  // a loop is its own reverse
    if (graph.orientation != "in" && !is_there) expected[u][v] += count;
  }
  EXPECT_EQ(test::dense(*graph.snapshots[t]), expected) << "step " << t;
  std::vector<float> features(2 * graph.vertices, 0.0f);
  for (const auto& [edge, count] : degrees) {
    features[2 * edge.second] += static_cast<float>(count);
    features[2 * edge.first + 1] += static_cast<float>(count);
  }
  const auto begin = graph.features.begin() + static_cast<std::ptrdiff_t>(t * features.size());
  EXPECT_EQ(std::vector<float>(begin, begin + static_cast<std::ptrdiff_t>(features.size())), features) << "step " << t;
}

TEST(Removals, StepsHoldTheEdgesLeftAfterPlayingTheirRows) {
  constexpr int vertices = 5;
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    const TemporaryFolder folder;
    const std::vector<PlayedRow> rows = random_rows(seed, vertices);
    const std::string path = konect_file(folder, rows);
    for (const char* orientation : {"in", "out", "both"}) {
      const auto graph_with = [&](Json more) {
        more["window"] = "30s";
        more["orientation"] = orientation;
        return load_workload(path, more, 1);
      };
      const SnapshotGraph disjoint = graph_with(Json::object()), all = graph_with({{"cumulative", true}}),
                          lagged = graph_with({{"lags", 2}}), sliding = graph_with({{"stride", "10s"}}),
                          living = graph_with({{"edge_life", 3}});
      for (std::size_t t = 0; t < disjoint.snapshots.size(); ++t) {
        const double begin = 1000 + 30.0 * static_cast<double>(t);
        const Play raw = play(rows, begin, begin + 30), sum = play(rows, 0, begin + 30);
        expect_step(disjoint, t, raw, raw);
        expect_step(all, t, sum, sum);
        expect_step(living, t, play(rows, begin - 60, begin + 30), raw);
        if (t < lagged.snapshots.size()) {
          const Play three = play(rows, begin, begin + 90);
          expect_step(lagged, t, three, three);
        }
      }
      for (std::size_t t = 0; t < sliding.snapshots.size(); ++t) {
        const double begin = 1000 + 10.0 * static_cast<double>(t);
        const Play window = play(rows, begin, begin + 30);
        expect_step(sliding, t, window, window);
      }
    }
  }
}

TEST(Removals, DoNotFillWindowsOfEvents) {
  const TemporaryFolder folder;
  const std::string path = folder.write(
      "out.dyn",
      "% asym dynamic\n9 9 -1 50\n1 2 1 100\n2 3 1 110\n1 2 -1 205\n3 1 1 210\n2 3 1 305\n3 1 -1 310\n9 9 1 400\n");
  // Additions 12, 23 | 31, 23 | 99; the removal of 12 belongs to the first two, that of 31 to the next two.
  EXPECT_EQ(steps_edges(load_workload(path, {{"window_events", 2}}, 1)), (std::vector<std::int64_t>{1, 1, 1}));
  EXPECT_TRUE(
      any_note(read_events(path), "3 rows of weight -1 remove an edge and are no events; 1 of them remove one"));
}

TEST(Removals, OneTakesAwaySeveralAdditions) {
  const TemporaryFolder folder;
  const std::string rows = "1 2 1 0\n1 2 +1 1\n2 3 1 2\n1 2 -1 3\n1 3 1 4\n1 3 -1 4\n1 3 1 4\n";
  const SnapshotGraph one = load_workload(folder.write("out.a", "% asym dynamic\n" + rows), {{"window_count", 1}}, 1);
  EXPECT_EQ(one.edges(), 2) << "2 -> 3, and 1 -> 3, which was added again after it was removed";
  const SnapshotGraph later =
      load_workload(folder.write("out.b", "% asym dynamic\n" + rows + "3 1 -1 5\n"), {{"window_count", 1}}, 1);
  EXPECT_EQ(later.edges(), 2) << "3 -> 1 is another edge";
  const SnapshotGraph undirected =
      load_workload(folder.write("out.c", "% sym dynamic\n" + rows + "3 1 -1 5\n"), {{"window_count", 1}}, 1);
  EXPECT_EQ(undirected.edges(), 1) << "3 1 and 1 3 are one edge";
}

TEST(Removals, CountDuplicatesAndSelfLoopsOfEventsOnly) {
  const TemporaryFolder folder;
  const EventGraph events =
      read_events(folder.write("out.a", "% asym dynamic\n1 1 1 0\n1 1 -1 0\n1 1 1 0\n1 2 1 5\n1 2 1 5\n2 2 -1 6\n"));
  EXPECT_EQ(events.provenance.self_loops, 2);
  EXPECT_EQ(events.provenance.duplicates, 2);
  EXPECT_EQ(events.provenance.rows, 6);
}

TEST(Removals, KeepTheirMeaningInBinaryFormAndAreRefusedInCsv) {
  const TemporaryFolder folder;
  const std::string path = folder.write("out.dyn", six_rows), binary = folder.file("x.strobe");
  write_binary_graph(read_events(path), binary);
  EXPECT_TRUE(read_events(binary).removals);
  EXPECT_EQ(steps_edges(load_workload(binary, {{"window", "100s"}, {"cumulative", true}}, 1)),
            (std::vector<std::int64_t>{2, 2, 1}));
  EXPECT_THROW(write_csv(read_events(path), folder.file("x.csv")), InvalidRequest);
  EXPECT_FALSE(std::filesystem::exists(folder.file("x.csv")));
}

TEST(Removals, OnlyTheWordDynamicMakesThem) {
  const TemporaryFolder folder;
  const EventGraph events =
      read_events(folder.write("out.signed", "% asym signed\n1 2 1 100\n1 2 -1 200\n2 1 5 300\n"));
  EXPECT_FALSE(events.removals);
  EXPECT_EQ(events.events(), 3);
}

}  // namespace
}  // namespace strobe
