#include "workloads/workload.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "core/errors.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/preparation/preprocess.hpp"

namespace strobe {
namespace {

using test::TemporaryFolder;

/// Points STROBE_DATA_DIR somewhere and takes that back.
class DataFolder {
 public:
  explicit DataFolder(const std::string& path) { setenv("STROBE_DATA_DIR", path.c_str(), 1); }
  ~DataFolder() { unsetenv("STROBE_DATA_DIR"); }
};

std::string workload_refusal(const std::string& workload, const Json& parameters) {
  try {
    load_workload(workload, parameters, 1);
  } catch (const InvalidRequest& error) {
    return error.what();
  }
  return "";
}

TEST(Bundled, CountsAndDefaultWindows) {
  struct Expected {
    const char* name;
    std::int64_t events, vertices, steps, self_loops;
  };
  for (const Expected& expected : {Expected{"chess", 65053, 7301, 98, 0}, Expected{"ucsocial", 59835, 1899, 28, 0},
                                   Expected{"amlsim-20k", 120558, 19980, 149, 15}}) {
    const Json report = inspect_workload(expected.name, Json::object(), 1);
    EXPECT_EQ(report["events"], expected.events) << expected.name;
    EXPECT_EQ(report["vertices"], expected.vertices) << expected.name;
    EXPECT_EQ(report["steps"], expected.steps) << expected.name;
    EXPECT_EQ(report["self_loops"], expected.self_loops) << expected.name;
    EXPECT_EQ(report["edges_per_step"].size(), static_cast<std::size_t>(expected.steps));
    std::int64_t sum = 0;
    for (const auto& edges : report["edges_per_step"]) sum += edges.get<std::int64_t>();
    EXPECT_EQ(report["edges"], sum);
    EXPECT_GT(report["overlap_mean"].get<double>(), 0.0);
    EXPECT_FALSE(report["licence"].is_null());
  }
}

TEST(Bundled, EveryDataSetOnDiskIsRegisteredWithALicenceNote) {
  std::set<std::string> folders;
  for (const auto& entry : std::filesystem::directory_iterator(data_directory())) {
    if (!entry.is_directory()) continue;
    folders.insert(entry.path().filename().string());
    const std::string note = test::read_bytes((entry.path() / "LICENCE-NOTE.md").string());
    EXPECT_NE(note.find("Licence:"), std::string::npos) << entry.path();
    const auto& set = DatasetRegistry::instance().find(entry.path().filename().string()).value;
    EXPECT_NE(note.find(set.sha256), std::string::npos) << "the note states another sha256";
    EXPECT_NE(note.find(set.licence.substr(0, 6)), std::string::npos);
  }
  const auto names = DatasetRegistry::instance().names();
  EXPECT_EQ(folders, std::set<std::string>(names.begin(), names.end()));
}

TEST(Bundled, AmlsimLabelsAreTheAccountTable) {
  const EventGraph graph = load_events("amlsim-20k", Json::object()).value();
  std::int64_t flagged = 0;
  for (const std::int8_t label : graph.vertex_label) flagged += label;
  EXPECT_EQ(graph.vertex_label.size(), 19980u);
  EXPECT_EQ(flagged, 1804);
  EXPECT_EQ(graph.time.front(), 1);
  EXPECT_EQ(graph.time.back(), 149);
}

TEST(Bundled, ChangedOrMissingFilesAreRefused) {
  const TemporaryFolder folder;
  const DataFolder chosen(folder.file("."));
  EXPECT_EQ(load_workload("chess", Json::object(), 1).vertices, 7301) << "the bundled file stands in for none";
  EXPECT_THROW(load_workload("sx-mathoverflow", Json::object(), 1), InvalidInput);
  std::filesystem::create_directory(folder.file("chess"));
  test::write_gzip(folder.file("chess/out.chess.gz"), "% asym positive\n1 2 1 5\n");
  try {
    load_workload("chess", Json::object(), 1);
    FAIL() << "another file was taken for the data set";
  } catch (const InvalidInput& error) {
    EXPECT_NE(std::string(error.what()).find("sha256"), std::string::npos);
  }
}

TEST(Workload, UnknownNamesNameTheNearest) {
  EXPECT_NE(workload_refusal("ches", Json::object()).find("'chess'"), std::string::npos);
  EXPECT_NE(workload_refusal("unifrom", Json::object()).find("'uniform'"), std::string::npos);
  for (const std::string file : {"data/none.txt", "ches.csv", "chess/"}) {
    const std::string text = workload_refusal(file, Json::object());
    EXPECT_NE(text.find("there is no file '" + file + "'"), std::string::npos) << text;
    EXPECT_EQ(text.find("Known:"), std::string::npos) << "a list of names is no help to who means a file";
  }
  EXPECT_NE(workload_refusal("chess", Json::parse(R"({"windw": "7d"})")).find("'window'"), std::string::npos);
  EXPECT_NE(workload_refusal("uniform", Json::parse(R"({"step": 3})")).find("'steps'"), std::string::npos);
  EXPECT_NE(workload_refusal("chess", Json::parse(R"({"format": "konekt"})")).find("'konect'"), std::string::npos);
  EXPECT_NE(workload_refusal("chess", Json::parse(R"({"window": "7d", "window_count": 3})")).find("exclude"),
            std::string::npos);
  EXPECT_NE(workload_refusal("chess", Json::parse(R"({"window": "soon"})")).find("duration"), std::string::npos);
  EXPECT_THROW(complete_workload_parameters("ches", Json::object(), "/cases/0/workload"), InvalidRequest);
}

TEST(Workload, ParametersAreCompletedOnceAndForAll) {
  const Json chess = complete_workload_parameters("chess", Json::object(), "");
  EXPECT_EQ(chess["window"], "31d");
  EXPECT_EQ(chess["weights"], "count");
  EXPECT_EQ(complete_workload_parameters("chess", chess, ""), chess);
  const Json sliced = complete_workload_parameters("chess", Json::parse(R"({"window_count": 5})"), "");
  EXPECT_EQ(sliced["window"], "");
  EXPECT_EQ(load_workload("chess", sliced, 1).steps(), 5);
  EXPECT_EQ(complete_workload_parameters("uniform", Json::object(), "")["density"], 3.0);
  try {
    complete_workload_parameters("chess", Json::parse(R"({"window_count": -1})"), "/cases/2/workload");
    FAIL() << "a negative count was accepted";
  } catch (const InvalidRequest& error) {
    EXPECT_EQ(error.where(), "/cases/2/workload/window_count");
  }
}

TEST(Workload, PathsWithoutWindowsBecomeTwentySlicesAndSaySo) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.txt", "1 2 0\n2 3 50\n3 1 100\n");
  const SnapshotGraph graph = load_workload(path, Json::object(), 1);
  EXPECT_EQ(graph.steps(), 20);
  ASSERT_FALSE(graph.provenance.notes.empty());
  EXPECT_NE(graph.provenance.notes.back().find("20 equal slices"), std::string::npos);
  EXPECT_EQ(load_workload(path, Json::parse(R"({"window": "50s"})"), 1).steps(), 3);
  EXPECT_EQ(load_workload(path, Json::parse(R"({"window_events": 2, "partial": "drop"})"), 1).steps(), 1);
}

TEST(Inspect, ReportsOfAPathAndOfAGenerator) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.txt", "1 2 0\n2 2 50\n1 2 0\n3 1 100\n");
  const Json report = inspect_workload(path, Json::parse(R"({"window": "100s"})"), 1);
  EXPECT_EQ(report["format"], "snap");
  EXPECT_EQ(report["events"], 4);
  EXPECT_EQ(report["vertices"], 3);
  EXPECT_EQ(report["first_time"], 0.0);
  EXPECT_EQ(report["last_time"], 100.0);
  EXPECT_EQ(report["self_loops"], 1);
  EXPECT_EQ(report["duplicates"], 1);
  EXPECT_EQ(report["was_sorted"], false);
  EXPECT_EQ(report["steps"], 2);
  EXPECT_EQ(report["edges"], 3);
  EXPECT_EQ(report["overlap_mean"], 0.0);
  EXPECT_EQ(report["in_degree"]["max"], 3.0);
  EXPECT_EQ(report["merged_events"], 1) << "1 > 2 twice in the first step";
  EXPECT_EQ(report["dropped_self_loops"], 0);
  EXPECT_EQ(report["self_loops_in_steps"], 1);
  EXPECT_EQ(report["active_vertices_per_step"], (Json{2, 2}));
  EXPECT_EQ(report["overlap_per_step"], (Json{nullptr, 0.0}));
  EXPECT_EQ(report["sequence_length"]["bins"], Json::parse("[[1, 2, 2], [2, 1, 2]]"));
  const Json generated = inspect_workload("uniform", Json::parse(R"({"steps": 4, "vertices": 10, "density": 2})"), 1);
  EXPECT_EQ(generated["format"], "generated");
  EXPECT_TRUE(generated["events"].is_null());
  EXPECT_EQ(generated["edges"], 80);
  EXPECT_EQ(generated["out_degree"]["mean"], 8.0);
}

