// Matrix Market files: sizes, kinds, and that they have no times.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

using test::any_note;
using test::TemporaryFolder;

const std::string four_entries =
    "%%MatrixMarket matrix coordinate real general\n% a comment\n5 5 4\n1 2 0.5\n2 3 0.25\n3 4 2\n4 5 1\n";

TEST(MatrixMarket, IsAGraphWithoutTimesUnderAnyName) {
  const TemporaryFolder folder;
  for (const std::string& path :
       {folder.write("a.mtx", four_entries), folder.write("a.edges", four_entries),
        folder.write("a.txt", "\xEF\xBB\xBF" + four_entries), folder.write("b.edges", four_entries.substr(1)),
        test::write_gzip(folder.file("a.mtx.gz"), four_entries)}) {
    const EventGraph graph = read_events(path);
    EXPECT_EQ(graph.provenance.format, "matrix-market") << path;
    EXPECT_EQ(graph.original_id, (std::vector<std::int64_t>{1, 2, 3, 4, 5}));
    EXPECT_EQ(graph.source, (std::vector<VertexId>{0, 1, 2, 3}));
    EXPECT_EQ(graph.target, (std::vector<VertexId>{1, 2, 3, 4}));
    EXPECT_EQ(graph.weight, (std::vector<float>{0.5, 0.25, 2, 1}));
    EXPECT_EQ(graph.time, (std::vector<double>{0, 0, 0, 0}));
    EXPECT_FALSE(graph.two_sided);
    EXPECT_TRUE(any_note(graph, "the file has no times"));
    EXPECT_TRUE(any_note(graph, "the value is the weight, not a time"));
  }
}

TEST(MatrixMarket, PatternSymmetricAndOblongMatrices) {
  const TemporaryFolder folder;
  const EventGraph pattern =
      read_events(folder.write("a.mtx", "%%MatrixMarket MATRIX Coordinate Pattern Symmetric\n4 4 2\n2 1\n3 3\n"));
  EXPECT_TRUE(pattern.weight.empty());
  EXPECT_EQ(pattern.original_id, (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_TRUE(any_note(pattern, "symmetric matrix: each entry is kept as one event"));
  EXPECT_TRUE(any_note(pattern, "1 of 4 rows and columns have no entry"));
  const EventGraph oblong = read_events(
      folder.write("b.mtx", "%%MatrixMarket matrix coordinate integer general\n2 3 3\n1 1 4\n2 3 5\n2 2 1\n"));
  EXPECT_TRUE(oblong.two_sided);
  EXPECT_EQ(oblong.vertices, 5);
}

TEST(MatrixMarket, HasNoStepsToCut) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.mtx", four_entries);
  const SnapshotGraph one = load_workload(path, Json::object(), 1);
  EXPECT_EQ(one.steps(), 1);
  EXPECT_EQ(one.edges(), 4);
  EXPECT_EQ(load_workload(path, {{"window_count", 1}}, 1).steps(), 1);
  for (const Json& options : {Json{{"window", "1d"}}, Json{{"window_count", 2}}, Json{{"window_events", 2}},
                              Json{{"lags", 1}}, Json{{"window", "1d"}, {"stride", "1h"}}}) {
    try {
      load_workload(path, options, 1);
      FAIL() << options;
    } catch (const InvalidRequest& error) {
      EXPECT_NE(std::string(error.what()).find("a.mtx has no times"), std::string::npos) << error.what();
    }
  }
}

TEST(MatrixMarket, HasNoStepsToCutInBinaryFormEither) {
  const TemporaryFolder folder;
  write_binary_graph(read_events(folder.write("a.mtx", four_entries)), folder.file("a.strobe"));
  EXPECT_THROW(load_workload(folder.file("a.strobe"), {{"window", "1d"}}, 1), InvalidRequest);
}

TEST(Csv, TimesThatAreAllZeroAreTimes) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.csv", "source,target,time\n0,1,0\n1,2,0.0\n");
  for (const Json& options : {Json{{"window", "1s"}}, Json{{"window", "1s"}, {"stride", "500ms"}}})
    EXPECT_EQ(load_workload(path, options, 1).edges(), 2) << options;
  EXPECT_EQ(load_workload(path, {{"window_events", 1}}, 1).steps(), 2);
}

TEST(MatrixMarket, OtherKindsAreRefusedByName) {
  const TemporaryFolder folder;
  const auto refusal = [&](const std::string& text) -> std::string {
    try {
      read_events(folder.write("a.mtx", text));
    } catch (const InvalidInput& error) {
      return error.what();
    }
    return "accepted";
  };
  for (const auto& [kind, named] :
       std::vector<std::pair<std::string, std::string>>{{"array real general", "'array'"},
                                                        {"coordinate complex general", "'complex'"},
                                                        {"coordinate complex hermitian", "'complex'"},
                                                        {"coordinate real hermitian", "'hermitian'"},
                                                        {"coordinate real skew-symmetric", "'skew-symmetric'"}})
    EXPECT_NE(refusal("%%MatrixMarket matrix " + kind + "\n2 2 1\n1 2 1\n").find(named), std::string::npos) << kind;
  const std::string real = "%%MatrixMarket matrix coordinate real general\n";
  EXPECT_NE(refusal(real + "3 3 2\n1 2 0.5\n").find(":2:"), std::string::npos);
  EXPECT_NE(refusal(real + "3 3 2\n1 2 0.5\n").find("states 2 entries, the file has 1"), std::string::npos);
  EXPECT_NE(refusal(real + "3 3 1\n1 4 0.5\n").find(":3:3"), std::string::npos);
  EXPECT_NE(refusal(real + "3 3 1\n0 1 0.5\n").find("row 0 is below 1"), std::string::npos);
  EXPECT_NE(refusal(real + "3 3 1\n1 2 5 1500000000\n").find("format=network-repository"), std::string::npos);
  try {
    read_events(folder.write("x.edges", four_entries), "network-repository");
    FAIL();
  } catch (const InvalidInput& error) {
    EXPECT_EQ(error.line(), 1u);
    EXPECT_NE(std::string(error.what()).find("Matrix Market"), std::string::npos);
  }
}

}  // namespace
}  // namespace strobe
