// Tables by numbers of GPUs, compared with the simulation of every combination, and the counts that --gpus names.
#include "harness/advisor/gpu_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "core/random.hpp"
#include "harness/advisor/gpu_counts.hpp"
#include "harness/advisor/plan_places.hpp"
#include "harness/advisor/plan_search.hpp"
#include "tests/harness/advisor/simulations.hpp"

namespace strobe {
namespace {

PlanSpace space_of_counts(std::uint64_t seed) {
  const RandomStream random(seed, random_purpose::partition, 61);
  PlanSpace space;
  space.settings = {{"workload", "uniform", "--workload"},
                    {"workload.steps", std::to_string(6 + random.below(0, 10)), "--workload steps"},
                    {"workload.vertices", std::to_string(50 + random.below(1, 900)), "--workload vertices"},
                    {"workload.density", random.below(2, 2) == 0 ? "3" : "12", "--workload density"},
                    {"model", random.below(3, 2) == 0 ? "t-gcn" : "tm-gcn", "--model"},
                    {"model.hidden", random.below(4, 2) == 0 ? "6" : "40", "--model"}};
  if (random.below(5, 2) == 1) space.settings.push_back({"memory_limit_gib", "0.002", "--set"});
  space.clusters = {"aimos-v100", "p5-h100"};
  space.gpus = {1, 2, 8, 16};
  space.strategies = {{"sequential", {}}, {"snapshot", {}}, {"vertex", {{"partitioner", "hash"}}}};
  space.knobs = {{"nb", {"1", "2"}, "--vary nb"}};
  return space;
}

/// The least of a quantity among possible points of one cluster and number of GPUs.
double least_at(const std::vector<PlanOutcome>& outcomes, const std::string& cluster, std::int64_t ranks,
                PlanGoal goal) {
  double least = std::numeric_limits<double>::infinity();
  for (const PlanOutcome& o : outcomes) {
    if (o.status != "ok" || o.point.cluster != cluster || o.point.request.ranks != ranks) continue;
    const double cost = o.dollars.value_or(std::numeric_limits<double>::infinity());
    least = std::min(least, goal == PlanGoal::time ? o.job_seconds : cost);
  }
  return least;
}

TEST(GpuTables, EachRowIsTheBestOfAllCombinationsAtItsPlace) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const std::vector<PlanPoint> points = plan_points(space_of_counts(seed));
    test::Simulations simulations;
    const std::vector<PlanOutcome> every = simulations(all_combinations(points));
    for (const PlanGoal goal : {PlanGoal::time, PlanGoal::dollars}) {
      SearchRules rules;
      rules.goal = goal;
      rules.each_place = true;
      const SearchResult found = search_settings(points, rules, std::ref(simulations));
      EXPECT_LT(found.outcomes.size(), every.size()) << "the search leaves some out";
      EXPECT_EQ(simulations.size(), every.size()) << "it asks for nothing else";
      const std::vector<GpuTable> tables = gpu_tables(found.outcomes, {}, goal);
      ASSERT_EQ(tables.size(), 2u);
      for (const GpuTable& table : tables) {
        ASSERT_EQ(table.rows.size(), 4u);
        EXPECT_FALSE(table.why.empty());
        double base = 0;
        for (const GpuRow& row : table.rows) {
          const double least = least_at(every, table.cluster, row.ranks, goal);
          ASSERT_EQ(row.best.has_value(), least_at(every, table.cluster, row.ranks, PlanGoal::time) < 1e300);
          if (!row.best) continue;
          const PlanOutcome& own = found.outcomes[*row.best];
          const double value = goal == PlanGoal::time ? own.job_seconds : own.dollars.value_or(least);
          EXPECT_EQ(value, least) << table.cluster << " with " << row.ranks << ", seed " << seed;
          EXPECT_EQ(row.nodes, std::max<std::int64_t>(1, row.ranks / 8));
          if (base == 0) base = own.epoch_seconds * static_cast<double>(row.ranks);
          EXPECT_NEAR(row.efficiency, base / (own.epoch_seconds * static_cast<double>(row.ranks)), 1e-12);
        }
      }
    }
  }
}

TEST(GpuTables, ARowWithoutAPointSaysWhyAndEfficienciesBeginAtTheFirstThatHasOne) {
  std::vector<PlanOutcome> outcomes(3);
  for (std::size_t i = 0; i < 3; ++i) {
    outcomes[i].point.id = std::to_string(i);
    outcomes[i].point.request.ranks = std::int64_t{1} << i;
    outcomes[i].point.request.strategy = {{"name", "vertex"}};
    outcomes[i].point.request.model = {{"name", "t-gcn"}};
    outcomes[i].epoch_seconds = outcomes[i].job_seconds = 4.0 / static_cast<double>(i + 1);
  }
  outcomes[0].status = "out_of_memory", outcomes[0].reason = "rank 0 needs more";
  outcomes[1].job_seconds = 100;
  PlanLimits limits;
  limits.deadline_seconds = 50;
  const GpuTable table = gpu_tables(outcomes, limits, PlanGoal::time).front();
  EXPECT_EQ(table.rows[0].refusal, "out_of_memory: rank 0 needs more");
  EXPECT_NE(table.rows[1].refusal.find("over_deadline: "), std::string::npos);
  EXPECT_EQ(table.rows[2].efficiency, 1);
  EXPECT_EQ(table.against, "4 GPUs (vertex)");
  EXPECT_EQ(table.why, "only one number of GPUs has a point within the limits");
}

TEST(GpuCounts, AreListsAndRangesOfWholeNodesOrPartsOfOne) {
  const auto counts = [](const std::string& text) { return gpu_counts(text, {"p4d-a100"}); };
  EXPECT_EQ(counts("16,8,32"), (std::vector<int>{8, 16, 32}));
  EXPECT_EQ(counts("1-4"), (std::vector<int>{1, 2, 3, 4}));
  EXPECT_EQ(counts("6..33"), (std::vector<int>{6, 7, 8, 16, 24, 32}));
  EXPECT_EQ(counts("2,8..24,128"), (std::vector<int>{2, 8, 16, 24, 128}));
  const std::vector<int> whole = counts("8..400");
  ASSERT_EQ(whole.size(), 50u);
  for (const int count : whole) EXPECT_EQ(count % 8, 0);
}

TEST(GpuCounts, ThatDoNotDivideAreRefusedWithTheNearestThatDo) {
  for (int gpus = 9; gpus < 200; ++gpus) {
    if (gpus % 8 == 0) continue;
    try {
      gpu_counts(std::to_string(gpus), {"p4d-a100"});
      FAIL() << gpus;
    } catch (const InvalidRequest& error) {
      EXPECT_EQ(error.where(), "--gpus");
      const std::string nearest = std::to_string(gpus / 8 * 8) + " and " + std::to_string(gpus / 8 * 8 + 8);
      EXPECT_NE(error.message().find(nearest), std::string::npos) << error.message();
    }
  }
}

TEST(GpuCounts, WrongTextsAndGpusThatAClusterCannotHaveAreRefused) {
  for (const char* text : {"", "0", "-8", "8,x", "8.5", "16..8", "9..15", "1e9", "8,,12"})
    EXPECT_THROW(gpu_counts(text, {"p4d-a100"}), InvalidRequest) << text;
  EXPECT_THROW(gpu_counts("3000000", {}), InvalidRequest);
}

}  // namespace
}  // namespace strobe