/// In a step, 1 has one source and three targets, 2 has two sources; rows may be any of them.
TEST(Inspect, SourcesAndTargetsAreThoseOfTheData) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.txt", "1 2 0\n1 2 1\n1 3 2\n1 4 3\n3 2 4\n1 1 5\n4 1 100\n");
  for (const char* orientation : {"in", "out", "both"}) {
    const Json report = inspect_workload(path, {{"window", "100s"}, {"orientation", orientation}}, 1);
    // Step 0: sources of 1, 2, 3, 4 are {1}, {1, 3}, {1}, {1}, targets {1, 2, 3, 4}, {}, {2}, {}; step 1: 4 to 1.
    EXPECT_EQ(report["step_in_degree"]["bins"], Json::parse("[[0, 3, 0], [1, 4, 4], [2, 1, 2]]")) << orientation;
    EXPECT_EQ(report["step_out_degree"]["bins"], Json::parse("[[0, 5, 0], [1, 2, 2], [4, 1, 4]]")) << orientation;
    EXPECT_EQ(report["in_degree"]["bins"], Json::parse("[[1, 2, 2], [2, 1, 2], [3, 1, 3]]")) << orientation;
    EXPECT_EQ(report["out_degree"]["bins"], Json::parse("[[0, 1, 0], [1, 2, 2], [5, 1, 5]]")) << orientation;
    EXPECT_EQ(report["self_loops_in_steps"], 1) << orientation;
  }
  const Json few = inspect_workload(path, {{"window", "100s"}, {"orientation", "both"}, {"min_edges", 6}}, 1);
  EXPECT_EQ(few["steps"], 1) << "9 entries of both orientations, of 5 edges";
  EXPECT_EQ(few["step_out_degree"]["bins"], Json::parse("[[0, 2, 0], [1, 1, 1], [4, 1, 4]]"));
  const Json cumulative = inspect_workload(path, {{"window", "100s"}, {"cumulative", true}}, 1);
  EXPECT_EQ(cumulative["in_degree"]["bins"], Json::parse("[[2, 2, 4], [3, 1, 3], [6, 1, 6]]"))
      << "those of the first step twice";
}

