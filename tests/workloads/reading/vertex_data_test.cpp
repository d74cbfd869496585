// Features and classes of vertices: TGL labels, MovieLens genres, TGN vertex features, .npy files given as option.
#include "workloads/reading/events/vertex_data.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "tests/workloads/reading/npy_support.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

using test::TemporaryFolder;

TEST(TimedLabels, OfTglAreNextToTheEdges) {
  const TemporaryFolder folder;
  const std::string path =
      folder.write("edges.csv", ",src,dst,time,ext_roll\n0,5,7,0,0\n1,7,9,10,0\n2,5,9,25,1\n3,5,9,30,2\n");
  EXPECT_TRUE(read_events(path).timed_labels.time.empty());
  folder.write("labels.csv",
               ",node,time,label,ext_roll\n0,9,26,1.0,0\n1,5,11,0,0\n2,5,14,1,1\n3,8,11,1,0\n4,7,29,200,0\n");
  const EventGraph graph = read_events(path);
  EXPECT_EQ(graph.timed_labels.vertex, (std::vector<VertexId>{0, 0, 2, 1}));
  EXPECT_EQ(graph.timed_labels.time, (std::vector<double>{11, 14, 26, 29}));
  EXPECT_EQ(graph.timed_labels.label, (std::vector<std::int32_t>{0, 1, 1, 200}));
  const SnapshotGraph steps = load_workload(path, Json::parse(R"({"window": "10s"})"), 1);
  ASSERT_EQ(steps.steps(), 4);
  EXPECT_EQ(steps.cell_label, (std::vector<std::int8_t>{-1, -1, -1, 1, -1, -1, -1, -1, 1, -1, -1, -1}))
      << "the newest label of a step; a class beyond 127 is left out";
  EXPECT_EQ(inspect_workload(path, Json::object(), 1)["timed_labels"], 4);
}

TEST(TimedLabels, BeforeTheFirstStepAreLeftOut) {
  EventGraph events = test::make_events(2, {{0, 1, 10}, {1, 0, 20}});
  events.timed_labels = {{0, 1}, {5, 25}, {1, 1}, {1, 1}};
  StepCut kept;
  SnapshotGraph graph = make_snapshots(events, {.duration = "10s"}, "in", kept);
  set_cell_labels(events, kept, "auto", graph);
  EXPECT_EQ(graph.cell_label, (std::vector<std::int8_t>{-1, -1, -1, 1}));
  ASSERT_FALSE(graph.provenance.notes.empty());
  EXPECT_EQ(graph.provenance.notes.back().rfind("labels: 1 of 2 are left out, 1 before the first", 0), 0u)
      << graph.provenance.notes.back();
}

TEST(VertexFeatures, GenresBelongToTheMovies) {
  const TemporaryFolder folder;
  const std::string path = folder.write("ratings.csv", "userId,movieId,rating,timestamp\n1,2,3,10\n2,5,4,11\n");
  folder.write("movies.csv",
               "movieId,title,genres\r\n2,\"Title, The \"\"A\"\" (1995)\",Drama|Action\r\n"
               "5,B,(no genres listed)\r\n9,C,War\r\n");
  const EventGraph graph = read_events(path);
  EXPECT_EQ(graph.vertex_feature_width, 3) << "Action, Drama, War";
  EXPECT_EQ(graph.vertex_features, (std::vector<float>{0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0})) << "users have none";
  EXPECT_EQ(read_events(path, "", "shared").vertex_features, (std::vector<float>{0, 0, 0, 1, 1, 0, 0, 0, 0}));
  const SnapshotGraph steps = load_workload(path, Json::parse(R"({"window": "1s", "features": "own"})"), 1);
  EXPECT_EQ(steps.feature_width, 3);
  ASSERT_EQ(steps.features.size(), 24u);
  EXPECT_EQ(std::vector<float>(steps.features.begin() + 12, steps.features.end()),
            std::vector<float>(steps.features.begin(), steps.features.begin() + 12))
      << "the same in both steps";
  EXPECT_EQ(inspect_workload(path, Json::parse(R"({"features": "own"})"), 1)["in_degree"]["max"], 1);
}

