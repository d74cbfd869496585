// Names of vertices from the file to the graph, into binary files and back into csv.
#include "workloads/reading/ids/vertex_names.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "core/errors.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/binary/binary_snapshots.hpp"
#include "workloads/reading/text/quoted_csv.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

using test::TemporaryFolder;
using Names = std::vector<std::string>;

const std::string awkward_text =
    "source,target,time,weight\n"
    "Anna Czerny,\"Öz, Björn\",1,30.5\n"
    "\"Öz, Björn\",\"the \"\"one\"\"\",2,1\n"
    "=cmd|x,Anna Czerny,3,2\n"
    "\"007\",-5,4,1\n";
const Names awkward_names = {"Anna Czerny", "Öz, Björn", "the \"one\"", "=cmd|x", "007", "-5"};

TEST(VertexNames, OfCsvAreKeptEverywhere) {
  const TemporaryFolder folder;
  const EventGraph graph = read_events(folder.write("a.csv", awkward_text));
  EXPECT_EQ(graph.vertex_name, awkward_names);
  write_binary_graph(graph, folder.file("a.strobe"));
  for (const bool verify : {false, true})
    EXPECT_EQ(read_binary_graph(folder.file("a.strobe"), verify).vertex_name, awkward_names);
  const SnapshotGraph steps = load_workload(folder.file("a.strobe"), {{"window", "2s"}}, 1);
  EXPECT_EQ(steps.vertex_name, awkward_names);
  EXPECT_EQ(steps.original_id, (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5}));
  write_binary_snapshots(steps, folder.file("s.strobe"));
  const SnapshotGraph back = read_binary_snapshots(folder.file("s.strobe"), true);
  EXPECT_EQ(back.vertex_name, awkward_names);
  EXPECT_EQ(back.original_id, steps.original_id);
}

TEST(VertexNames, CsvThereAndBackGivesTheSameEvents) {
  const TemporaryFolder folder;
  write_csv(read_events(folder.write("a.csv", awkward_text)), folder.file("b.csv"));
  EXPECT_EQ(test::read_bytes(folder.file("b.csv")),
            "source,target,time,weight\n"
            "Anna Czerny,\"Öz, Björn\",1,30.5\n"
            "\"Öz, Björn\",\"the \"\"one\"\"\",2,1\n"
            "=cmd|x,Anna Czerny,3,2\n"
            "\"007\",\"-5\",4,1\n");
  std::mt19937 random(11);
  for (int trial = 0; trial < 20; ++trial) {
    const Names pool = {"1", "2", "a b", "\"", ",", "x,\"y\"", "3.0", "-", "=1+1", "@", "ä", "a", "A", "1e5", "12-3"};
    std::string text = "source,target,time\n";
    for (int i = 0; i < 30; ++i) {
      text += quoted_cell(pool[random() % pool.size()]) + "," + quoted_cell(pool[random() % pool.size()]) + "," +
              std::to_string(i) + "\n";
    }
    const EventGraph graph = read_events(folder.write("r.csv", text));
    write_csv(graph, folder.file("w.csv"));
    const EventGraph back = read_events(folder.file("w.csv"));
    EXPECT_EQ(back.vertex_name, graph.vertex_name);
    EXPECT_EQ(back.source, graph.source);
    EXPECT_EQ(back.target, graph.target);
  }
}

TEST(VertexNames, OfTwoSidesStayApart) {
  const TemporaryFolder folder;
  const std::string path = folder.write("genre_edgelist.csv",
                                        "ts,user_id,genre,weight\n"
                                        "1,bob,rock,0.5\n2,ann,jazz,1\n3,bob,bob,1\n");
  const EventGraph graph = read_events(path);
  EXPECT_EQ(graph.vertex_name, (Names{"bob", "ann", "rock", "jazz", "bob"}));
  write_csv(graph, folder.file("b.csv"));  // two vertices are called bob: numbers, as names would join them
  EXPECT_EQ(test::read_bytes(folder.file("b.csv")), "source,target,time,weight\n0,2,1,0.5\n1,3,2,1\n0,4,3,1\n");
  const EventGraph shared = read_events(path, "", "shared");
  EXPECT_TRUE(shared.vertex_name.empty());
  EXPECT_TRUE(test::any_note(shared, "names are left out"));
  EXPECT_EQ(read_events(folder.write("trade_edgelist.csv", "year,nation,trading nation,value\n1990,UK,France,2\n"))
                .vertex_name,
            (Names{"UK", "France"}));
}

TEST(VertexNames, OfMoviesAreTheirTitles) {
  const TemporaryFolder folder;
  folder.write("movies.csv", "movieId,title,genres\n5,\"Heat, 2 (1995)\",Drama\n9,Big,Comedy\n");
  const EventGraph graph =
      read_events(folder.write("ratings.csv", "userId,movieId,rating,timestamp\n5,9,3.5,10\n7,5,4,11\n"));
  EXPECT_EQ(graph.vertex_name, (Names{"", "", "Heat, 2 (1995)", "Big"}));
}

TEST(VertexNames, OfFilesOfSteps) {
  const TemporaryFolder folder;
  const auto load = [](const std::string& path) { return load_workload(path, Json::object(), 1); };
  folder.write("x_adj.csv", "0,1\n1,0\n");
  EXPECT_EQ(load(folder.write("x_speed.csv", "north,south\n1,2\n3,4\n5,6\n")).vertex_name, (Names{"north", "south"}));
  const std::string series = R"("edges": [[0, 1]], "FX": [[1, 2], [3, 4], [5, 6]])";
  EXPECT_EQ(load(folder.write("a.json", R"({"node_ids": {"b": 1, "a": 0}, )" + series + "}")).vertex_name,
            (Names{"a", "b"}));
  const SnapshotGraph odd = load(folder.write("b.json", R"({"node_ids": {"b": 2, "a": 0}, )" + series + "}"));
  EXPECT_TRUE(odd.vertex_name.empty());
  EXPECT_TRUE(test::any_note(odd, "node_ids is left out"));
}

TEST(VertexNames, NumbersHaveNone) {
  const TemporaryFolder folder;
  EXPECT_TRUE(read_events(folder.write("n.csv", "source,target,time\n1,2,3\n")).vertex_name.empty());
  write_binary_graph(read_events(folder.file("n.csv")), folder.file("n.strobe"));
  EXPECT_TRUE(read_binary_graph(folder.file("n.strobe"), true).vertex_name.empty());
}

TEST(VertexNames, CellsAreQuotedWhereTheyMustBe) {
  EXPECT_EQ(csv_cell("plain"), "plain");
  EXPECT_EQ(csv_cell(""), "");
  EXPECT_EQ(csv_cell("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_cell("a\nb"), "\"a\nb\"");
  EXPECT_EQ(csv_cell("\""), "\"\"\"\"");
  EXPECT_EQ(csv_cell(" a"), "\" a\"");
}

}  // namespace
}  // namespace strobe
