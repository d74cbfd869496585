// Snapshot groups: owners of cells, rows that a redistribution moves, and exact training with fewer steps than ranks
// and scattered lanes. law3_test.cpp tests the default parameters with all strategies.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/full_batch/exchange/exchange_plan.hpp"
#include "harness/placement/strategy.hpp"
#include "harness/run/run_case.hpp"
#include "harness/schedule/planned_case.hpp"
#include "workloads/partitioners/partitioner.hpp"

namespace strobe {
namespace {

PreparedGraph edgeless(std::int64_t vertices, std::int64_t steps) {
  PreparedGraph graph;
  graph.vertices = vertices;
  graph.steps = steps;
  graph.row_offsets.assign(static_cast<std::size_t>(vertices * steps) + 1, 0);
  return graph;
}

StrategyPlan plan_groups(const PreparedGraph& graph, int ranks, const Json& parameters,
                         const std::vector<Run>& blocks) {
  const auto& strategy = StrategyRegistry::instance().find("snapshot_groups");
  return strategy.value({graph, ranks, 1, blocks}, strategy.parameters.complete(parameters, "/strategy"));
}

/// Rows that a redistribution from the spatial to the temporal stages moves.
std::int64_t moved_rows(const StrategyPlan& plan) {
  return redistribute(plan.spatial, plan.temporal, {ListScope::Kind::none, 0}).total_rows();
}

TEST(SnapshotGroups, StepsGoToGroupsAndVerticesToLanes) {
  const PreparedGraph graph = edgeless(8, 6);
  const StrategyPlan plan = plan_groups(graph, 4, {{"group_size", 2}}, even_blocks(6, 1));
  for (Step t = 0; t < 6; ++t) {
    for (VertexId v = 0; v < 8; ++v) {
      EXPECT_EQ(plan.spatial.owner(v, t), (t < 3 ? 0 : 2) + (v < 4 ? 0 : 1)) << "cell " << v << ", " << t;
    }
  }
  const std::vector<Rank> timelines = {0, 0, 2, 2, 1, 1, 3, 3};  // the two groups' ranks of a lane share it
  EXPECT_EQ(plan.temporal.map(0).owner, timelines);
  EXPECT_TRUE(plan.temporal.keeps_timelines());
}

TEST(SnapshotGroups, EachBlockIsDividedAmongAllGroups) {
  const StrategyPlan plan = plan_groups(edgeless(8, 8), 4, {{"group_size", 2}}, even_blocks(8, 2));
  for (Step t = 0; t < 8; ++t) EXPECT_EQ(plan.spatial.owner(0, t), t % 4 < 2 ? 0 : 2) << "step " << t;
  EXPECT_EQ(plan.blocks.size(), 2u);
}

TEST(SnapshotGroups, LanesMoveLessThanRanges) {
  // Sizes divide evenly, so the fractions of the N T rows are exact: (G - 1) / G with lanes, (P - 1) / P with P ranges.
  const std::int64_t vertices = 48, steps = 12, cells = vertices * steps;
  const PreparedGraph graph = edgeless(vertices, steps);
  for (const int size : {1, 2, 3, 4, 6, 12}) {
    const int ranks = 12, groups = ranks / size;
    const auto moved = [&](const std::string& temporal, const std::string& partitioner) {
      return moved_rows(plan_groups(graph, ranks,
                                    {{"group_size", size}, {"temporal", temporal}, {"partitioner", partitioner}},
                                    even_blocks(steps, 1)));
    };
    EXPECT_EQ(moved("lanes", "range") * groups, cells * (groups - 1)) << "groups of " << size;
    EXPECT_EQ(moved("lanes", "hash") * groups, cells * (groups - 1)) << "groups of " << size;
    EXPECT_GE(moved("ranges", "range"), moved("lanes", "range")) << "groups of " << size;
  }
}

TEST(SnapshotGroups, ExtremesAreSnapshotAndVertexPartitioning) {
  const PreparedGraph graph = edgeless(10, 9);
  const StrategyInput input{graph, 3, 1, even_blocks(9, 1)};
  const StrategyPlan snapshot = StrategyRegistry::instance().find("snapshot").value(input, Json::object());
  const StrategyPlan singles = plan_groups(graph, 3, {{"group_size", 1}}, even_blocks(9, 1));
  const StrategyPlan one_group = plan_groups(graph, 3, {{"group_size", 3}}, even_blocks(9, 1));
  for (Step t = 0; t < 9; ++t) {
    for (VertexId v = 0; v < 10; ++v) {
      EXPECT_EQ(singles.spatial.owner(v, t), snapshot.spatial.owner(v, t));
      EXPECT_EQ(singles.temporal.owner(v, t), snapshot.temporal.owner(v, t));
      EXPECT_EQ(one_group.spatial.owner(v, t), contiguous_owners(10, 3)[v]);
    }
  }
  EXPECT_EQ(moved_rows(one_group), 0);
}

TEST(SnapshotGroups, DefaultSizeIsTheSmallestThatFitsTheSteps) {
  const auto groups_of = [](std::int64_t steps, int ranks) {
    return plan_groups(edgeless(64, steps), ranks, Json::object(), even_blocks(steps, 1)).spatial.maps.size();
  };
  EXPECT_EQ(groups_of(10, 1), 1u);
  EXPECT_EQ(groups_of(10, 8), 4u);
  EXPECT_EQ(groups_of(3, 8), 2u);  // 4 groups would leave one without a step, and 3 does not divide 8
  EXPECT_EQ(groups_of(1, 8), 1u);
  EXPECT_EQ(groups_of(10, 9), 3u);
  EXPECT_EQ(groups_of(10, 7), 1u);
}

TEST(SnapshotGroups, ImpossibleSizesAreRefused) {
  const PreparedGraph graph = edgeless(64, 3);
  EXPECT_THROW(plan_groups(graph, 4, {{"group_size", 3}}, even_blocks(3, 1)), InvalidRequest);
  EXPECT_THROW(plan_groups(graph, 4, {{"group_size", 8}}, even_blocks(3, 1)), InvalidRequest);
  EXPECT_THROW(plan_groups(graph, 8, {{"group_size", 2}}, even_blocks(3, 1)), InvalidRequest) << "4 groups, 3 steps";
  EXPECT_THROW(plan_groups(graph, 4, {{"partitioner", "none"}}, even_blocks(3, 1)), InvalidRequest);
  EXPECT_THROW(plan_groups(edgeless(3, 3), 4, Json::object(), even_blocks(3, 1)), InvalidRequest);
}

/// A request with fewer steps than ranks.
Json few_steps(const std::string& model) {
  return {{"workload", {{"name", "uniform"}, {"vertices", 40}, {"steps", 4}, {"density", 3}}},
          {"model", {{"name", model}}},
          {"epochs", 2},
          {"precision", "fp64"}};
}

TEST(SnapshotGroups, AreExactWithFewerStepsThanRanks) {
  for (const std::string model : {"tm-gcn", "cd-gcn"}) {
    const CaseResult sequential = run_case(case_from_json(few_steps(model), ""));
    ASSERT_EQ(sequential.status, "ok") << sequential.reason;
    for (const std::string& partitioner : PartitionerRegistry::instance().names()) {
      for (const std::string temporal : {"lanes", "ranges"}) {
        Json request = few_steps(model);  // trains on 3 steps
        request["ranks"] = 6;
        request["strategy"] = {{"name", "snapshot_groups"}, {"partitioner", partitioner}, {"temporal", temporal}};
        const CaseResult result = run_case(case_from_json(request, ""));
        ASSERT_EQ(result.status, "ok") << result.reason;
        ASSERT_EQ(result.loss.per_epoch.size(), sequential.loss.per_epoch.size());
        EXPECT_NEAR(result.loss.per_epoch.back() / sequential.loss.per_epoch.back(), 1.0, 1e-10)
            << model << " " << partitioner << " " << temporal;
      }
    }
  }
}

TEST(SnapshotGroups, PlanNamesItsHaloAndItsRedistribution) {
  Json request = few_steps("tm-gcn");
  request["ranks"] = 6;
  request["strategy"] = {{"name", "snapshot_groups"}};
  const Json plan = plan_case(case_from_json(request, ""));
  EXPECT_EQ(plan.at("spatial_placement").at("kind"), "by time and vertex");
  EXPECT_GT(plan.at("connectivity_minus_one").get<std::int64_t>(), 0);
  const Json& bytes = plan.at("planned_bytes_per_epoch");
  EXPECT_GT(bytes.at("halo").get<std::uint64_t>(), 0u);
  // 3 steps of 40 vertices in 3 groups of 2, with one pair of redistributions of 6 values, forward and backward.
  EXPECT_EQ(bytes.at("redistribute").get<std::uint64_t>(), 2u * 2u * 3u * 40u * 6u * 8u * 2u / 3u);
}

}  // namespace
}  // namespace strobe