TEST(VertexFeatures, OfTgnAreTakenByTheVertexId) {
  const TemporaryFolder folder;
  const std::string path = folder.write("ml_a.csv", ",u,i,ts,label,idx\n0,1,3,10,0,1\n");
  folder.write("ml_a_node.npy", test::npy<double>("<f8", "(4, 2)", {0, 0, 1, 2, 9, 9, 3, 4}));
  EXPECT_EQ(read_events(path).vertex_features, (std::vector<float>{1, 2, 3, 4}));
}

class FeaturesOption : public testing::Test {
 protected:
  SnapshotGraph load(const std::string& features) {
    Json options = Json::object();
    options["window_count"] = 2;
    options["features"] = features;
    return load_workload(path_, options, 1);
  }
  template <class T>
  std::string npy(const std::string& shape, const std::vector<T>& values, const std::string& type = "<f4") {
    return folder_.write("f.npy", test::npy<T>(type, shape, values));
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.write("a.txt", "1 3 0\n3 1 10\n");
};

TEST_F(FeaturesOption, TakesOneRowAVertexOrAnId) {
  EXPECT_EQ(load(npy<float>("(2, 1)", {7, 8})).features, (std::vector<float>{7, 8, 7, 8}));
  EXPECT_EQ(load(npy<std::int64_t>("(4, 1)", {0, 1, 2, 3}, "<i8")).features, (std::vector<float>{1, 3, 1, 3}))
      << "by id";
  EXPECT_EQ(load(npy<float>("(2, 2, 1)", {1, 2, 3, 4})).features, (std::vector<float>{1, 2, 3, 4})) << "a step each";
  const SnapshotGraph by_id =
      load(npy<float>("(2, 5, 2)", {0, 0, 1, 2, 0, 0, 3, 4, 0, 0, 0, 0, 5, 6, 0, 0, 7, 8, 0, 0}));
  EXPECT_EQ(by_id.feature_width, 2);
  EXPECT_EQ(by_id.features, (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_NE(by_id.provenance.notes.back().find("f.npy"), std::string::npos);
  EXPECT_EQ(load("").feature_width, 2) << "degrees";
}

TEST_F(FeaturesOption, RefusesArraysThatDoNotFit) {
  EXPECT_THROW(load(npy<float>("(3, 1)", {1, 2, 3})), InvalidInput) << "3 rows for 2 vertices with ids up to 3";
  EXPECT_THROW(load(npy<float>("(1, 1)", {1})), InvalidInput);
  EXPECT_THROW(load(npy<float>("(2,)", {1, 2})), InvalidInput) << "one axis";
  EXPECT_THROW(load(npy<float>("(3, 2, 1)", {1, 2, 3, 4, 5, 6})), InvalidInput) << "3 steps for 2";
  EXPECT_THROW(load(npy<float>("(2, 0)", {})), InvalidInput) << "no features";
  EXPECT_THROW(load(npy<double>("(2, 1)", {1, 1e39}, "<f8")), InvalidInput) << "beyond fp32";
  EXPECT_THROW(load(npy<float>("(2, 100000000000000)", {})), InvalidRequest) << "larger than memory";
  EXPECT_THROW(load("no-such-file.npy"), InvalidInput);
  EXPECT_THROW(load("own"), InvalidRequest) << "the file has none";
}

TEST_F(FeaturesOption, ReplacesTheValuesOfAFileOfSteps) {
  const std::string steps = folder_.write("a.json", R"({"edges": [[0, 1]], "X": [[1, 2], [3, 4]]})");
  Json options = Json::object();
  options["features"] = npy<float>("(2, 1)", {7, 8});
  const SnapshotGraph graph = load_workload(steps, options, 1);
  EXPECT_EQ(graph.features, (std::vector<float>{7, 8, 7, 8}));
  EXPECT_EQ(graph.targets[0], 3) << "targets stay";
  options["features"] = "own";
  EXPECT_EQ(load_workload(steps, options, 1).features, (std::vector<float>{1, 2, 3, 4}));
}

}  // namespace
}  // namespace strobe
