// Graphs of steps in Strobe's binary form: exact, shared where they were, refused when anything is wrong.
#include "workloads/binary/binary_snapshots.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>

#include "core/errors.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

using test::TemporaryFolder;

/// Equal bit for bit, not-a-number included.
void expect_same_floats(std::span<const float> a, std::span<const float> b) {
  ASSERT_EQ(a.size(), b.size());
  if (a.empty()) return;  // memcmp takes no null
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0);
}

void expect_same_graph(const SnapshotGraph& a, const SnapshotGraph& b) {
  EXPECT_EQ(a.vertices, b.vertices);
  EXPECT_EQ(a.feature_width, b.feature_width);
  EXPECT_EQ(a.repeats, b.repeats);
  EXPECT_EQ(a.orientation, b.orientation);
  EXPECT_EQ(a.step_begin, b.step_begin);
  EXPECT_EQ(a.step_end, b.step_end);
  EXPECT_EQ(a.side, b.side);
  EXPECT_EQ(a.vertex_label, b.vertex_label);
  EXPECT_EQ(a.cell_label, b.cell_label);
  expect_same_floats(a.features, b.features);
  expect_same_floats(a.targets, b.targets);
  ASSERT_EQ(a.steps(), b.steps());
  for (std::size_t t = 0; t < a.snapshots.size(); ++t) {
    EXPECT_EQ(a.snapshots[t]->row_offsets, b.snapshots[t]->row_offsets) << t;
    EXPECT_EQ(a.snapshots[t]->columns, b.snapshots[t]->columns) << t;
    expect_same_floats(a.snapshots[t]->values, b.snapshots[t]->values);
    EXPECT_EQ(t > 0 && a.snapshots[t] == a.snapshots[t - 1], t > 0 && b.snapshots[t] == b.snapshots[t - 1])
        << "steps share what they shared";
  }
}

/// Three steps over three vertices with everything that a graph can have; the first and the last share a snapshot.
SnapshotGraph full_graph() {
  SnapshotGraph graph;
  graph.vertices = 3;
  const auto first = std::make_shared<const Snapshot>(Snapshot{{0, 2, 2, 3}, {0, 2, 1}, {1, -0.0f, 1e-30f}, {}});
  const auto empty = std::make_shared<const Snapshot>(Snapshot{{0, 0, 0, 0}, {}, {}, {}});
  graph.snapshots = {first, empty, first};
  graph.feature_width = 2;
  for (int i = 0; i < 18; ++i) graph.features.push_back(0.1f * static_cast<float>(i));
  graph.step_begin = {-1, 0.5, 1e9 + 1.0 / 3};
  graph.step_end = {0.5, 1e9, 2e9};
  graph.side = {0, -1, 1};
  graph.vertex_label = {1, 0, -1};
  graph.cell_label = {0, 1, 2, -1, 4, 5, 6, 7, 127};
  for (int i = 0; i < 9; ++i) graph.targets.push_back(i % 2 == 0 ? std::nanf("") : static_cast<float>(i));
  graph.repeats = "cumulative";
  graph.orientation = "out";
  graph.provenance.name = "full \"graph\"\n";
  graph.provenance.rows = 4;
  graph.provenance.duplicates = 1;
  graph.provenance.notes = {"one", "two"};
  return graph;
}

std::string copied(const TemporaryFolder& folder, const std::string& name) {
  return folder.write("copy-of-" + name, test::read_bytes(folder.file(name)));
}

TEST(BinarySnapshots, RoundTripIsExactSealedAndCopied) {
  const TemporaryFolder folder;
  write_binary_snapshots(full_graph(), folder.file("g"));
  for (const std::string& path : {folder.file("g"), copied(folder, "g")}) {
    const SnapshotGraph back = read_binary_snapshots(path);
    expect_same_graph(full_graph(), back);
    EXPECT_EQ(back.provenance.name, full_graph().provenance.name);
    EXPECT_EQ(back.provenance.rows, 4);
    EXPECT_EQ(back.provenance.duplicates, 1);
    EXPECT_EQ(back.provenance.notes, full_graph().provenance.notes);
  }
  SnapshotGraph bare;
  bare.vertices = 2;
  bare.snapshots = {std::make_shared<const Snapshot>(Snapshot{{0, 0, 0}, {}, {}, {}})};
  write_binary_snapshots(bare, folder.file("bare"));
  expect_same_graph(bare, read_binary_snapshots(folder.file("bare"), true));
}

TEST(BinarySnapshots, OfGeneratorsAndWindowsAreTheSameWorkload) {
  const TemporaryFolder folder;
  for (const char* name : {"uniform", "power-law", "dynamic-sbm", "ucsocial"}) {
    const SnapshotGraph graph = load_workload(name, Json::object(), 3);
    write_binary_snapshots(graph, folder.file(name));
    const SnapshotGraph back = load_workload(folder.file(name), Json::object(), 1);
    expect_same_graph(graph, back);
    EXPECT_EQ(back.provenance.format, "strobe-snapshots");
    EXPECT_EQ(back.provenance.notes.back(),
              "converted from " + graph.provenance.source + " (" + graph.provenance.format + ")");
  }
}

