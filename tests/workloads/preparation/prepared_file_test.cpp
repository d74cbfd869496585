// A graph that is prepared into a file is the graph that is prepared in memory, bit for bit.
#include "workloads/preparation/prepared_file.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "core/errors.hpp"
#include "tests/workloads/child_processes.hpp"
#include "tests/workloads/graph/random_steps.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/binary/binary_snapshots.hpp"
#include "workloads/preparation/prepared_digest.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

using test::endless;
using test::start_child;
using test::status_of_child;
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
          prepare_into(scale, what, 21, fp64, folder.file("p"), endless);
          expect_same(read_prepared(folder.file("p"), nullptr, cells), prepare_scaled(scale, what, 21, fp64));
        }
      }
    }
  }
}

/// Prepares in `count` processes. They begin together, and the first is killed after `life` milliseconds, unless that
/// is negative.
std::string bytes_of_processes(const SnapshotGraph& graph, const Preprocessing& what, std::size_t count, int life) {
  const TemporaryFolder folder;
  const FeatureScale scale(graph, what.feature_scale, 10, true, presence_of(graph, "lifetime"));
  std::vector<pid_t> children;
  for (std::size_t i = 0; i < count; ++i) {
    children.push_back(start_child([&] {
      prepare_into(scale, what, graph.steps(), true, folder.file("p"), endless);
      return std::filesystem::exists(folder.file("p"));
    }));
  }
  if (life >= 0) {
    usleep(static_cast<useconds_t>(1000 * life));
    kill(children[0], SIGKILL);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const int status = status_of_child(children[i]);
    EXPECT_TRUE(status == 0 || (i == 0 && life >= 0)) << status;
  }
  return test::read_bytes(folder.file("p"));
}

TEST(PreparedFile, IsTheSameForAnyNumberOfProcesses) {
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    const SnapshotGraph graph = test::random_steps(100, 37, 300, seed);
    for (const Preprocessing& what : preparations()) {
      const std::string alone = bytes_of_processes(graph, what, 1, -1);
      ASSERT_GT(alone.size(), 100'000u);
      for (const std::size_t count : {2, 3, 4, 8}) EXPECT_TRUE(bytes_of_processes(graph, what, count, -1) == alone);
    }
  }
}

TEST(PreparedFile, IsTheSameWhenAProcessIsKilledMeanwhile) {
  const SnapshotGraph graph = test::random_steps(3000, 60, 4000, 7);
  const Preprocessing what{.smooth = "m_product", .window = 5, .smooth_features = true};
  const std::string alone = bytes_of_processes(graph, what, 1, -1);
  for (const int life : {0, 2, 5, 10, 20, 40}) EXPECT_TRUE(bytes_of_processes(graph, what, 3, life) == alone) << life;
}

/// The digest of every step is that of its values, wherever they lie.
TEST(PreparedFile, HasTheDigestsOfItsSteps) {
  const SnapshotGraph graph = test::random_steps(50, 9, 60, 3);
  const FeatureScale scale(graph, "none", 1, false);
  const TemporaryFolder folder;
  prepare_into(scale, {.keep_features = true}, 9, false, folder.file("p"), endless);
  const PreparedGraph mapped = read_prepared(folder.file("p"), nullptr, nullptr);
  PreparedGraph whole = prepare_scaled(scale, {.keep_features = true}, 9, false);
  EXPECT_FALSE(mapped.step_digests.empty());
  EXPECT_EQ(step_digests_of(mapped), step_digests_of(whole));
  const std::string before = step_digests_of(whole);
  whole.products32.edit()[whole.products32.size() - 1] += 1;  // of the last step
  const std::string after = step_digests_of(whole);
  EXPECT_EQ(before.substr(0, 8 * step_digest_bytes), after.substr(0, 8 * step_digest_bytes));
  EXPECT_NE(before, after);
}

/// Two steps cannot be prepared; whichever thread or process meets which, all report the first.
TEST(PreparedFile, EveryProcessReportsTheFirstStepThatFails) {
  SnapshotGraph graph = test::random_steps(40, 30, 60, 5);
  for (const std::size_t t : {13, 21}) {
    Snapshot bad = *graph.snapshots[t];
    ASSERT_FALSE(bad.values.empty());
    bad.values.edit()[0] = -100;
    graph.snapshots[t] = std::make_shared<const Snapshot>(bad);
  }
  const FeatureScale scale(graph, "none", 1, false);
  const TemporaryFolder folder;
  const auto reports_first = [&] {
    try {
      prepare_into(scale, {}, 30, false, folder.file("p"), endless);
    } catch (const InvalidRequest& error) {
      return std::string(error.what()).find(" at step 13 ") != std::string::npos;
    }
    return false;
  };
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) children.push_back(start_child(reports_first));
  for (const pid_t child : children) EXPECT_EQ(status_of_child(child), 0);
  EXPECT_FALSE(std::filesystem::exists(folder.file("p")));
}

TEST(PreparedFile, OfAGraphWithoutEdges) {
  SnapshotGraph graph;
  graph.vertices = 3;
  graph.snapshots = {std::make_shared<const Snapshot>(Snapshot{{0, 0, 0, 0}, {}, {}, {}})};
  const Preprocessing what{.laplacian = false};
  const TemporaryFolder folder;
  const FeatureScale scale(graph, "none", 1, false);
  prepare_into(scale, what, 1, false, folder.file("p"), endless);
  expect_same(read_prepared(folder.file("p"), nullptr, nullptr), prepare_scaled(scale, what, 1, false));
}

TEST(PreparedFile, RefusesWhatPreparingRefusesAndLeavesNoFile) {
  const SnapshotGraph graph = test::random_steps(9, 4, 5, 1);
  const TemporaryFolder folder;
  const FeatureScale scale(graph, "none", 1, false);
  EXPECT_THROW(prepare_into(scale, {.smooth = "none"}, 9, false, folder.file("p"), endless), InvalidRequest);
  EXPECT_THROW(prepare_into(scale, {}, 4, false, folder.file("missing/p"), endless), SystemError);
  EXPECT_FALSE(std::filesystem::exists(folder.file("p")));
}

TEST(PreparedFile, OfTwoGraphsDiffer) {
  const TemporaryFolder folder;
  for (const std::uint64_t seed : {1, 2}) {
    const SnapshotGraph graph = test::random_steps(40, 5, 60, seed);
    prepare_into(FeatureScale(graph, "none", 1, false), {}, 5, false, folder.file(std::to_string(seed)), endless);
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
