// Planned peaks of memory come from a rehearsal of one rank without values. They are tested under every strategy, on
// ranks that are threads and therefore move rows in pieces.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
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

/// TM-GCN on Amazon's shape, on 16 simulated GPUs.
Json on_a_gpu_of(const std::string& bytes, const std::string& blocks) {
  return {{"workload", "amazon"},
          {"model", {{"name", "tm-gcn"}, {"hidden", 128}, {"output", 128}}},
          {"strategy", {{"name", "vertex"}, {"partitioner", "hash"}}},
          {"ranks", 16},
          {"device", "sim"},
          {"cluster", "p3dn-v100:gpu.memory_bytes=" + bytes},
          {"nb", blocks},
          {"epochs", 1}};
}

TEST(PlannedPeak, OfASimulatedGpuChoosesTheFewestBlocksThatFit) {
  const CaseResult chosen = run_case(case_from_json(on_a_gpu_of("1.2e10", "auto"), ""));
  ASSERT_EQ(chosen.status, "ok") << chosen.reason;
  int fits = 0;
  for (int blocks = 1; fits == 0 && blocks < 8; ++blocks) {
    const CaseResult fixed = run_case(case_from_json(on_a_gpu_of("1.2e10", std::to_string(blocks)), ""));
    if (fixed.status == "ok") fits = blocks;
  }
  EXPECT_GT(fits, 1) << "one block is too large";
  const std::string note = "nb=auto chose " + std::to_string(fits) + " blocks";
  EXPECT_TRUE(std::any_of(chosen.notes.begin(), chosen.notes.end(), [&](const std::string& said) {
    return said.find(note) == 0;
  })) << note;
  try {
    run_case(case_from_json(on_a_gpu_of("2e9", "auto"), ""));
    ADD_FAILURE() << "no number of blocks fits";
  } catch (const InvalidRequest& error) {
    EXPECT_EQ(error.where(), "/nb");
    EXPECT_NE(error.message().find("take more ranks"), std::string::npos) << error.message();
  }
}

}  // namespace
}  // namespace strobe
