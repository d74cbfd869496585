// Doubles in addition to the fp32 numbers of a graph: fp64 runs read them for weights, features and targets with
// decimals.
#include "workloads/graph/exact_values.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/workloads/reading/npy_support.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/binary/binary_snapshots.hpp"
#include "workloads/preparation/preprocess.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

using test::TemporaryFolder;

/// A row of a file: its weight has decimals that fp32 does not hold.
struct Row {
  int source, target;
  double time, weight;
};

constexpr int exact_vertices = 9;

std::vector<Row> random_rows(unsigned seed, int count, double time_span) {
  std::mt19937 draw(seed);
  std::vector<Row> rows;
  for (int v = 0; v < exact_vertices; ++v)
    rows.push_back({v, (v + 1) % exact_vertices, 0, 0.1});  // so that every id occurs
  while (static_cast<int>(rows.size()) < count) {
    const auto whole = [&](unsigned n) { return static_cast<int>(draw() % n); };
    rows.push_back({whole(exact_vertices), whole(exact_vertices), std::floor(time_span * whole(1000) / 1000),
                    whole(9999) / 1000.0});
  }
  return rows;
}

std::string csv_of(const std::vector<Row>& rows) {
  std::string text = "source,target,time,weight\n";
  for (const Row& row : rows) text += fmt::format("{},{},{},{}\n", row.source, row.target, row.time, row.weight);
  return text;
}

/// Sum of weights by (step, row, column), steps of `length` seconds from 0 on, rows being targets.
using Sums = std::map<std::tuple<int, int, int>, double>;
Sums sums_of(const std::vector<Row>& rows, double length) {
  Sums sums;
  for (const Row& row : rows) sums[{static_cast<int>(row.time / length), row.target, row.source}] += row.weight;
  return sums;
}

Sums exact_of(const SnapshotGraph& graph) {
  Sums sums;
  for (std::size_t t = 0; t < graph.snapshots.size(); ++t) {
    const Snapshot& snapshot = *graph.snapshots[t];
    for (std::size_t v = 0; v + 1 < snapshot.row_offsets.size(); ++v) {
      for (auto i = snapshot.row_offsets[v]; i < snapshot.row_offsets[v + 1]; ++i)
        sums[{static_cast<int>(t), static_cast<int>(v), snapshot.columns[i]}] =
            exact_value(snapshot, static_cast<std::size_t>(i));
    }
  }
  return sums;
}

void expect_sums(const Sums& found, const Sums& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (const auto& [key, value] : expected) EXPECT_NEAR(found.at(key), value, 1e-14 * std::abs(value));
}

SnapshotGraph load(const std::string& path, Json options) {
  options["weights"] = "file";
  return load_workload(path, options, 1);
}

TEST(ExactWeights, AreThoseOfTheFileInTimeOrder) {
  const TemporaryFolder folder;
  for (const unsigned seed : {1u, 2u, 3u}) {
    const std::vector<Row> rows = random_rows(seed, 500, 100);
    const EventGraph graph = read_events(folder.write("a.csv", csv_of(rows)));
    ASSERT_EQ(graph.exact_weight.size(), rows.size());
    std::vector<Row> sorted = rows;
    std::stable_sort(sorted.begin(), sorted.end(), [](const Row& a, const Row& b) { return a.time < b.time; });
    for (std::size_t e = 0; e < rows.size(); ++e) {
      ASSERT_EQ(graph.exact_weight[e], sorted[e].weight);
      ASSERT_EQ(graph.weight[e], static_cast<float>(sorted[e].weight));
    }
  }
}

TEST(ExactWeights, OfWholeNumbersTakeNoMemory) {
  const TemporaryFolder folder;
  const std::string text = "source,target,time,weight\n0,1,5,2\n1,0,4,0.5\n0,1,9,-16777216\n";
  const EventGraph graph = read_events(folder.write("a.csv", text));
  EXPECT_TRUE(graph.exact_weight.empty());
  EXPECT_TRUE(load(folder.file("a.csv"), {{"window", "5s"}}).snapshots[0]->exact_values.empty());
}