/// A self-loop is one entry of A with its own value, in every orientation.
TEST(Inspect, SelfLoopsOfBothOrientationsAreCountedOnce) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.csv", "source,target,time,weight\n0,1,0,2\n1,0,0,3\n1,1,0,5\n1,1,0,7\n");
  const Json options = {{"window_count", 1}, {"orientation", "both"}, {"weights", "file"}};
  EXPECT_EQ(test::dense(*load_workload(path, options, 1).snapshots[0]),
            (std::vector<std::vector<double>>{{0, 5}, {5, 12}}));
  const std::string json = folder.write("a.json", R"({"edges": [[0, 1], [1, 0], [1, 1]], "weights": [2, 3, 12],
                                                      "FX": [[1, 2], [3, 4], [5, 6]]})");
  EXPECT_EQ(test::dense(*load_workload(json, Json::parse(R"({"orientation": "both"})"), 1).snapshots[0]),
            (std::vector<std::vector<double>>{{0, 5}, {5, 12}}));
  const Json report = inspect_workload(json, Json::parse(R"({"orientation": "out"})"), 1);
  EXPECT_EQ(report["step_in_degree"], inspect_workload(json, Json::object(), 1)["step_in_degree"]);
}

TEST(Inspect, QuantilesHoldTheLargestSteps) {
  const TemporaryFolder folder;
  std::string text;
  for (const auto& [step, edges] : {std::pair{0, 1}, {1, 2}, {2, 3}, {3, 1000}}) {
    for (int e = 0; e < edges; ++e)
      text += std::to_string(e) + " " + std::to_string(e + 1) + " " + std::to_string(step) + "\n";
  }
  const Json spread =
      inspect_workload(folder.write("a.txt", text), {{"window", "1s"}}, 1)["edges_per_step_distribution"];
  EXPECT_EQ(spread["median"], 2);
  EXPECT_EQ(spread["p75"], 3);
  for (const char* name : {"p90", "p95", "p99", "max"}) EXPECT_EQ(spread[name], 1000) << name;
}

