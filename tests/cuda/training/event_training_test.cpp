// Training on events on device cuda: every model of events gives the curve of device cpu in fp64 to 1e-10. Memory is on
// the host or the device, and launches are issued one by one or in graphs. Times are short, because a time encoding's
// trained frequencies multiply rounding by them (docs/explanation/event_models.md).
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/registry_names.hpp"
#include "models/events/event_model.hpp"
#include "tests/cuda/gpu.hpp"
#include "tests/harness/event_batches/event_runs.hpp"
#include "tests/harness/event_batches/plain_parts.hpp"

namespace strobe {
namespace {

class CudaEvents : public testing::TestWithParam<std::string> {};

TEST_P(CudaEvents, EveryModelGivesTheCurveOfTheCpu) {
  if (const std::string reason = why_no_gpu(); !reason.empty()) GTEST_SKIP() << reason;
  const test::TemporaryFolder folder;
  const std::string visits = event_test::random_visits(folder, 5, 120);
  Json changes = {{"model", {{"name", GetParam()}, {"time", 4}, {"neighbours", 3}, {"dropout", 0.1}}}, {"epochs", 2}};
  changes["model"][GetParam() == "tgat" ? "hidden" : "memory"] = 6;
  if (GetParam() == "jodie") changes["model"].erase("neighbours"), changes["model"].erase("dropout");
  const auto run = [&](const char* device, const char* memory) {
    changes["device"] = device;
    changes["strategy"] = {{"name", "sequential"}, {"batch", 20}, {"memory_on", memory}};
    CaseResult result = run_case(event_test::event_case(visits, changes));
    EXPECT_EQ(result.status, "ok") << result.reason;
    return result;
  };
  const CaseResult judge = run("cpu", "host");
  for (const char* device : {"cuda", "cuda-graphs"}) {
    for (const char* memory : {"host", "device"}) {
      const CaseResult result = run(device, memory);
      ASSERT_EQ(result.loss.per_epoch.size(), judge.loss.per_epoch.size());
      for (std::size_t e = 0; e < judge.loss.per_epoch.size(); ++e)
        EXPECT_NEAR(result.loss.per_epoch[e] / judge.loss.per_epoch[e], 1.0, 1e-10) << device << ", " << memory;
      EXPECT_NEAR(result.metrics.at("mrr").per_epoch.back(), judge.metrics.at("mrr").per_epoch.back(), 1e-9);
    }
  }
}

/// Groups of ranks: the memory daemon's rows travel through the device's own host memory, on its copy streams.
TEST(CudaEventGroups, GiveTheCurveOfTheCpu) {
  if (const std::string reason = why_no_gpu(); !reason.empty()) GTEST_SKIP() << reason;
  const test::TemporaryFolder folder;
  const std::string visits = event_test::random_visits(folder, 6, 160);
  for (const auto& [ranks, how] :
       {std::pair{2, Json{{"i", 2}}}, std::pair{2, Json{{"j", 2}, {"prefetch", 3}}}, std::pair{2, Json{{"k", 2}}},
        std::pair{2, Json{{"k", 2}, {"memory_on", "device"}}},
        std::pair{2, Json{{"i", 2}, {"k", 1}, {"memory_layout", "distributed"}, {"nodes", 2}}},
        std::pair{1, Json{{"presample", "disk"}, {"pipeline", false}}}}) {
    Json strategy = {{"name", "event_batch"}, {"batch", 13}};
    strategy.update(how);
    const auto run = [&](const char* device) {
      const Json changes = {{"strategy", strategy}, {"device", device}, {"ranks", ranks}, {"epochs", 2}};
      CaseResult result = run_case(event_test::event_case(visits, changes));
      EXPECT_EQ(result.status, "ok") << how << result.reason;
      return result;
    };
    const CaseResult judge = run("cpu");
    for (const char* device : {"cuda", "cuda-graphs"}) {
      const CaseResult result = run(device);
      ASSERT_EQ(result.loss.per_epoch.size(), judge.loss.per_epoch.size());
      for (std::size_t e = 0; e < judge.loss.per_epoch.size(); ++e)
        EXPECT_NEAR(result.loss.per_epoch[e] / judge.loss.per_epoch[e], 1.0, 1e-10) << device << how;
      EXPECT_NEAR(result.metrics.at("mrr").per_epoch.back(), judge.metrics.at("mrr").per_epoch.back(), 1e-9);
    }
  }
}

/// Captured parts of a model. The embedding is made of attention, gathered rows and matrix products.
TEST(CudaEventParts, GiveTheCurveOfTheCpu) {
  if (const std::string reason = why_no_gpu(); !reason.empty()) GTEST_SKIP() << reason;
  const test::TemporaryFolder folder;
  const std::string visits = event_test::short_visits(folder, 7, 160);
  const std::string path = folder.write("model.json", event_test::file_of(event_test::all_plain_parts()).dump());
  const auto run = [&](const char* device) {
    const Json changes = {{"model", {{"path", path}}}, {"device", device}, {"epochs", 2}};
    CaseResult result = run_case(event_test::event_case(visits, changes));
    EXPECT_EQ(result.status, "ok") << result.reason;
    return result;
  };
  const CaseResult judge = run("cpu");
  for (const char* device : {"cuda", "cuda-graphs"}) {
    const CaseResult result = run(device);
    ASSERT_EQ(result.loss.per_epoch.size(), judge.loss.per_epoch.size());
    for (std::size_t e = 0; e < judge.loss.per_epoch.size(); ++e)
      EXPECT_NEAR(result.loss.per_epoch[e] / judge.loss.per_epoch[e], 1.0, 1e-10) << device;
    EXPECT_NEAR(result.metrics.at("mrr").per_epoch.back(), judge.metrics.at("mrr").per_epoch.back(), 1e-9);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, CudaEvents, ::testing::ValuesIn(EventModelRegistry::instance().names()),
                         [](const auto& model) {
                           std::string name = model.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace strobe