TEST(ExactWeights, MayBeginInALaterBlock) {
  const TemporaryFolder folder;
  const int rows = 300'000;  // more than two blocks of the builder
  std::string text = "source,target,time,weight\n";
  for (int i = 0; i < rows; ++i)
    text += fmt::format("{},{},{},{}\n", i % 7, i % 5, rows - i, i < 290'000 ? "2" : "0.3");
  const EventGraph graph = read_events(folder.write("a.csv", text));
  ASSERT_EQ(graph.exact_weight.size(), static_cast<std::size_t>(rows));
  for (std::size_t e = 0; e < graph.exact_weight.size(); ++e)
    ASSERT_EQ(graph.exact_weight[e], e < 10'000 ? 0.3 : 2.0) << e;
}

TEST(ExactWeights, AddUpInTheStepsOfEveryWindowing) {
  const TemporaryFolder folder;
  for (const unsigned seed : {4u, 5u}) {
    const std::vector<Row> rows = random_rows(seed, 700, 50);
    const std::string path = folder.write("a.csv", csv_of(rows));
    const Sums windows = sums_of(rows, 10);
    expect_sums(exact_of(load(path, {{"window", "10s"}})), windows);
    Sums cumulative, lags, stride, life, out, both;
    for (const auto& [key, value] : windows) {
      const auto [step, row, column] = key;
      for (int t = step; t < 5; ++t) cumulative[{t, row, column}] += value;
      for (int t = std::max(0, step - 1); t <= std::min(step, 3); ++t) lags[{t, row, column}] += value;
      for (int t = std::max(0, step - 1); t <= step; ++t) stride[{t, row, column}] += value;
      for (int t = step; t < std::min(step + 2, 5); ++t) life[{t, row, column}] += value;
      out[{step, column, row}] += value;
      both[{step, column, row}] += value;
      if (row != column) both[{step, row, column}] += value;  // a loop is its own reverse
    }
    expect_sums(exact_of(load(path, {{"window", "10s"}, {"cumulative", true}})), cumulative);
    expect_sums(exact_of(load(path, {{"window", "10s"}, {"lags", 1}})), lags);
    expect_sums(exact_of(load(path, {{"window", "20s"}, {"stride", "10s"}})), stride);
    expect_sums(exact_of(load(path, {{"window", "10s"}, {"edge_life", 2}})), life);
    expect_sums(exact_of(load(path, {{"window", "10s"}, {"orientation", "out"}})), out);
    expect_sums(exact_of(load(path, {{"window", "10s"}, {"orientation", "both"}})), both);
  }
}

TEST(ExactWeights, DoNotChangeTheFp32Values) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.csv", csv_of(random_rows(6, 400, 40)));
  EventGraph rounded = read_events(path);
  rounded.exact_weight.clear();
  for (const Windowing& windowing : {Windowing{.duration = "10s", .weights = "file"},
                                     Windowing{.duration = "10s", .weights = "file", .cumulative = true},
                                     Windowing{.duration = "10s", .weights = "file", .edge_life = 3}}) {
    const SnapshotGraph now = make_snapshots(read_events(path), windowing), before = make_snapshots(rounded, windowing);
    for (std::size_t t = 0; t < now.snapshots.size(); ++t)
      EXPECT_EQ(now.snapshots[t]->values, before.snapshots[t]->values);
    Preprocessing what{.smooth = "m_product", .window = 3};
    EXPECT_EQ(prepare(now, what, now.steps(), false).values32, prepare(before, what, now.steps(), false).values32);
    EXPECT_NE(prepare(now, what, now.steps(), true).values64, prepare(before, what, now.steps(), true).values64);
  }
}

TEST(ExactWeights, SumsOfWeightsThatFp32HoldsMayNeedDoubles) {
  const EventGraph events = test::make_events(2, {{0, 1, 0}, {0, 1, 1}, {1, 0, 2}}, {16777216.0f, 1.0f, 1.0f});
  const SnapshotGraph graph = make_snapshots(events, {.duration = "10s", .weights = "file"});
  EXPECT_EQ(exact_of(graph), (Sums{{{0, 1, 0}, 16777217.0}, {{0, 0, 1}, 1.0}}));
  const SnapshotGraph sum = make_snapshots(events, {.duration = "1s", .weights = "file", .cumulative = true});
  EXPECT_EQ(exact_of(sum).at({2, 1, 0}), 16777217.0);
}

TEST(ExactWeights, SurviveBinaryFilesCsvAndTheCache) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.csv", csv_of(random_rows(7, 300, 30)));
  const EventGraph graph = read_events(path);
  write_binary_graph(graph, folder.file("a.strobe"));
  EXPECT_EQ(read_binary_graph(folder.file("a.strobe"), true).exact_weight, graph.exact_weight);
  write_csv(graph, folder.file("b.csv"));
  EXPECT_EQ(read_events(folder.file("b.csv")).exact_weight, graph.exact_weight);
  const std::string zipped = test::write_gzip(folder.file("c.csv.gz"), test::read_bytes(path));
  EXPECT_EQ(read_events(zipped).exact_weight, graph.exact_weight);
  const SnapshotGraph steps = load(path, {{"window", "10s"}});
  write_binary_snapshots(steps, folder.file("s.strobe"));
  const SnapshotGraph again = read_binary_snapshots(folder.file("s.strobe"), true);
  EXPECT_EQ(exact_of(again), exact_of(steps));
  EXPECT_EQ(exact_of(load(folder.file("s.strobe"), {{"orientation", "out"}})),
            exact_of(load(path, {{"window", "10s"}, {"orientation", "out"}})));
  EXPECT_EQ(exact_of(load(path, {{"window", "10s"}, {"weights", "file"}})), exact_of(steps));
}

