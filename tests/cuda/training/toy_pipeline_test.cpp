// The toy pipeline on device cuda: with a helper, two groups and two batches ahead, it gives the bits of a plain loop.
#include "tests/harness/training/toy_pipeline.hpp"

#include <gtest/gtest.h>

#include "harness/run/run_case.hpp"
#include "tests/cuda/gpu.hpp"

namespace strobe {
namespace {

TEST(ToyPipelineOnCuda, RunsToTheBitsOfAPlainLoop) {
  if (!why_no_gpu().empty()) GTEST_SKIP() << why_no_gpu();
  for (const char* device : {"cuda", "cuda-graphs"}) {
    for (const int ranks : {1, 2, 3}) {
      const CaseResult result = run_case(toy_pipeline::case_of(ranks, {{"device", device}}));
      ASSERT_EQ(result.status, "ok") << result.reason;
      const toy_pipeline::Reference reference(ranks, 4);
      for (std::size_t e = 0; e < 4; ++e) EXPECT_EQ(result.loss.per_epoch.at(e), reference.weights[e][0]) << device;
    }
  }
}

}  // namespace
}  // namespace strobe
