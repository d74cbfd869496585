// A file that a format reads next to its own belongs to the workload's files: its digest shows whether the data
// changed.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/workloads/reading/npy_support.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/reading/text/inputs.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

using test::TemporaryFolder;

/// File names (without folder) that loading `path` looks at and that are there.
std::set<std::string> names_read(const std::string& path) {
  const InputLog log;
  load_workload(path, Json{{"cache", "off"}}, 1);
  std::set<std::string> names;
  for (const InputFile& file : log.files()) {
    if (file.exists) names.insert(std::filesystem::path(file.path).filename().string());
  }
  return names;
}

std::set<std::string> names_listed(const std::string& path) {
  std::set<std::string> names;
  for (const auto& [key, file] : workload_files(path, Json::object()))
    names.insert(std::filesystem::path(file).filename().string());
  return names;
}

/// The workload in `path` reads itself and `companions`, and lists just these.
void expect_companions(const std::string& path, std::set<std::string> companions) {
  companions.insert(std::filesystem::path(path).filename().string());
  EXPECT_EQ(names_read(path), companions) << path;
  EXPECT_EQ(names_listed(path), companions) << path;
}

TEST(Companions, AllThatReadingLooksAtIsListed) {
  const TemporaryFolder a, b, c, d, e, f, g;
  a.write("nodes.csv", "nodeid,isFraud\n1,0\n2,1\n");
  expect_companions(a.write("t.csv", "sourceNodeId,targetNodeId,value,time\n1,2,5,0\n2,1,5,1\n"), {"nodes.csv"});
  b.write("labels.csv", ",node,time,label,ext_roll\n0,1,5,1,0\n");
  b.write("edge_features.npy", test::npy<float>("<f4", "(2, 1)", {1, 2}));
  b.write("node_features.npy", test::npy<float>("<f4", "(3, 1)", {0, 1, 2}));
  expect_companions(b.write("edges.csv", ",src,dst,time,ext_roll\n0,1,2,1,0\n1,2,1,9,0\n"),
                    {"labels.csv", "edge_features.npy", "node_features.npy"});
  c.write("movies.csv", "movieId,title,genres\n31,A,Drama\n1,B,Comedy\n");
  expect_companions(c.write("ratings.csv", "userId,movieId,rating,timestamp\n1,31,2.5,12\n1,1,0.5,10\n"),
                    {"movies.csv"});
  d.write("x_node_labels.csv", "ts,user,genre,weight\n5,u1,rock,1\n");
  expect_companions(d.write("x_edgelist.csv", "ts,user_id,genre,weight\n1,u1,rock,1\n9,u2,jazz,1\n"),
                    {"x_node_labels.csv"});
  e.write("ml_a.npy", test::npy<double>("<f8", "(3, 1)", {0, 1, 2}));
  e.write("ml_a_node.npy", test::npy<double>("<f8", "(3, 1)", {0, 0, 0}));
  expect_companions(e.write("ml_a.csv", ",u,i,ts,label,idx\n0,1,2,0,0,1\n1,2,1,9,0,2\n"),
                    {"ml_a.npy", "ml_a_node.npy"});
  f.write("s_adj.csv", "0,1\n1,0\n");
  expect_companions(f.write("s_speed.csv", "p,q\n1,2\n3,4\n5,6\n"), {"s_adj.csv"});
  expect_companions(g.write("plain.csv", "source,target,time\n1,2,0\n2,1,5\n"), {});
}

TEST(Companions, AChangedOneChangesItsDigestAlone) {
  const TemporaryFolder folder;
  folder.write("nodes.csv", "nodeid,isFraud\n1,0\n2,1\n");
  const std::string path = folder.write("t.csv", "sourceNodeId,targetNodeId,value,time\n1,2,5,0\n2,1,5,1\n");
  const Json before = workload_digests(path, Json::object());
  folder.write("nodes.csv", "nodeid,isFraud\n1,1\n2,1\n");
  const Json after = workload_digests(path, Json::object());
  EXPECT_EQ(before.at("name"), after.at("name"));
  EXPECT_NE(before.at("companion nodes.csv"), after.at("companion nodes.csv"));
  EXPECT_TRUE(workload_digests("amlsim-20k", Json::object()).contains("companion nodes.csv.gz"));
  EXPECT_TRUE(workload_digests("uniform", Json::object()).empty());
}

}  // namespace
}  // namespace strobe
