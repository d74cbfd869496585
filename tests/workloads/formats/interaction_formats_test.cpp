// Two-sided files and events with labels and features: JODIE, MovieLens, TGN; and how ids of the sides are settled.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "tests/workloads/reading/npy_support.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/reading/ids/id_space.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

using test::any_note;
using test::TemporaryFolder;

const std::string jodie_header = "user_id,item_id,timestamp,state_label,comma_separated_list_of_features\n";
const std::string jodie_text = jodie_header + "0,0,5.5,0,0.5,-1\n3,1,2,1,0.25,7\n0,0,5.5,0,3,4\n1,1,9,0,0,0\n";

TEST(Jodie, SidesLabelsAndFeatures) {
  const TemporaryFolder folder;
  const EventGraph graph = read_events(folder.write("a.csv", jodie_text));
  EXPECT_EQ(graph.provenance.format, "jodie");
  EXPECT_EQ(graph.provenance.ids, "offset");
  EXPECT_EQ(graph.vertices, 5) << "3 users and 2 items";
  EXPECT_EQ(graph.original_id, (std::vector<std::int64_t>{0, 1, 3, 4, 5})) << "items begin after user 3";
  EXPECT_EQ(graph.source, (std::vector<VertexId>{2, 0, 0, 1}));
  EXPECT_EQ(graph.target, (std::vector<VertexId>{4, 3, 3, 4}));
  EXPECT_EQ(graph.event_label, (std::vector<std::int8_t>{1, 0, 0, 0}));
  EXPECT_EQ(graph.edge_feature_width, 2);
  EXPECT_EQ(graph.edge_features, (std::vector<float>{0.25f, 7, 0.5f, -1, 3, 4, 0, 0}))
      << "features follow their events";
  EXPECT_EQ(graph.provenance.self_loops, 0);
  EXPECT_EQ(graph.provenance.duplicates, 1);
  EXPECT_TRUE(any_note(graph, "2 ids occur on both sides"));
  EXPECT_EQ(read_events(folder.write("bare.csv", jodie_header + "0,0,5,0\n")).edge_feature_width, 0);
}

TEST(Jodie, ShortFormSharesItsIds) {
  const TemporaryFolder folder;
  const EventGraph graph = read_events(folder.write("a.csv", "u,i,ts,label\r\n0,2,0,0\r\n1,3,36,1\r\n"));
  EXPECT_EQ(graph.provenance.format, "jodie");
  EXPECT_EQ(graph.provenance.ids, "shared");
  EXPECT_EQ(graph.vertices, 4);
  EXPECT_EQ(graph.event_label, (std::vector<std::int8_t>{0, 1}));
  EXPECT_TRUE(any_note(graph, "0 ids occur on both sides"));
}

TEST(Movielens, RatingsAreWeightsAndSidesAreApart) {
  const TemporaryFolder folder;
  const std::string path = folder.write(
      "ratings.csv", "userId,movieId,rating,timestamp\n1,31,2.5,1260759144\n1,1,0.5,1260759100\n2,2,5,9\n");
  const EventGraph apart = read_events(path);
  EXPECT_EQ(apart.provenance.format, "movielens");
  EXPECT_EQ(apart.vertices, 5);
  EXPECT_EQ(apart.provenance.self_loops, 0);
  EXPECT_EQ(apart.weight, (std::vector<float>{5, 0.5f, 2.5f}));
  const EventGraph shared = read_events(path, "", "shared");
  EXPECT_EQ(shared.vertices, 3);
  EXPECT_EQ(shared.provenance.self_loops, 2);
  EXPECT_EQ(shared.provenance.ids, "shared");
}

std::string tgn_rows(int events) {
  std::string text = ",u,i,ts,label,idx\n";
  for (int e = 0; e < events; ++e)
    text += std::to_string(e) + ",1,2," + std::to_string(10 - e) + ".0,0.0," + std::to_string(e + 1) + "\n";
  return text;
}

TEST(Tgn, FeaturesAreTakenByIdx) {
  const TemporaryFolder folder;
  const std::string path = folder.write("ml_a.csv", tgn_rows(2));
  EXPECT_EQ(read_events(path).edge_feature_width, 0) << "without the .npy file";
  folder.write("ml_a.npy", test::npy<float>("<f4", "(3, 2)", {0, 0, 1, 2, 3, 4}));
  folder.write("ml_a_node.npy", test::npy<double>("<f8", "(3, 1)", {0, 0, 0}));
  const EventGraph graph = read_events(path);
  EXPECT_EQ(graph.provenance.format, "tgn");
  EXPECT_EQ(graph.provenance.ids, "shared");
  EXPECT_EQ(graph.time, (std::vector<double>{9, 10}));
  EXPECT_EQ(graph.edge_features, (std::vector<float>{3, 4, 1, 2}));
  EXPECT_EQ(graph.event_label, (std::vector<std::int8_t>{0, 0}));
  EXPECT_TRUE(any_note(graph, "3 rows of 2 features for 2 events, taken by idx; row 0 is padding"));
  EXPECT_TRUE(any_note(graph, "3 rows of 1 vertex features"));
}

