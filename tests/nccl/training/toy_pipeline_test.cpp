// The toy pipeline over communicator nccl, on both emulations, with helpers and groups of ranks on GPUs.
#include "tests/harness/training/toy_pipeline.hpp"

#include <gtest/gtest.h>

#include "harness/run/run_case.hpp"

namespace strobe {
namespace {

TEST(ToyPipelineOnNccl, RunsToTheBitsOfAPlainLoop) {
  for (const int ranks : {1, 2, 4}) {
    const CaseResult result = run_case(toy_pipeline::case_of(ranks, {{"device", "cuda"}, {"comm", "nccl"}}));
    ASSERT_EQ(result.status, "ok") << result.reason;
    const toy_pipeline::Reference reference(ranks, 4);
    for (std::size_t e = 0; e < 4; ++e) EXPECT_EQ(result.loss.per_epoch.at(e), reference.weights[e][0]);
  }
}

}  // namespace
}  // namespace strobe
