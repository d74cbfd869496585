// Chunks walked one by one and fused on device cuda: every fusion gives the curve of the sequential run on device cpu.
// Its stages load and pad the same rows as on device cpu.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "harness/request/case.hpp"
#include "harness/run/run_case.hpp"
#include "tests/cuda/gpu.hpp"

namespace strobe {
namespace {

CaseResult fusion_run(const std::string& model, const std::string& device, const Json& strategy, int ranks,
                      std::int64_t blocks = 1) {
  const Json request{{"workload", {{"name", "uniform"}, {"vertices", 23}, {"steps", 7}, {"density", 3}}},
                     {"model", {{"name", model}}},
                     {"strategy", strategy},
                     {"device", device},
                     {"ranks", ranks},
                     {"nb", blocks},
                     {"epochs", 2},
                     {"warmup", 1},
                     {"optimizer", {{"name", "sgd"}, {"rate", 0.1}}},
                     {"precision", "fp64"}};
  CaseResult result = run_case(case_from_json(request, ""));
  EXPECT_EQ(result.status, "ok") << request.dump() << ": " << result.reason;
  return result;
}

class CudaFusion : public testing::TestWithParam<std::string> {};

TEST_P(CudaFusion, GivesTheCurveOfTheCpu) {
  if (const std::string reason = why_no_gpu(); !reason.empty()) GTEST_SKIP() << reason;
  const CaseResult judge = fusion_run(GetParam(), "cpu", {{"name", "sequential"}}, 1);
  for (const char* fusion : {"none", "spatial", "temporal", "both"}) {
    const Json strategy{{"name", "chunk"}, {"max_cells", "15"}, {"fusion", fusion}};
    const CaseResult on_cpu = fusion_run(GetParam(), "cpu", strategy, 2);
    for (const char* device : {"cuda", "cuda-graphs"}) {
      const CaseResult result = fusion_run(GetParam(), device, strategy, 2);
      ASSERT_EQ(result.loss.per_epoch.size(), judge.loss.per_epoch.size());
      for (std::size_t e = 0; e < judge.loss.per_epoch.size(); ++e)
        EXPECT_NEAR(result.loss.per_epoch[e] / judge.loss.per_epoch[e], 1.0, 1e-10) << device << " " << fusion;
      ASSERT_EQ(result.samples.size(), on_cpu.samples.size());
      for (std::size_t i = 0; i < result.samples.size(); ++i) {
        const StageRows &here = result.samples[i].stage_rows, &there = on_cpu.samples[i].stage_rows;
        EXPECT_EQ(here.loaded_bytes, there.loaded_bytes) << device << " " << fusion;
        EXPECT_EQ(here.filled_rows, there.filled_rows) << device << " " << fusion;
      }
    }
  }
}

TEST_P(CudaFusion, MergesByWhatTheDeviceMeasures) {
  if (const std::string reason = why_no_gpu(); !reason.empty()) GTEST_SKIP() << reason;
  const CaseResult judge = fusion_run(GetParam(), "cpu", {{"name", "sequential"}}, 1);
  Json strategy{{"name", "chunk"}, {"max_cells", "15"}, {"fusion_gib", 40.0 / (1024 * 1024)}};
  for (const char* device : {"cuda", "cuda-graphs"}) {
    strategy["fusion_memory"] = "planned";
    const CaseResult planned = fusion_run(GetParam(), device, strategy, 2);
    strategy["fusion_memory"] = "measured";
    const CaseResult measured = fusion_run(GetParam(), device, strategy, 2);
    const auto units_of = [](const CaseResult& result) {
      const auto units = result.facts.get<std::vector<std::int64_t>>("fusion_units");
      return std::accumulate(units.begin(), units.end(), std::int64_t{0});
    };
    EXPECT_GT(units_of(measured), units_of(planned)) << device;
    ASSERT_EQ(measured.loss.per_epoch.size(), judge.loss.per_epoch.size());
    for (std::size_t e = 0; e < judge.loss.per_epoch.size(); ++e)
      EXPECT_NEAR(measured.loss.per_epoch[e] / judge.loss.per_epoch[e], 1.0, 1e-10) << device;
  }
}

/// Units of blocks, whose spatial stages the backward pass computes again or not.
TEST_P(CudaFusion, HoldsInBlocksOfSteps) {
  if (const std::string reason = why_no_gpu(); !reason.empty()) GTEST_SKIP() << reason;
  const CaseResult judge = fusion_run(GetParam(), "cpu", {{"name", "sequential"}}, 1);
  for (const char* fusion : {"none", "both"}) {
    for (const bool rerun : {false, true}) {
      const Json strategy{{"name", "chunk"},
                          {"max_cells", "15"},
                          {"fusion", fusion},
                          {"fusion_gib", 1.5 / (1024 * 1024)},
                          {"rerun_units", rerun}};
      const CaseResult on_cpu = fusion_run(GetParam(), "cpu", strategy, 2, 2);
      const auto units = on_cpu.facts.get<std::vector<std::int64_t>>("fusion_units");
      EXPECT_GT(*std::max_element(units.begin(), units.end()), 1);
      for (const char* device : {"cuda", "cuda-graphs"}) {
        const CaseResult result = fusion_run(GetParam(), device, strategy, 2, 2);
        for (std::size_t e = 0; e < judge.loss.per_epoch.size(); ++e)
          EXPECT_NEAR(result.loss.per_epoch.at(e) / judge.loss.per_epoch[e], 1.0, 1e-10) << device << " " << fusion;
        for (std::size_t i = 0; i < on_cpu.samples.size(); ++i)
          EXPECT_EQ(result.samples.at(i).stage_rows.loaded_bytes, on_cpu.samples[i].stage_rows.loaded_bytes) << device;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, CudaFusion,
                         testing::Values("t-gcn", "mpnn-lstm", "dysat", "tm-gcn", "evolve-gcn-o", "evolve-gcn-h"),
                         [](const auto& parameter) {
                           std::string name = parameter.param;
                           for (char& letter : name) letter = letter == '-' ? '_' : letter;
                           return name;
                         });

}  // namespace
}  // namespace strobe
