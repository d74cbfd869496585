// Law 3 on device cuda: every registered model under every registered exact strategy gives the curve of the sequential
// run on device cpu, in fp64 to 1e-10. Ranks are threads that share one GPU, or the emulation. The graph is small,
// because the emulation runs a GPU's threads one after the other. The test shows that every operation of models and
// strategies has a kernel, that the host never reads device memory, and that streams are ordered.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/registry_names.hpp"
#include "harness/placement/strategy.hpp"
#include "harness/request/case.hpp"
#include "harness/run/run_case.hpp"
#include "models/snapshots/model.hpp"
#include "tests/cuda/gpu.hpp"
#include "tests/full_batch_strategies.hpp"

namespace strobe {
namespace {

constexpr int epochs = 3;

Json small_case(const std::string& model) {
  return {{"workload", {{"name", "uniform"}, {"vertices", 26}, {"steps", 8}, {"density", 3}}},
          {"model", {{"name", model}}},
          {"epochs", epochs - 1},
          {"warmup", 1},
          {"optimizer", {{"name", "adam"}, {"rate", 0.01}}},
          {"precision", "fp64"}};
}

CaseResult run(Json request, const std::string& device, const std::string& strategy, int ranks) {
  request["device"] = device;
  request["strategy"]["name"] = strategy;
  request["ranks"] = ranks;
  CaseResult result = run_case(case_from_json(request, ""));
  EXPECT_EQ(result.status, "ok") << strategy << " at " << ranks << " ranks: " << result.reason;
  return result;
}

void expect_same_curve(const CaseResult& a, const CaseResult& b, double tolerance, const std::string& what) {
  ASSERT_EQ(a.loss.per_epoch.size(), static_cast<std::size_t>(epochs)) << what;
  ASSERT_EQ(b.loss.per_epoch.size(), static_cast<std::size_t>(epochs)) << what;
  for (std::size_t e = 0; e < a.loss.per_epoch.size(); ++e) {
    EXPECT_NEAR(a.loss.per_epoch[e] / b.loss.per_epoch[e], 1.0, tolerance) << what << " in epoch " << e;
  }
}

/// Launches one by one, and gathered into graphs.
const std::vector<std::string> devices = {"cuda", "cuda-graphs"};

class CudaLaw3 : public testing::TestWithParam<std::string> {};

TEST_P(CudaLaw3, EveryStrategyGivesTheCurveOfTheCpu) {
  if (const std::string reason = why_no_gpu(); !reason.empty()) GTEST_SKIP() << reason;
  const Json request = small_case(GetParam());
  const CaseResult judge = run(request, "cpu", "sequential", 1);
  ASSERT_EQ(judge.loss.per_epoch.size(), static_cast<std::size_t>(epochs));
  EXPECT_LT(judge.loss.per_epoch.back(), judge.loss.per_epoch.front()) << "nothing was learnt";
  for (const std::string& strategy : test::full_batch_strategies()) {
    for (const int ranks : {1, 3}) {
      if (strategy == "sequential" && ranks > 1) continue;
      for (const std::string& device : devices) {
        const CaseResult result = run(request, device, strategy, ranks);
        if (!result.exact) break;  // an approximation says so in its rows
        expect_same_curve(result, judge, 1e-10, device + "/" + strategy + "/r" + std::to_string(ranks));
      }
    }
  }
}

TEST_P(CudaLaw3, RealEventsGiveTheCurveOfTheCpu) {
  // Vertices come and go, so states fade and whole rows are zero, which no generated graph of this size has.
  if (const std::string reason = why_no_gpu(); !reason.empty()) GTEST_SKIP() << reason;
  Json request = small_case(GetParam());
  request["workload"] = {{"name", "ucsocial"}, {"window", "7d"}};
  expect_same_curve(run(request, "cuda", "sequential", 1), run(request, "cpu", "sequential", 1), 1e-10, "ucsocial");
}

TEST_P(CudaLaw3, CellsThatExistToo) {
  if (const std::string reason = why_no_gpu(); !reason.empty()) GTEST_SKIP() << reason;
  Json request = small_case(GetParam());
  request["workload"] = {{"name", "ucsocial"}, {"window", "14d"}};
  request["presence"] = "active";
  const CaseResult judge = run(request, "cpu", "sequential", 1);
  expect_same_curve(run(request, "cuda", "sequential", 1), judge, 1e-10, "active");
  expect_same_curve(run(request, "cuda", "scattered", 3), judge, 1e-10, "active, scattered");
}

TEST_P(CudaLaw3, BlocksAndDifferencesToo) {
  if (const std::string reason = why_no_gpu(); !reason.empty()) GTEST_SKIP() << reason;
  Json request = small_case(GetParam());
  const CaseResult judge = run(request, "cpu", "sequential", 1);
  request["nb"] = 3;
  for (const std::string transfer : {"direct", "full", "difference"}) {
    request["transfer"] = transfer;
    try {
      for (const std::string& device : devices) {
        expect_same_curve(run(request, device, "sequential", 1), judge, 1e-10, device + ", blocks, " + transfer);
      }
    } catch (const InvalidRequest& refused) {
      // Models whose matrices are not moved snapshot by snapshot say so, on every device.
      EXPECT_NE(transfer, "direct") << refused.what();
      EXPECT_EQ(refused.where(), "/transfer");
    }
  }
}

TEST(CudaRuns, HalosOfInputsGiveTheCurveOfTheCpu) {
  if (const std::string reason = why_no_gpu(); !reason.empty()) GTEST_SKIP() << reason;
  for (const std::string model : {"t-gcn", "evolve-gcn-o"}) {
    Json request = small_case(model);
    const CaseResult judge = run(request, "cpu", "sequential", 1);
    request["strategy"]["halo"] = "inputs";
    for (const std::string& device : devices)
      for (const std::string strategy : {"vertex", "chunk"})
        expect_same_curve(run(request, device, strategy, 3), judge, 1e-10, device + "/" + strategy + "/" + model);
  }
}

TEST_P(CudaLaw3, SinglePrecisionStaysClose) {
  if (const std::string reason = why_no_gpu(); !reason.empty()) GTEST_SKIP() << reason;
  Json request = small_case(GetParam());
  const CaseResult judge = run(request, "cpu", "sequential", 1);
  request["precision"] = "fp32";
  expect_same_curve(run(request, "cuda", "snapshot", 2), judge, 1e-4, "fp32");
}

INSTANTIATE_TEST_SUITE_P(All, CudaLaw3, testing::ValuesIn(names_with<ModelTag>(&ModelTag::Value::family, "snapshots")),
                         [](const auto& parameter) {
                           std::string name = parameter.param;
                           for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
                           return name;
                         });

TEST(CudaRuns, SameSeedSameBits) {
  if (const std::string reason = why_no_gpu(); !reason.empty()) GTEST_SKIP() << reason;
  const Json request = small_case("tm-gcn");
  const std::vector<double> curve = run(request, "cuda", "vertex", 2).loss.per_epoch;
  for (const std::string& device : devices)
    EXPECT_EQ(run(request, device, "vertex", 2).loss.per_epoch, curve) << device;
}

TEST(CudaRuns, PhasesAddUpAndTransfersAreCounted) {
  if (const std::string reason = why_no_gpu(); !reason.empty()) GTEST_SKIP() << reason;
  Json request = small_case("tm-gcn");
  request["nb"] = 2;
  for (const std::string& device : devices) {
    const CaseResult result = run(request, device, "snapshot", 2);
    ASSERT_EQ(result.samples.size(), static_cast<std::size_t>(2 * epochs));
    for (const EpochSample& sample : result.samples) {
      double total = 0;
      for (const double phase : sample.phase_seconds) {
        EXPECT_GE(phase, 0.0);
        total += phase;
      }
      EXPECT_NEAR(total, sample.epoch_seconds, 1e-6);
      EXPECT_GT(sample.peak_device_bytes, 0u);
      EXPECT_GT(sample.transfer_bytes, 0u);
    }
  }
}

}  // namespace
}  // namespace strobe
