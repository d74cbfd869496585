// Files of steps: PyTorch Geometric Temporal json in its four shapes and T-GCN's pair of csv files.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

using test::any_note;
using test::dense;
using test::TemporaryFolder;

const std::string static_text = R"({"edges": [[0, 1], [1, 0], [0, 1], [1, 1]], "weights": [1, 0.5, 2, -1],
                                    "node_ids": {"a": 0, "b": 1}, "FX": [[1, 2], [3, 4], [5, 6.5]]})";

SnapshotGraph load(const std::string& path, const std::string& options = "{}") {
  return load_workload(path, Json::parse(options), 1);
}

void expect_targets(const SnapshotGraph& graph, const std::vector<float>& expected) {
  ASSERT_EQ(graph.targets.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (std::isnan(expected[i]))
      EXPECT_TRUE(std::isnan(graph.targets[i])) << i;
    else
      EXPECT_EQ(graph.targets[i], expected[i]) << i;
  }
}

TEST(PygTemporal, StaticEdgesShareOneSnapshot) {
  const TemporaryFolder folder;
  const SnapshotGraph graph = load(folder.write("a.json", static_text));
  EXPECT_EQ(graph.provenance.format, "pyg-temporal");
  EXPECT_EQ(graph.vertices, 2);
  ASSERT_EQ(graph.steps(), 3);
  EXPECT_EQ(graph.snapshots[0], graph.snapshots[2]) << "one storage";
  EXPECT_EQ(dense(*graph.snapshots[0]), (std::vector<std::vector<double>>{{0, 0.5}, {3, -1}}))
      << "rows are targets, parallel edges add";
  EXPECT_EQ(graph.provenance.rows, 4);
  EXPECT_EQ(graph.provenance.duplicates, 1);
  EXPECT_EQ(graph.provenance.self_loops, 1);
  EXPECT_EQ(graph.feature_width, 1);
  EXPECT_EQ(graph.features, (std::vector<float>{1, 2, 3, 4, 5, 6.5f}));
  expect_targets(graph, {3, 4, 5, 6.5f, NAN, NAN});
  EXPECT_TRUE(any_note(graph, "each of the 3 steps has the same 3 edges"));
  EXPECT_TRUE(any_note(graph, "nothing is standardised"));
}

TEST(PygTemporal, SeriesMayBeCalledBlockOrBeGivenByStep) {
  const TemporaryFolder folder;
  const SnapshotGraph block = load(folder.write("a.json", R"({"edges": [[0, 1]], "block": [[1, 2], [3, 4]]})"));
  const SnapshotGraph steps = load(folder.write(
      "b.json", R"({"edges": [[0, 1]], "time_periods": 2, "1": {"y": [3, 4]}, "0": {"y": [1, 2], "year": 2019}})"));
  EXPECT_EQ(block.features, (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(steps.features, block.features);
  EXPECT_EQ(dense(*steps.snapshots[1]), (std::vector<std::vector<double>>{{0, 0}, {1, 0}})) << "1 without weights";
}

TEST(PygTemporal, EdgeMappingHasEdgesPerStep) {
  const TemporaryFolder folder;
  const std::string path = folder.file("a.json.gz");
  test::write_gzip(path, R"({"edge_mapping": {"edge_index": {"1": [[1, 1]], "0": [[0, 1], [1, 0]]},
                             "edge_weight": {"0": [5, 6], "1": [7]}}, "time_periods": 2, "y": [[1, 2], [3, 4]]})");
  const SnapshotGraph graph = load(path);
  EXPECT_EQ(graph.edges(), 3);
  EXPECT_EQ(dense(*graph.snapshots[0]), (std::vector<std::vector<double>>{{0, 6}, {5, 0}}));
  EXPECT_EQ(dense(*graph.snapshots[1]), (std::vector<std::vector<double>>{{0, 0}, {0, 7}}));
  EXPECT_EQ(graph.features, (std::vector<float>{1, 2, 3, 4}));
  expect_targets(graph, {3, 4, NAN, NAN});
  EXPECT_EQ(graph.step_begin, (std::vector<double>{0, 1}));
}