TEST(Tgn, ArraysThatDoNotFitAreRefusedOrNoted) {
  const TemporaryFolder folder;
  const std::string path = folder.write("ml_a.csv", tgn_rows(2));
  folder.write("ml_a.npy", test::npy<float>("<f4", "(4, 1)", {0, 0, 1, 2}));
  EXPECT_TRUE(any_note(read_events(path), "4 rows of 1 features for 2 events, taken by idx (not one a row"));
  folder.write("ml_a.npy", test::npy<float>("<f4", "(2, 1)", {0, 0}));
  EXPECT_THROW(read_events(path), InvalidInput) << "idx 2 has no row";
  folder.write("ml_a.npy", test::npy<float>("<f4", "(3,)", {0, 0, 0}));
  EXPECT_THROW(read_events(path), InvalidInput) << "not a matrix";
  folder.write("ml_a.npy", test::npy<double>("<f8", "(3, 1)", {0, 1e39, 0}));
  EXPECT_THROW(read_events(path), InvalidInput) << "beyond fp32";
  folder.write("ml_a.npy", test::npy<float>("<f4", "(3, 1)", {0, 1, 0}));
  EXPECT_EQ(read_events(path).edge_features, (std::vector<float>{0, 1}));
  folder.write("ml_a_node.npy", test::npy<float>("<f4", "(2, 1)", {0, 0}));
  EXPECT_THROW(read_events(path), InvalidInput) << "vertex 2 has no row";
}

TEST(IdSpace, AnyFormatCanBeSeparatedAndLabelsFollow) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.txt", "1 2 0\n2 2 1\n5 1 2\n");
  const EventGraph shared = read_events(path), apart = read_events(path, "", "offset");
  EXPECT_EQ(shared.vertices, 3);
  EXPECT_EQ(shared.provenance.self_loops, 1);
  EXPECT_FALSE(test::any_note(shared, "ids=")) << "there was no choice to explain";
  EXPECT_EQ(apart.original_id, (std::vector<std::int64_t>{1, 2, 5, 7, 8}));
  EXPECT_EQ(apart.source, (std::vector<VertexId>{0, 1, 2}));
  EXPECT_EQ(apart.target, (std::vector<VertexId>{4, 4, 3}));
  EXPECT_EQ(apart.provenance.self_loops, 0);
  EXPECT_TRUE(any_note(apart, "2 ids occur on both sides"));
  EventGraph labelled = test::make_events(3, {{0, 1, 0}, {1, 2, 1}});
  labelled.vertex_label = {0, 1, 0};
  settle_ids(labelled, "offset", "labelled");
  EXPECT_EQ(labelled.vertex_label, (std::vector<std::int8_t>{0, 1, 1, 0}));
}

TEST(IdSpace, SeparatedSidesStaySeparate) {
  const TemporaryFolder folder;
  const EventGraph graph = read_events(folder.write("a.csv", jodie_text));
  write_binary_graph(graph, folder.file("a.strobe"));
  for (const char* ids : {"auto", "offset"}) {
    const EventGraph back = read_events(folder.file("a.strobe"), "", ids);
    EXPECT_EQ(back.provenance.ids, "offset");
    EXPECT_EQ(back.original_id, graph.original_id);
    EXPECT_EQ(back.event_label, graph.event_label);
    EXPECT_EQ(back.edge_feature_width, 2);
    EXPECT_EQ(back.edge_features, graph.edge_features);
  }
  EXPECT_THROW(read_events(folder.file("a.strobe"), "", "shared"), InvalidRequest);
  EXPECT_THROW(read_events(folder.file("a.csv"), "", "both"), InvalidRequest);
}

TEST(IdSpace, IsAnOptionAndAppearsInTheReport) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.csv", jodie_text);
  const Json apart = inspect_workload(path, Json::object(), 1);
  EXPECT_EQ(apart["ids"], "offset");
  EXPECT_EQ(apart["vertices"], 5);
  EXPECT_EQ(apart["parameters"]["ids"], "auto");
  EXPECT_EQ(apart["edge_feature_width"], 2);
  EXPECT_EQ(apart["labelled_events"], 1);
  const Json shared = inspect_workload(path, Json::parse(R"({"ids": "shared"})"), 1);
  EXPECT_EQ(shared["ids"], "shared");
  EXPECT_EQ(shared["vertices"], 3);
  EXPECT_EQ(shared["self_loops"], 3);
  EXPECT_EQ(load_workload(path, Json::parse(R"({"ids": "shared"})"), 1).vertices, 3);
  EXPECT_TRUE(inspect_workload("uniform", Json::parse(R"({"steps": 2, "vertices": 10})"), 1)["ids"].is_null());
  EXPECT_EQ(inspect_workload("ucsocial", Json::parse(R"({"ids": "offset"})"), 1)["ids"], "offset")
      << "the catalogue's count of vertices is of its own ids";
  EXPECT_THROW(load_workload(path, Json::parse(R"({"ids": "apart"})"), 1), InvalidRequest);
}

}  // namespace
}  // namespace strobe
