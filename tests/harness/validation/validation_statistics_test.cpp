// Statistics of a validation, compared with small examples computed by hand, and the baseline, compared with its
// formulas.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "harness/validation/agreement_statistics.hpp"
#include "harness/validation/baseline.hpp"
#include "harness/validation/span_parts.hpp"

namespace strobe {
namespace {

TEST(ValidationStatistics, SummariseErrorsGivesMeanMaxAndBias) {
  const ErrorSummary summary = summarise_errors({0.10, -0.30, 0.05});
  EXPECT_NEAR(summary.mean_absolute, 0.15, 1e-12);
  EXPECT_NEAR(summary.max_absolute, 0.30, 1e-12);
  EXPECT_NEAR(summary.bias, -0.05, 1e-12);
  EXPECT_EQ(summary.count, 3u);
  EXPECT_TRUE(std::isnan(summarise_errors({}).mean_absolute));
  EXPECT_EQ(summarise_errors({}).count, 0u);
}

TEST(ValidationStatistics, FactorsCountTooShortAsTooLong) {
  // A quarter, half, the same, and eight times: factors 4, 2, 1 and 8. Their geometric mean is the fourth root of 64.
  const ErrorSummary summary = summarise_errors({-0.75, -0.5, 0, 7});
  EXPECT_NEAR(summary.factor, std::pow(64, 0.25), 1e-12);
  EXPECT_EQ(summary.within_twice, 2u);
  EXPECT_NEAR(summarise_errors({-1, 1}).factor, 2, 1e-12);  // a prediction of 0 has no factor, but counts as far off
  EXPECT_EQ(summarise_errors({-1, 1}).within_twice, 1u);
  EXPECT_TRUE(std::isnan(summarise_errors({-1}).factor));
  EXPECT_TRUE(std::isnan(summarise_errors({}).factor));
}

TEST(ValidationStatistics, RelativeErrorOfNothingIsNoNumberUnlessNothingWasPredicted) {
  EXPECT_DOUBLE_EQ(relative_error(3, 2), 0.5);
  EXPECT_DOUBLE_EQ(relative_error(1, 2), -0.5);
  EXPECT_DOUBLE_EQ(relative_error(0, 0), 0);
  EXPECT_TRUE(std::isnan(relative_error(1, 0)));
}

TEST(ValidationStatistics, TauOfOrderReversedAndConstantLists) {
  EXPECT_DOUBLE_EQ(*kendall_tau_b({1, 2, 3, 4}, {10, 20, 30, 40}), 1);
  EXPECT_DOUBLE_EQ(*kendall_tau_b({1, 2, 3, 4}, {4, 3, 2, 1}), -1);
  EXPECT_FALSE(kendall_tau_b({1, 1, 1}, {1, 2, 3}).has_value());
  EXPECT_FALSE(kendall_tau_b({1}, {1}).has_value());
  EXPECT_FALSE(kendall_tau_b({}, {}).has_value());
}

/// Six pairs of (1,1) (2,3) (2,2) (3,3): concordant are (1,1) with the three others and (2,2) with (3,3), so C = 4 and
/// D = 0; one pair is tied in the first list, one in the second. tau-b = 4 / sqrt(5 x 5).
TEST(ValidationStatistics, TauWithTiesEqualsTheHandComputedValue) {
  EXPECT_NEAR(*kendall_tau_b({1, 2, 2, 3}, {1, 3, 2, 3}), 4.0 / 5.0, 1e-12);
  // C = 2 (first with the others), D = 1, no ties: (2 - 1) / 3.
  EXPECT_NEAR(*kendall_tau_b({1, 2, 3}, {1, 3, 2}), 1.0 / 3.0, 1e-12);
}

TEST(ValidationStatistics, OrderedPairsLeaveMeasuredTiesOutAndCountPredictedOnesAsWrong) {
  const Share share = ordered_pairs({1, 1, 2, 3}, {5, 6, 7, 7});
  EXPECT_EQ(share.of, 5u);     // all six but the measured tie
  EXPECT_EQ(share.right, 4u);  // 2 and 3 are predicted equal
  EXPECT_DOUBLE_EQ(share.fraction(), 0.8);
}

Span compute(double flops, double bytes) {
  Span span;
  span.name = "dense";
  span.work = {flops, bytes, 0, {}};
  return span;
}

Span collective(std::string_view name, std::uint64_t sent, bool blocking) {
  Span span;
  span.name = name;
  span.phase = Phase::communicate;
  span.stream = Stream::communicate;
  span.blocking = blocking;
  span.sent_bytes = sent;
  return span;
}

Cluster machine() {
  Cluster cluster;
  cluster.gpus_per_node = 2;
  cluster.nodes = 2;
  cluster.gpu.flops_fp32_per_second = 100;
  cluster.gpu.flops_fp64_per_second = 50;
  cluster.gpu.memory_bytes_per_second = 10;
  cluster.host_to_device_bytes_per_second = 5;
  cluster.intra_node_bytes_per_second = 20;
  cluster.intra_node_latency_seconds = 0.5;
  cluster.inter_node_bytes_per_second = 8;
  cluster.inter_node_latency_seconds = 2;
  return cluster;
}

TEST(ValidationBaseline, TakesTheLargerRooflineAndTheRingOfTheBusiestRank) {
  const Cluster cluster = machine();
  // Compute-bound 2 s, memory-bound 3 s.
  EXPECT_DOUBLE_EQ(roofline_ring_seconds({{compute(200, 1), compute(100, 30)}}, cluster, false), 5);
  EXPECT_DOUBLE_EQ(roofline_ring_seconds({{compute(200, 1)}}, cluster, true), 4);
  // Two ranks in one node: 2 (P - 1) steps of 0.5 s and 40 bytes at 20 bytes/s; the hidden twin counts nothing.
  EXPECT_DOUBLE_EQ(roofline_ring_seconds({{collective("all_reduce", 40, true), collective("all_reduce", 0, false)}, {}},
                                         cluster, false),
                   3);
  // Four ranks on two nodes: 3 steps of 2 s, 8 bytes at half of the node's 8 bytes/s.
  EXPECT_DOUBLE_EQ(roofline_ring_seconds({{collective("all_to_all_v", 8, true)}, {}, {}, {}}, cluster, false), 8);
  // A single rank exchanges nothing.
  EXPECT_DOUBLE_EQ(roofline_ring_seconds({{collective("all_reduce", 0, true)}}, cluster, false), 0);
}

TEST(ValidationBaseline, CopiesTakeTheHostLinkUnlessTheMemoryIsShared) {
  Cluster cluster = machine();
  Span copy;
  copy.name = "transfer";
  copy.phase = Phase::transfer;
  copy.transfer_bytes = 10;
  EXPECT_DOUBLE_EQ(roofline_ring_seconds({{copy}}, cluster, false), 2);
  cluster.shared_host_memory = true;
  EXPECT_DOUBLE_EQ(roofline_ring_seconds({{copy}}, cluster, false), 0);
}

EpochSample epoch(int number, int rank, double begin, double seconds, bool warmup) {
  EpochSample sample;
  sample.epoch = number;
  sample.rank = rank;
  sample.begin_seconds = begin;
  sample.epoch_seconds = seconds;
  sample.warmup = warmup;
  return sample;
}

Span at(std::string_view name, double begin, double end) {
  Span span;
  span.name = name;
  span.begin_seconds = begin;
  span.end_seconds = end;
  return span;
}

TEST(ValidationParts, AreMeansOverMeasuredEpochsAndAddUpToThem) {
  const std::vector<EpochSample> samples = {epoch(0, 0, 0, 10, true), epoch(1, 0, 10, 10, false),
                                            epoch(2, 0, 30, 20, false)};
  // 5 s in the warm-up epoch, 4 s in the first measured one, 1 s between epochs, 10 and 2 s in the second.
  const std::vector<std::vector<Span>> spans = {
      {at("spmm", 0, 5), at("spmm", 11, 15), at("spmm", 25, 26), at("spmm", 30, 40), at("dense", 40, 42)}};
  const SpanParts parts = span_parts(samples, spans);
  EXPECT_DOUBLE_EQ(parts.at("compute spmm").seconds, 7);
  EXPECT_DOUBLE_EQ(parts.at("compute spmm").count, 1);
  EXPECT_DOUBLE_EQ(parts.at("compute dense").seconds, 1);
  EXPECT_DOUBLE_EQ(parts.at("other").seconds, 7);  // (30 - 16) / 2
  EXPECT_EQ(last_epoch_spans(samples, spans)[0].size(), 2u);
}

TEST(ValidationParts, DifferencesAreSortedBySizeAndKnowWhatOnlyOneRunHas) {
  const SpanParts predicted = {{"compute spmm", {2, 1}}, {"wait all_reduce", {0.1, 1}}};
  const SpanParts measured = {{"compute spmm", {3, 1}}, {"other", {4, 1}}};
  const std::vector<PartDifference> differences = largest_differences(predicted, measured, 2);
  ASSERT_EQ(differences.size(), 2u);
  EXPECT_EQ(differences[0].part, "other");
  EXPECT_DOUBLE_EQ(differences[0].difference(), -4);
  EXPECT_EQ(differences[1].part, "compute spmm");
  SpanParts mean = measured;
  average_in(mean, {{"compute spmm", {5, 3}}}, 1);
  EXPECT_DOUBLE_EQ(mean.at("compute spmm").seconds, 4);
  EXPECT_DOUBLE_EQ(mean.at("other").seconds, 2);
}

}  // namespace
}  // namespace strobe