TEST(Uniform, HasExactlyTheEdgesAskedForAndNoSelfLoops) {
  for (const double density : {0.0, 1.0, 2.5, 5.0, 8.0, 9.0}) {
    const SnapshotGraph graph = load_workload("uniform", {{"steps", 5}, {"vertices", 10}, {"density", density}}, 7);
    EXPECT_EQ(graph.edges(), static_cast<std::int64_t>(5 * 10 * density)) << density;
    for (const auto& snapshot : graph.snapshots) {
      test::expect_sorted_rows(*snapshot);
      const auto matrix = test::dense(*snapshot);
      for (std::size_t v = 0; v < 10; ++v) EXPECT_EQ(matrix[v][v], 0);
    }
  }
  EXPECT_THROW(load_workload("uniform", {{"vertices", 10}, {"density", 9.1}}, 7), InvalidRequest);
  EXPECT_THROW(load_workload("uniform", {{"vertices", 1}}, 7), InvalidRequest);
}

TEST(Uniform, DependsOnTheSeedAndStepsAreIndependent) {
  const Json parameters = {{"steps", 3}, {"vertices", 200}, {"density", 3}};
  const SnapshotGraph a = load_workload("uniform", parameters, 1), b = load_workload("uniform", parameters, 1);
  const SnapshotGraph c = load_workload("uniform", parameters, 2);
  const SnapshotGraph longer = load_workload("uniform", {{"steps", 6}, {"vertices", 200}, {"density", 3}}, 1);
  for (std::size_t t = 0; t < 3; ++t) {
    EXPECT_EQ(a.snapshots[t]->columns, b.snapshots[t]->columns);
    EXPECT_NE(a.snapshots[t]->columns, c.snapshots[t]->columns);
    EXPECT_EQ(a.snapshots[t]->columns, longer.snapshots[t]->columns);
  }
  EXPECT_NE(a.snapshots[0]->columns, a.snapshots[1]->columns);
}

/// Each pair of different vertices is an edge with probability f / (N - 1): a chi-square over the 90 pairs.
TEST(Uniform, PairsAreEquallyLikely) {
  const int steps = 4000;
  const SnapshotGraph graph = load_workload("uniform", {{"steps", steps}, {"vertices", 10}, {"density", 2}}, 11);
  std::vector<double> hits(100, 0.0);
  for (const auto& snapshot : graph.snapshots) {
    const auto matrix = test::dense(*snapshot);
    for (std::size_t i = 0; i < 100; ++i) hits[i] += matrix[i / 10][i % 10];
  }
  const double expected = steps * 20.0 / 90.0;
  double chi_square = 0;
  for (std::size_t i = 0; i < 100; ++i) {
    if (i / 10 != i % 10) chi_square += (hits[i] - expected) * (hits[i] - expected) / expected;
  }
  // 89 degrees of freedom, reduced by the fixed number of edges a step: mean 89 (1 - 2/9), far below 130.
  EXPECT_LT(chi_square, 130);
  EXPECT_GT(chi_square, 30);
}

TEST(Uniform, WeakScalingSizesMatchThePaper) {
  const SnapshotGraph graph = load_workload("uniform", {{"steps", 8}, {"vertices", 16384}, {"density", 3}}, 1);
  EXPECT_EQ(graph.edges(), 8 * 49152);
  const PreparedGraph prepared = prepare(graph, {.smooth = "m_product", .window = 5}, 8, false);
  // T N (w f + 1) less the short windows at the start: (1 + 2 + 3 + 4 + 4 * 5) * 49152 + 8 * 16384, few coincide.
  EXPECT_NEAR(static_cast<double>(prepared.nonzeros()), 30.0 * 49152 + 8.0 * 16384, 600);
}

}  // namespace
}  // namespace strobe