TEST(PygTemporal, StepByStepHasFeaturesAndTargets) {
  const TemporaryFolder folder;
  const std::string text =
      R"({"0": {"index": 0, "edges": [[0, 1]], "weights": [2], "y": [10, 20], "X": [[1, 2], [3, 4]]},
                               "1": {"index": 1, "edges": [], "weights": [], "y": [30, 40], "X": [[5, 6], [7, 8]]},
                               "time_periods": 2, "node_ids": {"x": 0, "y": 1}})";
  const SnapshotGraph graph = load(folder.write("a.json", text));
  EXPECT_EQ(graph.feature_width, 2);
  EXPECT_EQ(graph.features, (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}));
  expect_targets(graph, {std::log1p(30.0f), std::log1p(40.0f), NAN, NAN});  // Twitter tennis: the loader's logarithm
  EXPECT_TRUE(any_note(graph, "log(1 + y)"));
  const std::string plain = R"({"0": {"edges": [], "y": [1, 2], "X": [0, 0]}, "time_periods": 2,
                               "1": {"edges": [], "y": [3, 4], "X": [0, 0]}})";
  expect_targets(load(folder.write("b.json", plain)), {3, 4, NAN, NAN});
  EXPECT_EQ(graph.snapshots[1]->nonzeros(), 0);
  EXPECT_EQ(graph.edges(), 1);
}

TEST(PygTemporal, NodeLinkNamesItsNodes) {
  const TemporaryFolder folder;
  const std::string text = R"({"directed": true, "nodes": [
      {"bus_stop": 7, "y": [1, 2, 3], "X": {"y": [1, 2, 3], "z": [9, 8, 7]}, "id": 7},
      {"bus_stop": 5, "y": [4, 5, 6], "X": {"y": [4, 5, 6], "z": [0, 0, 1]}, "id": 5}],
      "links": [{"weight": 1.5, "source": 7, "target": 5}]})";
  const SnapshotGraph graph = load(folder.write("a.json", text));
  EXPECT_EQ(graph.vertices, 2);
  ASSERT_EQ(graph.steps(), 3);
  EXPECT_EQ(graph.feature_width, 2);
  EXPECT_EQ(graph.features, (std::vector<float>{1, 9, 4, 0, 2, 8, 5, 0, 3, 7, 6, 1}));
  expect_targets(graph, {2, 5, 3, 6, NAN, NAN});
  EXPECT_EQ(dense(*graph.snapshots[2]), (std::vector<std::vector<double>>{{0, 0}, {1.5, 0}}));
}

TEST(Tgcn, EitherFileNamesThePair) {
  const TemporaryFolder folder;
  const std::string adjacency = folder.write("los_adj.csv", "1,0.25\r\n0,1\r\n"),
                    speed = folder.file("los_speed.csv.gz");
  test::write_gzip(speed, "773869,767541\n64.5,67\n62,60\n1,2");
  for (const std::string& path : {adjacency, speed}) {
    const SnapshotGraph graph = load(path);
    EXPECT_EQ(graph.provenance.format, "tgcn");
    EXPECT_EQ(graph.vertices, 2);
    ASSERT_EQ(graph.steps(), 3);
    EXPECT_EQ(graph.edges(), 9) << "3 non-zeros in each of 3 steps";
    EXPECT_EQ(dense(*graph.snapshots[0]), (std::vector<std::vector<double>>{{1, 0.25}, {0, 1}}));
    EXPECT_EQ(graph.snapshots[0], graph.snapshots[2]);
    EXPECT_EQ(graph.features, (std::vector<float>{64.5f, 67, 62, 60, 1, 2}));
    expect_targets(graph, {62, 60, 1, 2, NAN, NAN});
    EXPECT_TRUE(any_note(graph, path == adjacency ? "together with los_speed.csv.gz" : "together with los_adj.csv"));
  }
}

TEST(StepFiles, OrientationAndWeights) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.json", static_text);
  const auto first = [&](const std::string& options) { return dense(*load(path, options).snapshots[0]); };
  EXPECT_EQ(first(R"({"orientation": "out"})"), (std::vector<std::vector<double>>{{0, 3}, {0.5, -1}}));
  EXPECT_EQ(first(R"({"orientation": "both"})"), (std::vector<std::vector<double>>{{0, 3.5}, {3.5, -1}}));
  EXPECT_EQ(first(R"({"weights": "binary"})"), (std::vector<std::vector<double>>{{0, 1}, {1, 1}}));
  EXPECT_EQ(first(R"({"weights": "file"})"), first("{}"));
  EXPECT_EQ(load(path, R"({"orientation": "out"})").orientation, "out");
  EXPECT_EQ(load(path, "{}").orientation, "in");
  const SnapshotGraph both = load(path, R"({"orientation": "both", "weights": "binary"})");
  EXPECT_EQ(both.orientation, "both");
  EXPECT_EQ(both.snapshots[0], both.snapshots[2]) << "still one storage";
}