TEST(ExactWeights, OfFp32AreWrittenWithAllTheirDigits) {
  const TemporaryFolder folder;
  EventGraph events = test::make_events(2, {{0, 1, 0}, {1, 0, 2}}, {0.1f, 2.0f});
  write_csv(events, folder.file("a.csv"));
  const EventGraph again = read_events(folder.file("a.csv"));
  EXPECT_EQ(again.weight, events.weight);
  EXPECT_TRUE(again.exact_weight.empty()) << "the file says the fp32 number, not 0.1";
}

TEST(ExactFeatures, OfNpyFiles) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.csv", "source,target,time\n0,1,0\n1,0,10\n");
  const auto features = [&](const std::string& type, const std::string& bytes) {
    const std::string file = folder.write(type + ".npy", bytes);
    return load_workload(path, {{"window", "10s"}, {"features", file}}, 1);
  };
  const std::vector<double> values = {0.1, -1e-300, 1.0 / 3, 2};
  const SnapshotGraph same = features("wide", test::npy<double>("<f8", "(2, 2)", values));
  EXPECT_EQ(same.exact_features, (std::vector<double>{0.1, -1e-300, 1.0 / 3, 2, 0.1, -1e-300, 1.0 / 3, 2}));
  EXPECT_EQ(same.features[0], 0.1f);
  EXPECT_EQ(features("steps", test::npy<double>("<f8", "(2, 2, 1)", values)).exact_features, values);
  const std::int64_t large = (1LL << 40) + 1;
  EXPECT_EQ(features("whole", test::npy<std::int64_t>("<i8", "(2, 1)", {large, 3})).exact_features,
            (std::vector<double>{double(large), 3, double(large), 3}));
  EXPECT_TRUE(features("narrow", test::npy<float>("<f4", "(2, 1)", {0.1f, 3})).exact_features.empty());
  const PreparedGraph fp64 = prepare(same, {.laplacian = false, .precompute_first_product = false}, 2, true);
  EXPECT_EQ(fp64.features64, same.exact_features);
  write_binary_snapshots(same, folder.file("s.strobe"));
  EXPECT_EQ(read_binary_snapshots(folder.file("s.strobe"), true).exact_features, same.exact_features);
}

TEST(ExactFeatures, AndTargetsOfFilesOfSteps) {
  const TemporaryFolder folder;
  const SnapshotGraph json = load_workload(
      folder.write("a.json", R"({"edges": [[0, 1], [0, 1]], "weights": [0.1, 0.2], "FX": [[0.1, 2], [0.7, 4]]})"),
      Json::object(), 1);
  EXPECT_EQ(json.exact_features, (std::vector<double>{0.1, 2, 0.7, 4}));
  EXPECT_EQ(json.snapshots[0]->exact_values, (std::vector<double>{0.1 + 0.2}));
  EXPECT_EQ(json.snapshots[0]->values, (std::vector<float>{static_cast<float>(double(0.1f) + double(0.2f))}));
  folder.write("x_adj.csv", "0,0.3\n0.6,0\n");
  const SnapshotGraph pair =
      load_workload(folder.write("x_speed.csv", "a,b\n60.1,2\n0.7,4\n"), Json::parse(R"({"orientation": "out"})"), 1);
  EXPECT_EQ(pair.exact_features, (std::vector<double>{60.1, 2, 0.7, 4}));
  EXPECT_EQ(exact_of(pair).at({0, 0, 1}), 0.6) << "row 0 reads what column 0 was read by";
}

/// D^-1/2 (A + I) D^-1/2 X from the file's rows alone, in double.
TEST(ExactValues, PreparedInDoubleAreThoseOfTheFile) {
  const TemporaryFolder folder;
  const std::vector<Row> rows = random_rows(8, 400, 30);
  std::vector<double> x;
  for (int v = 0; v < exact_vertices; ++v) x.push_back(0.1 * v + 1.0 / 7);
  const std::string features = folder.write("x.npy", test::npy<double>("<f8", "(9, 1)", x));
  const SnapshotGraph graph = load(folder.write("a.csv", csv_of(rows)), {{"window", "10s"}, {"features", features}});
  const PreparedGraph prepared = prepare(graph, {}, 3, true);
  for (int t = 0; t < 3; ++t) {
    std::vector<std::vector<double>> a(exact_vertices, std::vector<double>(exact_vertices, 0.0));
    for (int v = 0; v < exact_vertices; ++v) a[v][v] = 1;
    for (const auto& [key, value] : sums_of(rows, 10)) {
      if (std::get<0>(key) == t) a[std::get<1>(key)][std::get<2>(key)] += value;
    }
    std::vector<double> degree(exact_vertices, 0.0);
    for (int v = 0; v < exact_vertices; ++v)
      for (const double value : a[v]) degree[v] += value;
    for (int v = 0; v < exact_vertices; ++v) {
      double product = 0;
      for (int u = 0; u < exact_vertices; ++u) product += a[v][u] / std::sqrt(degree[v] * degree[u]) * x[u];
      EXPECT_NEAR(prepared.features64[t * exact_vertices + v], product, 1e-14);
    }
  }
}

}  // namespace
}  // namespace strobe
