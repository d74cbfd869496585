// The cost model of adjuster `cost`, from the described cluster, compared with simulated runs of each size.
#include "harness/hybrid_batches/update_cost.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/harness/hybrid_batches/hybrid_runs.hpp"
#include "tests/workloads/support.hpp"

namespace strobe {
namespace {

using test::hybrid_case;
using test::RandomEvents;
using test::run;

Json cost_case(const RandomEvents& events, const std::string& cluster, int ranks) {
  Json strategy = {{"name", "hybrid_batch"}, {"adjuster", "cost"}, {"generator", "inline"}, {"reservoir", false}};
  strategy["vertex_sizes"] = strategy["snapshot_sizes"] = "10%/50%";
  Json request = hybrid_case(events.workload(8), "t-gcn", strategy, ranks, 12);
  request["device"] = "sim", request["cluster"] = cluster;
  return request;
}

std::vector<double> costs_of(const Json& request) {
  return plan_hybrid(case_from_json(request, ""), PlanUse::run)->update_seconds;
}

TEST(UpdateCost, IsWhatASimulatedUpdateOfThatSizeComputesAndSends) {
  const RandomEvents events(4, 200, 4000);
  // On a slow accelerator the time of launches does not hide the cost of sizes.
  for (const char* cluster :
       {"dynahb-2080ti", "dynahb-2080ti:gpu.flops_fp32_per_second=1e9,gpu.memory_bytes_per_second=1e9"}) {
    const Json request = cost_case(events, cluster, 2);
    const auto plan = plan_hybrid(case_from_json(request, ""), PlanUse::run);
    ASSERT_EQ(plan->update_seconds.size(), 4u);
    for (std::size_t action = 0; action < 4; ++action) {
      Json fixed = request;
      fixed["strategy"]["adjuster"] = "none";
      fixed["strategy"]["vertices"] = plan->actions[action].vertices.text;
      fixed["strategy"]["snapshots"] = plan->actions[action].snapshots.text;
      const CaseResult result = run(fixed);
      ASSERT_EQ(result.status, "ok") << result.reason;
      double seconds = 0, count = 0;
      for (const EpochSample& sample : result.samples) {
        if (sample.epoch < 2) continue;
        const double made = sample.phase_seconds[Phase::host];
        const double waited = sample.phase_seconds[Phase::wait];
        seconds += sample.epoch_seconds - made - waited, ++count;
      }
      EXPECT_NEAR(plan->update_seconds[action], seconds / count, 0.25 * seconds / count) << cluster << " " << action;
    }
  }
}

TEST(UpdateCost, IsOfTheClusterDescribed) {
  const RandomEvents events(5, 200, 4000);
  const std::string base = "dynahb-2080ti";
  const auto plain = costs_of(cost_case(events, base, 2));
  const auto slow =
      costs_of(cost_case(events, base + ":gpu.flops_fp32_per_second=1e8,gpu.flops_fp64_per_second=1e8", 2));
  const auto far = costs_of(cost_case(events, base + ":inter_node_latency_seconds=0.5", 2));
  for (std::size_t action = 0; action < plain.size(); ++action) {
    EXPECT_GT(slow[action], plain[action]);
    EXPECT_NEAR(far[action], plain[action] + 1, 1e-2) << "two steps of a ring of two";
  }
  // When launches or the network dominate, the largest batch is best; otherwise a smaller one may be.
  const auto worth = [](const std::vector<double>& seconds) { return seconds.back() / seconds.front(); };
  EXPECT_GT(worth(slow), 1.2 * worth(far));
}

}  // namespace
}  // namespace strobe