TEST(StepFiles, WeightsThatAddUpBeyondFp32AreRefused) {
  const TemporaryFolder folder;
  const std::string path =
      folder.write("a.json", R"({"edges": [[0, 1], [0, 1]], "weights": [3e38, 3e38], "FX": [[1, 2], [3, 4]]})");
  EXPECT_THROW(load(path), InvalidInput);
}

TEST(StepFiles, CannotBeCutAgain) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.json", static_text);
  for (const char* options : {R"({"window": "2"})", R"({"window_events": 2})", R"({"window_count": 2})",
                              R"({"partial": "drop"})", R"({"ids": "offset"})", R"({"edge_life": 2})"}) {
    try {
      load(path, options);
      ADD_FAILURE() << options << " was accepted";
    } catch (const InvalidRequest& error) {
      EXPECT_NE(std::string(options).find(error.where()), std::string::npos) << error.what();
    }
  }
  EXPECT_EQ(load_events(path, Json::object()), std::nullopt);
  EXPECT_THROW(read_events(path), InvalidRequest);
}

TEST(StepFiles, InspectCountsRowsAndDegreesOfEdges) {
  const TemporaryFolder folder;
  const Json report = inspect_workload(folder.write("a.json", static_text), Json::object(), 1);
  EXPECT_EQ(report["events"], 4);
  EXPECT_EQ(report["edges"], 9);
  EXPECT_EQ(report["steps"], 3);
  EXPECT_EQ(report["duplicates"], 1);
  EXPECT_EQ(report["self_loops"], 1);
  EXPECT_EQ(report["time_unit"], "steps");
  EXPECT_EQ(report["targets"], 4) << "the last step has none";
  EXPECT_EQ(report["in_degree"]["max"], 6) << "2 in-neighbours in 3 steps";
  EXPECT_EQ(report["overlap_mean"], 1);
  EXPECT_EQ(report["sha256"].get<std::string>().size(), 64u);
}

/// 60 where something was measured, 0 where nothing was.
const std::string gaps_text = R"({"edges": [[0, 1]], "FX": [[60, 61], [0, 62], [60, 0], [0, 0], [60, 60]]})";

TEST(Missing, TargetsThatWereNotMeasuredAreLeftOut) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.json", gaps_text);
  const SnapshotGraph graph = load(path, R"({"missing": "0"})");
  expect_targets(graph, {NAN, 62, 60, NAN, NAN, NAN, 60, 60, NAN, NAN});
  EXPECT_EQ(graph.features, (std::vector<float>{60, 61, 0, 62, 60, 0, 0, 0, 60, 60})) << "inputs stay as they are";
  EXPECT_TRUE(any_note(graph, "missing=0: 4 of 8 targets are not measured"));
  expect_targets(load(path, R"({"missing": "-60"})"), {0, 62, 60, 0, 0, 0, 60, 60, NAN, NAN});
  EXPECT_TRUE(any_note(load(path), "4 of 8 targets are 0; if 0 means that nothing was measured"));
  folder.write("x_adj.csv", "0,1\n1,0\n");
  const SnapshotGraph traffic =
      load(folder.write("x_speed.csv", "a,b\n1,2\n-0.1,4\n5,-0.1\n"), R"({"missing": "-0.1"})");
  expect_targets(traffic, {NAN, 4, 5, NAN, NAN, NAN});
}

TEST(Missing, IsRefusedWhereItMeansNothing) {
  const TemporaryFolder folder;
  const std::string steps = folder.write("a.json", gaps_text),
                    events = folder.write("e.csv", "source,target,time\n0,1,1\n1,0,9\n");
  for (const char* word : {"zero", "0x", "nan", "inf", " 0"})
    EXPECT_THROW(load(steps, Json{{"missing", word}}.dump()), InvalidRequest) << word;
  EXPECT_THROW(load(events, R"({"missing": "0"})"), InvalidRequest);
  EXPECT_THROW(inspect_workload(events, {{"missing", "0"}}, 1), InvalidRequest);
}

TEST(Missing, ItsDefaultLeavesIdsOfCasesAsTheyWere) {
  const TemporaryFolder folder;
  const std::string steps = folder.write("a.json", gaps_text);
  EXPECT_FALSE(complete_workload_parameters(steps, Json::object(), "").contains("missing"));
  EXPECT_EQ(complete_workload_parameters(steps, {{"missing", "0"}}, "").at("missing"), "0");
}

}  // namespace
}  // namespace strobe