TEST(BinarySnapshots, OfAFileOfStepsTakeTheSameOptions) {
  const TemporaryFolder folder;
  const std::string json = folder.write("a.json", R"({"edges": [[0, 1], [1, 0], [0, 1]], "weights": [1, 0.5, 2],
                                                      "FX": [[1, 2], [3, 4], [5, 6.5]]})");
  write_binary_snapshots(load_workload(json, Json::object(), 1), folder.file("a"));
  for (const char* options : {"{}", R"({"orientation": "both"})", R"({"weights": "binary", "orientation": "out"})"}) {
    expect_same_graph(load_workload(json, Json::parse(options), 1),
                      load_workload(folder.file("a"), Json::parse(options), 1));
  }
  EXPECT_THROW(load_workload(folder.file("a"), Json::parse(R"({"window": "30d"})"), 1), InvalidRequest);
  EXPECT_THROW(read_events(folder.file("a")), InvalidRequest);
}

TEST(BinarySnapshots, EveryTruncationAndEveryFlippedByteIsRefused) {
  const TemporaryFolder folder;
  write_binary_snapshots(full_graph(), folder.file("g"));
  const std::string bytes = test::read_bytes(folder.file("g"));
  for (std::size_t size = 0; size < bytes.size(); size += 7)
    EXPECT_THROW(read_binary_snapshots(folder.write("cut", bytes.substr(0, size))), InvalidInput) << size;
  EXPECT_THROW(read_binary_snapshots(folder.write("longer", bytes + "x")), InvalidInput);
  for (std::size_t at = 0; at < bytes.size(); at += 5) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    EXPECT_THROW(read_binary_snapshots(folder.write("flip", damaged)), InvalidInput) << at;
  }
}

TEST(BinarySnapshots, FilesOfEventsAndOfStepsAreNotTakenForEachOther) {
  const TemporaryFolder folder;
  write_binary_snapshots(full_graph(), folder.file("steps"));
  write_binary_graph(test::make_events(2, {{0, 1, 5}}), folder.file("events"));
  EXPECT_THROW(read_binary_snapshots(folder.file("events")), InvalidInput);
  EXPECT_THROW(read_binary_graph(folder.file("steps")), InvalidInput);
}

TEST(BinarySnapshots, ValidChecksumsOverImpossibleContentAreRefused) {
  const TemporaryFolder folder;
  const auto refuses = [&](const char* what, const std::function<void(SnapshotGraph&, Snapshot&)>& damage) {
    SnapshotGraph graph = full_graph();
    auto snapshot = std::make_shared<Snapshot>(*graph.snapshots[0]);
    damage(graph, *snapshot);
    graph.snapshots[0] = snapshot;
    write_binary_snapshots(graph, folder.file("bad"));
    EXPECT_THROW(read_binary_snapshots(copied(folder, "bad")), InvalidInput) << what;
  };
  refuses("column beyond", [](SnapshotGraph&, Snapshot& s) { s.columns.edit()[1] = 3; });
  refuses("column negative", [](SnapshotGraph&, Snapshot& s) { s.columns.edit()[0] = -1; });
  refuses("columns not ascending", [](SnapshotGraph&, Snapshot& s) { s.columns.edit()[1] = 0; });
  refuses("offsets fall",
          [](SnapshotGraph&, Snapshot& s) { s.row_offsets.edit()[1] = 3, s.row_offsets.edit()[2] = 2; });
  refuses("offsets begin late", [](SnapshotGraph&, Snapshot& s) { s.row_offsets.edit()[0] = 1; });
  refuses("offsets end early", [](SnapshotGraph&, Snapshot& s) { s.row_offsets.edit()[3] = 2; });
  refuses("value not finite", [](SnapshotGraph&, Snapshot& s) { s.values.edit()[0] = INFINITY; });
  refuses("feature not finite", [](SnapshotGraph& g, Snapshot&) { g.features.edit()[4] = NAN; });
  refuses("step begins before the one before", [](SnapshotGraph& g, Snapshot&) { g.step_begin[2] = 0; });
  refuses("features missing", [](SnapshotGraph& g, Snapshot&) { g.features.pop_back(); });
  refuses("too many targets", [](SnapshotGraph& g, Snapshot&) { g.targets.push_back(1); });
}

TEST(BinarySnapshots, FailedWritesLeaveNoFile) {
  const TemporaryFolder folder;
  EXPECT_THROW(write_binary_snapshots(SnapshotGraph(), folder.file("none")), InvalidRequest);
  EXPECT_THROW(write_binary_snapshots(full_graph(), folder.file("missing/g")), SystemError);
  EXPECT_TRUE(std::filesystem::is_empty(folder.file(".")));
}

}  // namespace
}  // namespace strobe
