// Hybrid batches over communicator nccl, on the emulations of CUDA and NCCL: the curve of device cpu in fp64 to 1e-10.
#include <gtest/gtest.h>

#include "tests/harness/hybrid_batches/hybrid_runs.hpp"

namespace strobe {
namespace {

TEST(NcclHybridBatches, GiveTheCurveOfTheCpu) {
  const test::RandomEvents events(8, 30, 300);
  for (const char* averaging : {"sync", "async", "never"}) {
    Json strategy = {{"name", "hybrid_batch"}, {"vertices", "40%"}, {"snapshots", "60%"}, {"generator", "inline"}};
    strategy["averaging"] = averaging, strategy["interval"] = "2";
    Json request = test::hybrid_case(events.workload(5), "t-gcn", strategy, 3);
    const CaseResult judge = test::run(request);
    ASSERT_EQ(judge.status, "ok") << judge.reason;
    request["device"] = "cuda", request["comm"] = "nccl";
    const CaseResult result = test::run(request);
    ASSERT_EQ(result.status, "ok") << result.reason;
    for (std::size_t e = 0; e < judge.loss.per_epoch.size(); ++e)
      EXPECT_NEAR(result.loss.per_epoch[e] / judge.loss.per_epoch[e], 1, 1e-10) << averaging;
  }
}

}  // namespace
}  // namespace strobe
