// Temporal Graph Benchmark edge lists: columns by name, names as ids, dates and years, node labels.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

using test::any_note;
using test::TemporaryFolder;

TEST(Tgb, NamesAreNumberedByFirstAppearance) {
  const TemporaryFolder folder;
  const EventGraph graph = read_events(
      folder.write("coin.csv",
                   "day,src,dst,weight\n1648811421,0x27c,0x842,800.0\n1648811420,0x842,0x1,0\n1648811421,0x27c,"
                   "0x27c,5\n"));
  EXPECT_EQ(graph.provenance.format, "tgb");
  EXPECT_EQ(graph.provenance.ids, "shared");
  EXPECT_EQ(graph.vertices, 3);
  EXPECT_EQ(graph.source, (std::vector<VertexId>{1, 0, 0}));
  EXPECT_EQ(graph.target, (std::vector<VertexId>{2, 1, 0}));
  EXPECT_EQ(graph.time, (std::vector<double>{1648811420, 1648811421, 1648811421}));
  EXPECT_EQ(graph.weight, (std::vector<float>{0, 800, 5})) << "TGB makes 0 a 1 and takes logarithms; the file has 0";
  EXPECT_EQ(graph.provenance.self_loops, 1);
  EXPECT_TRUE(any_note(graph, "numbers them by first appearance") ||
              any_note(graph, "number them by first appearance"));
}

TEST(Tgb, DatesTextsAndCounts) {
  const TemporaryFolder folder;
  const EventGraph flights = read_events(folder.write(
      "flight.csv", "day,src,dst,callsign,typecode\n2019-01-02,KJFK,EGLL,BAW1,B77W\n2019-01-01,EGLL,KJFK,,\n"));
  EXPECT_EQ(flights.time, (std::vector<double>{1546300800, 1546387200}));
  EXPECT_TRUE(flights.weight.empty());
  EXPECT_EQ(flights.edge_feature_width, 0);
  EXPECT_TRUE(any_note(flights, "not used: callsign, typecode"));
  const EventGraph comments = read_events(
      folder.write("comment.csv", "ts,src,dst,subreddit,num_words,score\n10,a,b,cats,4,-3\n12,b,c,dogs,5,1\n"));
  EXPECT_EQ(comments.weight, (std::vector<float>{-3, 1}));
  EXPECT_EQ(comments.edge_feature_width, 1);
  EXPECT_EQ(comments.edge_features, (std::vector<float>{4, 5}));
  EXPECT_FALSE(comments.two_sided);
}

TEST(Tgb, YearsAreStepsAndNamesMayBeQuoted) {
  const TemporaryFolder folder;
  const std::string path = folder.write("trade.csv",
                                        "year,nation,trading nation,value\n1987,\"China, mainland\",Fiji,2.5\n"
                                        "1989,Fiji,\"the \"\"Isle\"\"\",1\n");
  const EventGraph graph = read_events(path);
  EXPECT_TRUE(graph.stepped);
  EXPECT_EQ(graph.vertices, 3);
  EXPECT_EQ(graph.time, (std::vector<double>{1987, 1989}));
  const SnapshotGraph steps = load_workload(path, Json::object(), 1);
  EXPECT_EQ(steps.steps(), 3) << "1988 is an empty step";
  EXPECT_EQ(steps.edges(), 2);
}

TEST(Tgb, UsersAndGenresAreApartAndLabelled) {
  const TemporaryFolder folder;
  const std::string path =
      folder.write("tgbn-genre_edgelist_v2.csv", "ts,user_id,genre,weight\n10,u1,rock,1\n11,u2,pop,0.5\n12,u1,u2,2\n");
  folder.write("tgbn-genre_node_labels_v2.csv",
               "ts,user,genre,weight\n12,u2,pop,0.25\n11,u1,u2,0.5\n12,u2,rock,0.75\n12,nobody,pop,1\n12,u2,new,0.1\n");
  const EventGraph graph = read_events(path);
  EXPECT_EQ(graph.provenance.ids, "offset");
  EXPECT_EQ(graph.vertices, 5) << "two users and three genres; one genre has the name of a user";
  EXPECT_EQ(graph.source, (std::vector<VertexId>{0, 1, 0}));
  EXPECT_EQ(graph.target, (std::vector<VertexId>{2, 3, 4}));
  EXPECT_EQ(graph.timed_labels.time, (std::vector<double>{11, 12, 12, 12}));
  EXPECT_EQ(graph.timed_labels.vertex, (std::vector<VertexId>{0, 1, 1, 1}));
  EXPECT_EQ(graph.timed_labels.label, (std::vector<std::int32_t>{2, 1, 0, 3})) << "a new class gets the next number";
  EXPECT_EQ(graph.timed_labels.share, (std::vector<float>{0.5f, 0.25f, 0.75f, 0.1f}));
  EXPECT_TRUE(any_note(graph, "4 labels; 1 more are of vertices without events"));
  const SnapshotGraph before = load_workload(path, Json::parse(R"({"window": "1s"})"), 1);
  EXPECT_EQ(before.cell_label, (std::vector<std::int8_t>{2, -1, -1, -1, -1, -1, 0, -1, -1, -1, -1, -1, -1, -1, -1}))
      << "TGB's labels tell what comes: they belong to the step before";
  const SnapshotGraph steps = load_workload(path, Json::parse(R"({"window": "1s", "labels": "within"})"), 1);
  EXPECT_EQ(steps.cell_label, (std::vector<std::int8_t>{-1, -1, -1, -1, -1, 2, -1, -1, -1, -1, -1, 0, -1, -1, -1}))
      << "the class of largest share";
}

TEST(Tgb, ColumnsAreKnownByNameInAnyCase) {
  const TemporaryFolder folder;
  const EventGraph tokens = read_events(folder.write(
      "token.csv", "timestamp,user_address,token_address,value,IsSender\n5,0xa,0xa,3,1.0\n6,0xb,0xa,4,0.0\n"));
  EXPECT_TRUE(tokens.two_sided);
  EXPECT_EQ(tokens.vertices, 3);
  EXPECT_EQ(tokens.edge_features, (std::vector<float>{1, 0}));
  EXPECT_EQ(tokens.weight, (std::vector<float>{3, 4}));
  EXPECT_EQ(read_events(folder.write("short.csv", "ts,src,dst\n5,a,b\n")).provenance.format, "tgb");
}

}  // namespace
}  // namespace strobe
