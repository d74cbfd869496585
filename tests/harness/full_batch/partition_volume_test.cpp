// The volume of a partition in three ways: counted from the graph (lambda - 1), planned, and sent.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/run/run_case.hpp"
#include "tests/harness/plans.hpp"
#include "tests/long.hpp"
#include "workloads/partitioners/partitioner.hpp"
#include "workloads/partitioners/partitioning.hpp"

namespace strobe {
namespace {

std::uint64_t sent_halo_bytes(const CaseResult& result) {
  std::uint64_t bytes = 0;
  for (const EpochSample& sample : result.samples) bytes += sample.sent_bytes[Traffic::halo];
  return bytes;
}

/// Values per row that a forward and a backward pass send over the spatial halo. Features get no gradient.
std::uint64_t values_per_cut_row(const FullBatchPlan& plan) {
  std::uint64_t values = 0;
  for (std::size_t l = 0; l < plan.model.layers.size(); ++l) {
    const LayerShape& layer = plan.model.layers[l];
    if (layer.reads_neighbours) values += static_cast<std::uint64_t>(layer.input_width) * (l == 0 ? 1 : 2);
  }
  return values;
}

std::uint64_t sample_halo_bytes(const FullBatchPlan& plan) {
  std::uint64_t rows = 0;
  for (const BlockPlan& block : plan.blocks) rows += static_cast<std::uint64_t>(block.train.halo.total_rows());
  return 2 * rows * static_cast<std::uint64_t>(plan.model.layers.back().temporal_width) * sizeof(double);
}

void expect_one_volume(const Json& request, const std::string& what) {
  const Case c = case_from_json(request, "");
  const auto plan = test::full_batch_plan(c);
  const std::vector<Rank> owner = plan->strategy.spatial.map(0).owner.copy();
  const std::int64_t cut = connectivity_minus_one(*plan->data.graph, owner, plan->ranks());
  EXPECT_GT(cut, 0) << what;
  if (c.ranks == 3) {  // only once, because it plans the case again, which takes time
    EXPECT_EQ(plan_case(c).at("connectivity_minus_one"), cut) << what;
  }
  std::int64_t rows = 0;
  for (const BlockPlan& block : plan->blocks) rows += block.spatial_halo.total_rows();
  EXPECT_EQ(rows, cut) << what;
  const std::uint64_t values = values_per_cut_row(*plan);
  EXPECT_GT(values, 0u) << what;
  const std::uint64_t bytes = static_cast<std::uint64_t>(cut) * values * sizeof(double) + sample_halo_bytes(*plan);
  EXPECT_EQ(plan->planned_bytes[Traffic::halo], bytes) << what;
  const CaseResult result = run_case(c);
  EXPECT_EQ(result.status, "ok") << what << ": " << result.reason;
  EXPECT_EQ(sent_halo_bytes(result), bytes) << what;
}

class PartitionVolume : public testing::TestWithParam<std::tuple<std::string, bool>> {};

TEST_P(PartitionVolume, CutIsPlannedAndSentToTheByte) {
  const auto& [name, precompute] = GetParam();
  Json workload = {{"name", name}};
  if (name == "amlsim-20k") workload["window"] = "15";  // fewer and fuller steps, as in law3_test.cpp
  for (const std::string& partitioner : PartitionerRegistry::instance().names()) {
    for (const int ranks : test::is_long() ? std::vector<int>{4, 7} : std::vector<int>{2, 3}) {
      const Json request = {{"workload", workload},
                            {"model", {{"name", "tm-gcn"}, {"precompute", precompute}}},
                            {"strategy", {{"name", "vertex"}, {"partitioner", partitioner}}},
                            {"ranks", ranks},
                            {"epochs", 1},
                            {"warmup", 0},
                            {"precision", "fp64"}};
      expect_one_volume(request, name + " " + partitioner + " at " + std::to_string(ranks) + " ranks");
    }
  }
}

using VolumeCase = std::tuple<std::string, bool>;
auto cut_sets() {
  return testing::Values(VolumeCase("amlsim-20k", false), VolumeCase("ucsocial", false), VolumeCase("ucsocial", true));
}

std::string cut_set_name(const testing::TestParamInfo<VolumeCase>& parameter) {
  return std::string(std::get<0>(parameter.param) == "ucsocial" ? "ucsocial" : "amlsim") +
         (std::get<1>(parameter.param) ? "_precomputed" : "_both_layers");
}

INSTANTIATE_TEST_SUITE_P(Bundled, PartitionVolume, cut_sets(), cut_set_name);
INSTANTIATE_TEST_SUITE_P(Long, PartitionVolume, cut_sets(), cut_set_name);

TEST(PartitionVolume, HypergraphSendsLeast) {
  if (!PartitionerRegistry::instance().contains("hypergraph")) GTEST_SKIP() << "built without Zoltan";
  const Json request = {{"workload", {{"name", "ucsocial"}}}, {"model", {{"name", "tm-gcn"}}}, {"ranks", 4}};
  const auto cut = [&](const std::string& partitioner) {
    Json partitioned = request;
    partitioned["strategy"] = {{"name", "vertex"}, {"partitioner", partitioner}};
    return plan_case(case_from_json(partitioned, "")).at("connectivity_minus_one").get<std::int64_t>();
  };
  const std::int64_t least = cut("hypergraph");
  for (const std::string& other : PartitionerRegistry::instance().names()) EXPECT_LE(least, cut(other)) << other;
}

TEST(PartitionVolume, WholeSnapshotsCutNothing) {
  const Json request = {{"workload", {{"name", "ucsocial"}}}, {"strategy", {{"name", "snapshot"}}}, {"ranks", 3}};
  EXPECT_EQ(plan_case(case_from_json(request, "")).at("connectivity_minus_one"), 0);
}

}  // namespace
}  // namespace strobe
