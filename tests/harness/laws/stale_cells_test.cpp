// Staleness of temporal halos and handed-over states, under scattered owners and PSS. With threshold zero the run
// equals the exact one bit for bit. Otherwise fewer bytes are sent, also on a simulated cluster with values. A resumed
// run equals an uninterrupted one.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "harness/request/case.hpp"
#include "harness/run/run_case.hpp"
#include "tests/harness/run/results_of.hpp"

namespace strobe {
namespace {

Json stale_case(const std::string& model, const std::string& strategy, const Json& stale, std::int64_t epochs = 5) {
  Json request = {{"workload", {{"name", "uniform"}, {"vertices", 37}, {"steps", 9}, {"density", 2.0}}},
                  {"model", {{"name", model}}},
                  {"strategy", {{"name", strategy}}},
                  {"ranks", 3},
                  {"seed", 9},
                  {"epochs", epochs},
                  {"warmup", 0},
                  {"optimizer", {{"name", "adam"}, {"rate", 0.02}}},
                  {"precision", "fp64"}};
  request["strategy"].update(stale);
  return request;
}

CaseResult run_stale(const Json& request, const ModelOutputs& outputs = {}) {
  const CaseResult result = run_case(case_from_json(request, ""), nullptr, outputs);
  EXPECT_EQ(result.status, "ok") << request.dump() << ": " << result.reason;
  return result;
}

std::uint64_t second_epoch(const CaseResult& result) {
  return test::epoch_bytes(result, Traffic::halo) + test::epoch_bytes(result, Traffic::state);
}

struct Walked {
  const char* model;
  const char* strategy;
};
const std::vector<Walked> walked = {{"tm-gcn", "pss"},       {"dysat", "pss"},          {"t-gcn", "pss"},
                                    {"cd-gcn", "scattered"}, {"dysat", "scattered"},    {"t-gcn", "scattered"},
                                    {"tm-gcn", "scattered"}, {"mpnn-lstm", "scattered"}};

TEST(StaleTimelines, AtThresholdZeroAreExactBitForBit) {
  for (const auto& [model, strategy] : walked) {
    const CaseResult exact = run_stale(stale_case(model, strategy, Json::object()));
    const CaseResult zero = run_stale(stale_case(model, strategy, {{"stale", "static"}, {"stale_theta", 0.0}}));
    EXPECT_TRUE(zero.exact);
    EXPECT_EQ(zero.loss.per_epoch, exact.loss.per_epoch) << model << " " << strategy;
    EXPECT_EQ(second_epoch(zero), second_epoch(exact));
  }
}

TEST(StaleTimelines, SendLessAndSayHowMuch) {
  for (const auto& [model, strategy] : walked) {
    const CaseResult exact = run_stale(stale_case(model, strategy, Json::object()));
    const CaseResult stale = run_stale(stale_case(model, strategy, {{"stale", "static"}, {"stale_theta", 0.6}}));
    EXPECT_FALSE(stale.exact);
    EXPECT_LT(second_epoch(stale), second_epoch(exact)) << model << " " << strategy;
    ASSERT_EQ(stale.facts.get<std::vector<double>>("sent_share").size(), 5u);
    EXPECT_EQ(stale.facts.get<std::vector<double>>("sent_share")[0], 1.0);
    EXPECT_LT(stale.facts.get<std::vector<double>>("sent_share")[1], 1.0);
    EXPECT_NE(stale.loss.per_epoch, exact.loss.per_epoch);
    EXPECT_EQ(stale.loss.per_epoch[0], exact.loss.per_epoch[0]);
    EXPECT_LT(stale.loss.per_epoch.back(), stale.loss.per_epoch.front()) << model << " " << strategy;
  }
}

TEST(StaleTimelines, AreDecidedAlikeInVirtualTime) {
  for (const auto& [model, strategy] : walked) {
    Json request = stale_case(model, strategy, {{"stale", "adaptive"}, {"stale_gradient", "always"}});
    const CaseResult real = run_stale(request);
    request["device"] = "sim";
    request["numerics"] = "cpu";
    const CaseResult computed = run_stale(request);
    for (std::size_t e = 0; e < 5; ++e)
      EXPECT_NEAR(computed.loss.per_epoch.at(e) / real.loss.per_epoch.at(e), 1.0, 1e-9) << model << " " << strategy;
    request["numerics"] = "none";
    run_stale(request);
  }
}

TEST(StaleTimelines, GoOnFromACheckpoint) {
  const auto path = (std::filesystem::temp_directory_path() / ("strobe-stale-" + std::to_string(getpid()))).string();
  for (const auto& [model, strategy] : walked) {
    const Json stale = {{"stale", "static"}, {"stale_theta", 0.5}};
    const CaseResult whole = run_stale(stale_case(model, strategy, stale, 6));
    ModelOutputs outputs;
    outputs.checkpoint = path;
    run_stale(stale_case(model, strategy, stale, 3), outputs);
    outputs.resume_training = true;
    const CaseResult resumed = run_stale(stale_case(model, strategy, stale, 6), outputs);
    EXPECT_EQ(resumed.loss.per_epoch, whole.loss.per_epoch) << model << " " << strategy;
    std::filesystem::remove(path);
  }
}

}  // namespace
}  // namespace strobe
