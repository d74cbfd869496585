// Law 3 over communicator nccl, on the emulations of CUDA and NCCL: every exact strategy gives the curve of the
// sequential run on device cpu, in fp64 to 1e-10. The strategies' exchanges are groups of NCCL's calls here, and device
// memory is out of the host's reach.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/placement/strategy.hpp"
#include "harness/request/case.hpp"
#include "harness/run/run_case.hpp"
#include "tests/full_batch_strategies.hpp"

namespace strobe {
namespace {

constexpr int epochs = 3;

CaseResult run(const std::string& model, const std::string& device, const std::string& comm,
               const std::string& strategy, int ranks) {
  Json request = {{"workload", {{"name", "uniform"}, {"vertices", 26}, {"steps", 8}, {"density", 3}}},
                  {"model", {{"name", model}}},
                  {"epochs", epochs - 1},
                  {"warmup", 1},
                  {"precision", "fp64"},
                  {"device", device},
                  {"comm", comm},
                  {"ranks", ranks}};
  request["strategy"]["name"] = strategy;
  CaseResult result = run_case(case_from_json(request, ""));
  EXPECT_EQ(result.status, "ok") << strategy << " at " << ranks << " ranks: " << result.reason;
  return result;
}

class NcclLaw3 : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Models, NcclLaw3, testing::Values("tm-gcn", "cd-gcn", "evolve-gcn-o"), [](const auto& model) {
  std::string name = model.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST_P(NcclLaw3, EveryStrategyGivesTheCurveOfTheCpu) {
  const CaseResult judge = run(GetParam(), "cpu", "local", "sequential", 1);
  ASSERT_EQ(judge.loss.per_epoch.size(), static_cast<std::size_t>(epochs));
  EXPECT_LT(judge.loss.per_epoch.back(), judge.loss.per_epoch.front()) << "nothing was learnt";
  int compared = 0;
  for (const std::string& strategy : test::full_batch_strategies()) {
    for (const int ranks : {1, 3}) {
      if (strategy == "sequential" && ranks > 1) continue;
      for (const std::string device : {"cuda", "cuda-graphs"}) {
        const CaseResult result = run(GetParam(), device, "nccl", strategy, ranks);
        if (!result.exact) break;  // an approximation says so in its rows
        ASSERT_EQ(result.loss.per_epoch.size(), judge.loss.per_epoch.size());
        for (std::size_t e = 0; e < judge.loss.per_epoch.size(); ++e) {
          EXPECT_NEAR(result.loss.per_epoch[e] / judge.loss.per_epoch[e], 1.0, 1e-10)
              << device << ", " << strategy << " at " << ranks << " ranks, epoch " << e;
        }
        ++compared;
      }
    }
  }
  EXPECT_GE(compared, 10);
}

/// A case that cannot run becomes a row, and does not affect the next case.
TEST(NcclRuns, ARankOutOfMemoryIsARowAndTheNextCaseGoesOn) {
  Json request = {{"workload", {{"name", "uniform"}, {"vertices", 500}, {"steps", 8}, {"density", 3}}},
                  {"strategy", {{"name", "snapshot"}}},
                  {"device", "cuda"},
                  {"comm", "nccl"},
                  {"ranks", 2},
                  {"memory_limit_gib", 1e-5}};
  const CaseResult starved = run_case(case_from_json(request, ""));
  EXPECT_NE(starved.status, "ok");
  EXPECT_NE(starved.reason.find("out of memory"), std::string::npos) << starved.status << ": " << starved.reason;
  request.erase("memory_limit_gib");
  EXPECT_EQ(run_case(case_from_json(request, "")).status, "ok");
}

}  // namespace
}  // namespace strobe
