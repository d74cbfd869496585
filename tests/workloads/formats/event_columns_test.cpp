// Data of files for models of events, read through the functions that they use. Features of events and vertices, labels
// and sides are those of the file, in the order of the events and of the vertices after reading.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/workloads/reading/npy_support.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/graph/event_data.hpp"
#include "workloads/graph/sides.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

using test::any_note;
using test::TemporaryFolder;

EventGraph load_columns(const std::string& path) { return load_events(path, Json{{"cache", "off"}}).value(); }

std::vector<float> columns_of(const EventGraph& events, EdgeId event) {
  std::vector<float> row(events.edge_feature_width, -99.0f);
  edge_feature_row(events, event, row.data());
  return row;
}

TEST(EventColumns, Jodie) {
  const TemporaryFolder folder;
  const EventGraph events =
      load_columns(folder.write("a.csv",
                                "user_id,item_id,timestamp,state_label,comma_separated_list_of_features\n"
                                "7,0,30,1,0.5,-1\n7,3,10,0,0.25,7\n0,3,20,1,3,4\n"));
  EXPECT_EQ(events.original_id, (std::vector<std::int64_t>{0, 7, 8, 11})) << "items begin after user 7";
  EXPECT_EQ(events.source, (std::vector<VertexId>{1, 0, 1}));
  EXPECT_EQ(events.target, (std::vector<VertexId>{3, 3, 2}));
  EXPECT_EQ(events.event_label, (std::vector<std::int8_t>{0, 1, 1}));
  EXPECT_EQ(columns_of(events, 0), (std::vector<float>{0.25f, 7}));
  EXPECT_EQ(columns_of(events, 1), (std::vector<float>{3, 4}));
  EXPECT_EQ(columns_of(events, 2), (std::vector<float>{0.5f, -1}));
  EXPECT_EQ(sides_of(events), (EventSides{0, 0, 1, 1}));
  EXPECT_TRUE(events.two_sided);
}

TEST(EventColumns, JodieWithoutFeaturesHasItsSidesToo) {
  const TemporaryFolder folder;
  const EventGraph events = load_columns(folder.write("a.csv", "u,i,ts,label\n0,2,0,0\n1,3,36,1\n0,3,40,0\n"));
  EXPECT_EQ(events.edge_feature_width, 0);
  EXPECT_TRUE(columns_of(events, 0).empty());
  EXPECT_EQ(events.event_label, (std::vector<std::int8_t>{0, 1, 0}));
  EXPECT_EQ(sides_of(events), (EventSides{0, 0, 1, 1})) << "the ids are numbered one after another already";
  EXPECT_TRUE(sides_of(load_columns(folder.write("b.csv", "u,i,ts,label\n0,2,0,0\n2,0,36,1\n"))).empty());
}

TEST(EventColumns, Tgl) {
  const TemporaryFolder folder;
  folder.write("edge_features.pt", "a tensor");
  const std::string path = folder.write("edges.csv", ",src,dst,time,ext_roll\n0,4,7,9,0\n1,2,7,5,0\n2,4,8,12,1\n");
  folder.write("labels.csv", ",node,time,label,ext_roll\n0,4,12,3,0\n1,7,9,1,0\n");
  const EventGraph bare = load_columns(path);
  EXPECT_EQ(bare.edge_feature_width, 0);
  EXPECT_TRUE(any_note(bare, "edge_features.pt is not read; save it as edge_features.npy"));
  folder.write("edge_features.npy", test::npy<float>("<f4", "(3, 2)", {1, 2, 3, 4, 5, 6}));
  folder.write("node_features.npy", test::npy<double>("<f8", "(9, 1)", {0, 1, 2, 3, 4.5, 5, 6, 7, 8}));
  const EventGraph events = load_columns(path);
  EXPECT_EQ(events.original_id, (std::vector<std::int64_t>{2, 4, 7, 8}));
  EXPECT_EQ(events.source, (std::vector<VertexId>{0, 1, 1}));
  EXPECT_EQ(columns_of(events, 0), (std::vector<float>{3, 4})) << "row 1 of the file is the first event";
  EXPECT_EQ(columns_of(events, 1), (std::vector<float>{1, 2}));
  EXPECT_EQ(columns_of(events, 2), (std::vector<float>{5, 6}));
  EXPECT_EQ(events.vertex_feature_width, 1);
  EXPECT_EQ(events.vertex_features, (std::vector<float>{2, 4.5f, 7, 8}));
  EXPECT_EQ(events.timed_labels.vertex, (std::vector<VertexId>{2, 1}));
  EXPECT_EQ(events.timed_labels.time, (std::vector<double>{9, 12}));
  EXPECT_EQ(events.timed_labels.label, (std::vector<std::int32_t>{1, 3}));
  EXPECT_EQ(sides_of(events), (EventSides{0, 0, 1, 1}));
  EXPECT_TRUE(any_note(events, "edge_features.npy has 3 rows of 2 features, taken by the row number"));
  EXPECT_FALSE(any_note(events, "is not read"));
}

