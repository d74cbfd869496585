// Planned peaks of memory come from a rehearsal of one rank without values. They are tested under every strategy, on
// ranks that are threads and therefore move rows in pieces.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/placement/strategy.hpp"
#include "harness/request/case.hpp"
#include "harness/run/run_case.hpp"
#include "tests/full_batch_strategies.hpp"

namespace strobe {
namespace {

TEST(PlannedPeak, OfEveryStrategyChoosesBlocksThatFit) {
  for (const std::string& strategy : test::full_batch_strategies()) {
    if (strategy == "test-empty-rank") continue;  // other tests register it; it divides blocks among fewer ranks
    const Json request = {{"workload", {{"name", "chess"}, {"window_count", 10}}},
                          {"model", {{"name", "tm-gcn"}}},
                          {"strategy", {{"name", strategy}}},
                          {"ranks", strategy == "sequential" ? 1 : 2},
                          {"nb", "auto"},
                          {"memory_limit_gib", 0.02},
                          {"epochs", 1}};
    const CaseResult result = run_case(case_from_json(request, ""));
    EXPECT_EQ(result.status, "ok") << strategy << ": " << result.reason;
  }
}

}  // namespace
}  // namespace strobe
