// Differences against their definition, and the bytes of transfers against the formulas of ESDG's section 3.2.
#include "workloads/preparation/graph_difference.hpp"

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "tests/workloads/formats/snapshot_support.hpp"
#include "workloads/preparation/snapshot_payload.hpp"
#include "workloads/storage/parallel.hpp"

namespace strobe {
namespace {

std::vector<StepPair> consecutive(const PreparedGraph& graph) {
  std::vector<StepPair> pairs;
  for (Step t = 1; t < graph.steps; ++t) pairs.push_back({t - 1, t});
  return pairs;
}

void expect_equal(const GraphDifference& found, const GraphDifference& expected) {
  EXPECT_EQ(found.sizes, expected.sizes);
  EXPECT_EQ(found.removed, expected.removed);
  EXPECT_EQ(found.added, expected.added);
  EXPECT_EQ(found.changed, expected.changed);
}

TEST(GraphDifference, FollowsItsDefinition) {
  std::uint64_t seed = 0;
  for (const test::Drift& drift : test::test_drifts()) {
    for (const bool fp64 : {false, true}) {
      const PreparedGraph graph = test::prepared(drift.vertices, test::draw_steps(drift, ++seed), fp64);
      const std::vector<StepPair> pairs = consecutive(graph);
      const std::vector<GraphDifference> found = find_differences(graph, pairs, true);
      const std::vector<DifferenceSizes> counted = count_differences(graph, pairs, true);
      ASSERT_EQ(found.size(), pairs.size());
      for (std::size_t p = 0; p < pairs.size(); ++p) {
        SCOPED_TRACE("N " + std::to_string(drift.vertices) + " step " + std::to_string(p + 1));
        expect_equal(found[p], test::naive_difference(graph, pairs[p].from, pairs[p].to));
        EXPECT_EQ(counted[p], found[p].sizes);
      }
    }
  }
}

TEST(GraphDifference, ValuesAreLeftAloneWhenNotAskedFor) {
  const test::Drift drift{100, 3, 10.0, 0.7, 1.0};
  const PreparedGraph graph = test::prepared(drift.vertices, test::draw_steps(drift, 5), false);
  GraphDifference expected = test::naive_difference(graph, 0, 2);
  ASSERT_GT(expected.sizes.changed, 0);
  expected.changed.clear();
  expected.sizes.changed = 0;
  expect_equal(find_differences(graph, {{0, 2}}, false)[0], expected);
}

TEST(GraphDifference, DoesNotDependOnThreadsOrRanges) {
  const test::Drift drift{900, 2, 180.0, 0.8, 0.1};  // more entries than one range holds
  const PreparedGraph graph = test::prepared(drift.vertices, test::draw_steps(drift, 6), false);
  ASSERT_GT(graph.step_nonzeros(1), 2 * (std::int64_t{1} << 16));
  const GraphDifference expected = test::naive_difference(graph, 0, 1);
  for (const int threads : {1, 3}) {
    limit_workload_threads(threads);
    expect_equal(find_differences(graph, {{0, 1}}, true)[0], expected);
  }
  limit_workload_threads(0);
}

TEST(GraphDifference, NegativeZeroIsAnotherValue) {
  const PreparedGraph graph = test::prepared(2, {{{{0, 1}, 0.0}}, {{{0, 1}, -0.0}}}, true);
  EXPECT_EQ(find_differences(graph, {{0, 1}}, true)[0].changed, (std::vector<std::int32_t>{0}));
}

TEST(TransferBytes, CountTheFormats) {
  const DifferenceSizes few{100, 1000, 990, 20, 30, 40};
  EXPECT_EQ(transfer_bytes(few, SnapshotTransfer::full, TransferFormat::coo64, 4), 20'000u);
  EXPECT_EQ(transfer_bytes(few, SnapshotTransfer::full, TransferFormat::csr32, 4), 404u + 8'000u);
  EXPECT_EQ(transfer_bytes(few, SnapshotTransfer::difference, TransferFormat::coo64, 8), 16u * 50 + 8'000);
  EXPECT_EQ(transfer_bytes(few, SnapshotTransfer::difference, TransferFormat::csr32, 4), 4u * 20 + 8 * 30 + 4'000);
  EXPECT_EQ(transfer_bytes(few, SnapshotTransfer::changed, TransferFormat::coo64, 4), 16u * 50 + 4 * 30 + 12 * 40);
  EXPECT_EQ(transfer_bytes(few, SnapshotTransfer::changed, TransferFormat::csr32, 4), 80u + 240 + 120 + 8 * 40);
  DifferenceSizes many = few;
  many.added = 500;
  EXPECT_FALSE(added_as_offsets(few));
  EXPECT_TRUE(added_as_offsets(many));
  EXPECT_EQ(transfer_bytes(many, SnapshotTransfer::difference, TransferFormat::csr32, 4), 80u + 404 + 2'000 + 4'000);
}

/// Indices and values that are written have exactly the bytes that are counted.
TEST(TransferBytes, PayloadsHaveThem) {
  std::uint64_t seed = 40;
  for (const test::Drift& drift : test::test_drifts()) {
    const PreparedGraph graph = test::prepared(drift.vertices, test::draw_steps(drift, ++seed), false);
    const std::vector<StepPair> pairs = consecutive(graph);
    const std::vector<GraphDifference> found = find_differences(graph, pairs, true);
    for (std::size_t p = 0; p < pairs.size(); ++p) {
      for (const TransferFormat format : {TransferFormat::coo64, TransferFormat::csr32}) {
        const std::size_t z = found[p].sizes.entries;
        const auto bytes = [&](const SnapshotPayload& payload, std::size_t elsewhere) {
          const std::int64_t indices = payload.indices32.size() + payload.indices64.size();
          EXPECT_EQ(indices, payload_indices(payload.sizes, payload.how, format));
          EXPECT_EQ(
              4 * payload.indices32.size() + 8 * payload.indices64.size() + 4 * payload.values32.size() + 4 * elsewhere,
              transfer_bytes(payload.sizes, payload.how, format, 4));
        };
        bytes(full_payload(graph, pairs[p].to, format), format == TransferFormat::csr32 ? 2 * z : z);
        bytes(difference_payload(graph, pairs[p], found[p], SnapshotTransfer::difference, format), z);
        bytes(difference_payload(graph, pairs[p], found[p], SnapshotTransfer::changed, format), 0);
      }
    }
  }
}

TEST(TransferBytes, TheLeastIsTaken) {
  const auto least = [](std::int64_t removed, std::int64_t added, std::int64_t changed) {
    return cheapest_transfer({100, 1000, 1000, removed, added, changed}, TransferFormat::coo64, 4);
  };
  EXPECT_EQ(least(0, 0, 0), SnapshotTransfer::changed);
  EXPECT_EQ(least(10, 10, 330), SnapshotTransfer::difference);  // 12 x 330 + 40 > 4,000
  EXPECT_EQ(least(10, 10, 329), SnapshotTransfer::changed);
  EXPECT_EQ(least(500, 500, 500), SnapshotTransfer::full);  // break-even at half: nothing is gained
  EXPECT_EQ(least(499, 500, 501), SnapshotTransfer::difference);
}

}  // namespace
}  // namespace strobe
