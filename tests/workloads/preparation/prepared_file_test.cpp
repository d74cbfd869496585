// A graph that is prepared into a file is the graph that is prepared in memory, bit for bit.
#include "workloads/preparation/prepared_file.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/errors.hpp"
#include "tests/workloads/graph/random_steps.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/binary/binary_snapshots.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

using test::TemporaryFolder;

void expect_same(const PreparedGraph& a, const PreparedGraph& b) {
  EXPECT_EQ(a.vertices, b.vertices);
  EXPECT_EQ(a.steps, b.steps);
  EXPECT_EQ(a.feature_width, b.feature_width);
  EXPECT_EQ(a.first_product_done, b.first_product_done);
  EXPECT_EQ(a.features_kept, b.features_kept);
  EXPECT_EQ(a.presence, b.presence);
  EXPECT_EQ(a.row_offsets, b.row_offsets);
  EXPECT_EQ(a.columns, b.columns);
  EXPECT_EQ(a.values64, b.values64);
  EXPECT_EQ(a.values32, b.values32);
  EXPECT_EQ(a.features64, b.features64);
  EXPECT_EQ(a.features32, b.features32);
  EXPECT_EQ(a.products64, b.products64);
  EXPECT_EQ(a.products32, b.products32);
}

/// The preparations that models request, and other choices.
std::vector<Preprocessing> preparations() {
  std::vector<Preprocessing> all(8);
  all[1] = {.smooth = "m_product", .window = 3, .smooth_features = true};
  all[2] = {.smooth = "edge_life", .window = 2, .keep_features = true};
  all[3] = {.laplacian = false, .walk = "in", .precompute_first_product = false};
  all[4] = {.laplacian = false, .walk = "out_transposed"};
  all[5] = {.symmetric_pattern = true, .keep_features = true};
  all[6] = {.laplacian = false, .precompute_first_product = false, .feature_terms = {{"in", "out"}, 2}};
  all[7] = {.feature_scale = "standardise"};
  return all;
}

TEST(PreparedFile, IsTheGraphInMemory) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const SnapshotGraph graph = test::random_steps(20 + 30 * static_cast<std::int64_t>(seed), 23, 60, seed);
    for (const char* kind : {"all", "seen"}) {
      const std::shared_ptr<const Presence> cells = presence_of(graph, kind);
      for (const Preprocessing& what : preparations()) {
        for (const bool fp64 : {false, true}) {
          const TemporaryFolder folder;
          const FeatureScale scale(graph, what.feature_scale, 10, fp64, cells);
          prepare_into(scale, what, 21, fp64, folder.file("p"));
          expect_same(read_prepared(folder.file("p"), nullptr, cells), prepare_scaled(scale, what, 21, fp64));
        }
      }
    }
  }
}

TEST(PreparedFile, OfAGraphWithoutEdges) {
  SnapshotGraph graph;
  graph.vertices = 3;
  graph.snapshots = {std::make_shared<const Snapshot>(Snapshot{{0, 0, 0, 0}, {}, {}, {}})};
  const Preprocessing what{.laplacian = false};
  const TemporaryFolder folder;
  const FeatureScale scale(graph, "none", 1, false);
  prepare_into(scale, what, 1, false, folder.file("p"));
  expect_same(read_prepared(folder.file("p"), nullptr, nullptr), prepare_scaled(scale, what, 1, false));
}

TEST(PreparedFile, RefusesWhatPreparingRefusesAndLeavesNoFile) {
  const SnapshotGraph graph = test::random_steps(9, 4, 5, 1);
  const TemporaryFolder folder;
  const FeatureScale scale(graph, "none", 1, false);
  EXPECT_THROW(prepare_into(scale, {.smooth = "none"}, 9, false, folder.file("p")), InvalidRequest);
  EXPECT_THROW(prepare_into(scale, {}, 4, false, folder.file("missing/p")), SystemError);
  EXPECT_FALSE(std::filesystem::exists(folder.file("p")));
}

TEST(PreparedFile, OfTwoGraphsDiffer) {
  const TemporaryFolder folder;
  for (const std::uint64_t seed : {1, 2}) {
    const SnapshotGraph graph = test::random_steps(40, 5, 60, seed);
    prepare_into(FeatureScale(graph, "none", 1, false), {}, 5, false, folder.file(std::to_string(seed)));
  }
  EXPECT_FALSE(read_prepared(folder.file("1"), nullptr, nullptr).columns ==
               read_prepared(folder.file("2"), nullptr, nullptr).columns);
}

TEST(PassingSnapshots, AreTheSameGraphAndNoFileForKeeping) {
  const TemporaryFolder folder;
  for (const char* name : {"uniform", "power-law", "dynamic-sbm", "ucsocial"}) {
    const SnapshotGraph graph = load_workload(name, Json::object(), 3);
    write_passing_snapshots(graph, folder.file(name));
    const SnapshotGraph back = read_passing_snapshots(folder.file(name), nullptr);
    EXPECT_EQ(back.features, graph.features);
    EXPECT_EQ(back.exact_features, graph.exact_features);
    EXPECT_EQ(back.cell_label, graph.cell_label);
    EXPECT_EQ(back.targets, graph.targets);
    EXPECT_EQ(back.vertex_label, graph.vertex_label);
    EXPECT_EQ(back.original_id, graph.original_id);
    EXPECT_EQ(back.side, graph.side);
    EXPECT_EQ(back.provenance.notes, graph.provenance.notes);
    ASSERT_EQ(back.steps(), graph.steps());
    for (std::size_t t = 0; t < graph.snapshots.size(); ++t) {
      EXPECT_EQ(back.snapshots[t]->row_offsets, graph.snapshots[t]->row_offsets);
      EXPECT_EQ(back.snapshots[t]->columns, graph.snapshots[t]->columns);
      EXPECT_EQ(back.snapshots[t]->values, graph.snapshots[t]->values);
      EXPECT_EQ(back.snapshots[t]->exact_values, graph.snapshots[t]->exact_values);
      EXPECT_TRUE(back.snapshots[t]->row_offsets.is_view());
    }
    EXPECT_THROW(read_binary_snapshots(folder.file(name)), InvalidInput) << "it has no checksums";
  }
}

TEST(BinarySnapshots, AreMappedAndOutliveTheirFile) {
  const TemporaryFolder folder;
  const SnapshotGraph graph = load_workload("uniform", Json::object(), 3);
  write_binary_snapshots(graph, folder.file("g"));
  SnapshotGraph back = read_binary_snapshots(folder.file("g"));
  EXPECT_TRUE(back.features.is_view());
  EXPECT_TRUE(back.snapshots[0]->columns.is_view());
  std::filesystem::remove(folder.file("g"));
  const SnapshotGraph copy = back;
  back.features.edit()[0] += 1;
  EXPECT_EQ(copy.features, graph.features) << "a change makes memory of its own";
  EXPECT_EQ(copy.snapshots[0]->columns, graph.snapshots[0]->columns);
}

}  // namespace
}  // namespace strobe
