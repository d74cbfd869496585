// Hybrid batches on device cuda: every model, with every averaging, gives the curve of device cpu in fp64 to 1e-10.
#include <gtest/gtest.h>

#include "core/registry_names.hpp"
#include "models/snapshots/model.hpp"
#include "tests/cuda/gpu.hpp"
#include "tests/harness/hybrid_batches/hybrid_runs.hpp"

namespace strobe {
namespace {

TEST(CudaHybridBatches, EveryModelGivesTheCurveOfTheCpu) {
  if (const std::string reason = why_no_gpu(); !reason.empty()) GTEST_SKIP() << reason;
  const test::RandomEvents events(7, 30, 300);
  for (const std::string& model : names_with<ModelTag>(&ModelTag::Value::family, "snapshots")) {
    for (const char* averaging : {"sync", "async"}) {
      Json strategy = {{"name", "hybrid_batch"}, {"vertices", "40%"}, {"snapshots", "60%"}, {"reservoir", false}};
      strategy["averaging"] = averaging, strategy["interval"] = "2", strategy["average"] = "moments";
      Json request = test::hybrid_case(events.workload(5), model, strategy, 2);
      const CaseResult judge = test::run(request);
      ASSERT_EQ(judge.status, "ok") << model << judge.reason;
      for (const char* device : {"cuda", "cuda-graphs"}) {
        request["device"] = device;
        const CaseResult result = test::run(request);
        ASSERT_EQ(result.status, "ok") << model << result.reason;
        for (std::size_t e = 0; e < judge.loss.per_epoch.size(); ++e)
          EXPECT_NEAR(result.loss.per_epoch[e] / judge.loss.per_epoch[e], 1, 1e-10) << device << model << averaging;
      }
    }
  }
}

}  // namespace
}  // namespace strobe
