// One epoch warms the memory of a case: what it took from the system serves all later ones, under every strategy and
// at any number of ranks. Were it not so, epochs after the warm-up would count page faults.
#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "backends/cpu/host_pool.hpp"
#include "core/registry.hpp"
#include "harness/case.hpp"
#include "harness/strategy.hpp"

namespace strobe {
namespace {

std::uint64_t fresh_blocks_of(Json request, int epochs) {
  request["epochs"] = epochs;
  HostPool::trim_all();
  const std::uint64_t before = HostPool::fresh_blocks();
  const CaseResult result = run_case(case_from_json(request, ""));
  EXPECT_EQ(result.status, "ok") << result.reason;
  return HostPool::fresh_blocks() - before;
}

TEST(WarmMemory, EpochsAfterTheFirstTakeNothingFromTheSystem) {
  for (const std::string& strategy : StrategyRegistry::instance().names()) {
    for (const std::string model : {"tm-gcn", "cd-gcn", "evolve-gcn-o"}) {
      for (const int ranks : {1, 2, 3}) {
        if (strategy == "sequential" && ranks > 1) continue;
        const Json request = {{"workload", {{"name", "uniform"}, {"vertices", 20000}, {"steps", 7}, {"density", 2}}},
                              {"model", model},
                              {"strategy", strategy},
                              {"ranks", ranks},
                              {"warmup", 0}};
        const std::uint64_t first = fresh_blocks_of(request, 1);
        EXPECT_GT(first, 0u);
        EXPECT_EQ(fresh_blocks_of(request, 4), first) << strategy << " " << model << " at " << ranks;
      }
    }
  }
}

}  // namespace
}  // namespace strobe