TEST(EventColumns, Tgn) {
  const TemporaryFolder folder;
  const std::string path = folder.write("ml_a.csv", ",u,i,ts,label,idx\n0,1,3,9,0,1\n1,2,4,5,1,2\n2,1,4,12,0,3\n");
  folder.write("ml_a.npy", test::npy<float>("<f4", "(4, 2)", {0, 0, 1, 2, 3, 4, 5, 6}));
  folder.write("ml_a_node.npy", test::npy<float>("<f4", "(5, 2)", {0, 0, 1, 10, 2, 20, 3, 30, 4, 40}));
  const EventGraph events = load_columns(path);
  EXPECT_EQ(events.source, (std::vector<VertexId>{1, 0, 0}));
  EXPECT_EQ(events.event_label, (std::vector<std::int8_t>{1, 0, 0}));
  EXPECT_EQ(columns_of(events, 0), (std::vector<float>{3, 4}));
  EXPECT_EQ(columns_of(events, 1), (std::vector<float>{1, 2}));
  EXPECT_EQ(columns_of(events, 2), (std::vector<float>{5, 6}));
  EXPECT_EQ(events.vertex_features, (std::vector<float>{1, 10, 2, 20, 3, 30, 4, 40}));
  EXPECT_EQ(sides_of(events), (EventSides{0, 0, 1, 1}));
}

TEST(EventColumns, Tgb) {
  const TemporaryFolder folder;
  const std::string path = folder.write(
      "x_edgelist.csv", "timestamp,user_address,token_address,value,IsSender\n6,b,t,4,0\n5,a,t,3,1\n7,b,s,2,1\n");
  folder.write("x_node_labels.csv", "ts,user,token,weight\n8,a,s,0.25\n7,b,t,0.75\n");
  const EventGraph events = load_columns(path);
  EXPECT_EQ(events.vertex_name, (std::vector<std::string>{"b", "a", "t", "s"})) << "by first appearance";
  EXPECT_EQ(events.source, (std::vector<VertexId>{1, 0, 0}));
  EXPECT_EQ(events.target, (std::vector<VertexId>{2, 2, 3}));
  EXPECT_EQ(events.weight, (std::vector<float>{3, 4, 2}));
  EXPECT_EQ(columns_of(events, 0), (std::vector<float>{1}));
  EXPECT_EQ(columns_of(events, 1), (std::vector<float>{0}));
  EXPECT_EQ(columns_of(events, 2), (std::vector<float>{1}));
  EXPECT_EQ(events.timed_labels.vertex, (std::vector<VertexId>{0, 1}));
  EXPECT_EQ(events.timed_labels.label, (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(events.timed_labels.share, (std::vector<float>{0.75f, 0.25f}));
  EXPECT_TRUE(events.labels_before);
  EXPECT_EQ(sides_of(events), (EventSides{0, 0, 1, 1}));
}

TEST(EventColumns, Movielens) {
  const TemporaryFolder folder;
  const std::string path =
      folder.write("ratings.csv", "userId,movieId,rating,timestamp\n1,31,2.5,30\n1,1,0.5,10\n2,31,5,20\n");
  folder.write("movies.csv", "movieId,title,genres\n31,A,Drama|War\n1,B,Comedy|Drama\n");
  const EventGraph events = load_columns(path);
  EXPECT_EQ(events.source, (std::vector<VertexId>{0, 1, 0}));
  EXPECT_EQ(events.target, (std::vector<VertexId>{2, 3, 3}));
  EXPECT_EQ(events.weight, (std::vector<float>{0.5f, 5, 2.5f}));
  EXPECT_EQ(events.vertex_feature_width, 3) << "Comedy, Drama, War";
  EXPECT_EQ(events.vertex_features, (std::vector<float>{0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 1, 1}));
  EXPECT_EQ(sides_of(events), (EventSides{0, 0, 1, 1}));
}

TEST(EventColumns, OfTheWikipediaFile) {
  const auto path =
      std::filesystem::path(STROBE_SOURCE_DIR).parent_path() / "shared/datasets/jodie-wikipedia/wikipedia.csv.gz";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "the file is not on this machine";
  const EventGraph events = load_columns(path.string());
  EXPECT_EQ(events.events(), 157474);
  EXPECT_EQ(events.vertices, 9227);
  const EventSides side = sides_of(events);
  ASSERT_EQ(side.size(), 9227u);
  EXPECT_EQ(std::count(side.begin(), side.end(), 0), 8227);
  EXPECT_EQ(std::count(side.begin(), side.end(), 1), 1000);
  EXPECT_EQ(std::count(events.event_label.begin(), events.event_label.end(), 1), 217);
}

}  // namespace
}  // namespace strobe
