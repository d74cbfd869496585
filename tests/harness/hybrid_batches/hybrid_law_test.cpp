// Law 3 for hybrid batches: with all vertices and all steps, an update equals the sequential one, for every such
// strategy and every model. Bytes equal the plan's, also in virtual time. The same seed gives the same bits.
#include <gtest/gtest.h>

#include "core/registry_names.hpp"
#include "harness/placement/strategy.hpp"
#include "models/snapshots/model.hpp"
#include "tests/harness/hybrid_batches/hybrid_runs.hpp"
#include "tests/harness/laws/comings_and_goings.hpp"

namespace strobe {
namespace {

using test::hybrid_case;
using test::RandomEvents;
using test::run;

std::vector<std::string> models() { return names_with<ModelTag>(&ModelTag::Value::family, "snapshots"); }

std::string readable(std::string name) {
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

class HybridLaw : public testing::TestWithParam<std::string> {};

void expect_same_curve(const Json& request, const CaseResult& sequential, const std::string& what) {
  const CaseResult result = run(request);
  ASSERT_EQ(result.status, "ok") << what << ": " << result.reason;
  EXPECT_TRUE(result.exact) << what;
  ASSERT_EQ(result.loss.per_epoch.size(), sequential.loss.per_epoch.size()) << what;
  for (std::size_t e = 0; e < sequential.loss.per_epoch.size(); ++e)
    EXPECT_NEAR(result.loss.per_epoch[e] / sequential.loss.per_epoch[e], 1, 1e-10) << what << " in epoch " << e;
}

TEST_P(HybridLaw, AllVerticesAndStepsGiveTheSequentialCurve) {
  for (const int seed : {1, 2}) {
    const RandomEvents events(seed);
    for (const char* task : {"link-prediction", "vertex-regression"}) {
      Json request = hybrid_case(events.workload(6), GetParam(), "sequential", 1);
      request["task"] = task;
      const CaseResult sequential = run(request);
      ASSERT_EQ(sequential.status, "ok") << sequential.reason;
      for (const int ranks : {1, 2, 3, 4, 7}) {
        request["ranks"] = ranks;
        request["strategy"] = {{"name", "hybrid_batch"}, {"vertices", "100%"}, {"snapshots", "100%"}};
        expect_same_curve(request, sequential, fmt::format("{} of graph {}, {} ranks", task, seed, ranks));
      }
    }
  }
}

TEST_P(HybridLaw, AllCellsThatExistGiveTheSequentialCurve) {
  for (const char* presence : {"seen", "lifetime", "active"}) {
    const test::ComingsAndGoings graph(11);
    Json request = graph.request(GetParam(), presence);
    request["strategy"] = "sequential";
    const CaseResult sequential = run(request);
    ASSERT_EQ(sequential.status, "ok") << sequential.reason;
    for (const int ranks : {1, 2, 5}) {
      request["ranks"] = ranks;
      request["strategy"] = {{"name", "hybrid_batch"}, {"vertices", "100%"}, {"snapshots", "100%"}};
      expect_same_curve(request, sequential, fmt::format("{} on {} ranks", presence, ranks));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, HybridLaw, testing::ValuesIn(models()),
                         [](const auto& parameter) { return readable(parameter.param); });

// Models whose layers alternate between steps and neighbours, through options other than the default.
TEST(HybridLawVariants, LayersThatReachFar) {
  const RandomEvents events(3, 30, 240);
  const std::vector<Json> deep = {{{"name", "dcrnn"}, {"layers", 2}},
                                  {{"name", "dcrnn"}, {"directions", "out"}, {"precompute", false}},
                                  {{"name", "t-gcn"}, {"conv", "xh"}},
                                  {{"name", "mpnn-lstm"}, {"batch_norm", false}},
                                  {{"name", "mpnn-lstm"}, {"precompute", false}},
                                  {{"name", "tm-gcn"}, {"precompute", false}},
                                  {{"name", "evolve-gcn-h"}, {"precompute", false}}};
  for (const Json& model : deep) {
    Json request = hybrid_case(events.workload(5), model, "sequential", 1);
    const CaseResult sequential = run(request);
    ASSERT_EQ(sequential.status, "ok") << model << sequential.reason;
    for (const int ranks : {2, 5}) {
      request["ranks"] = ranks;
      request["strategy"] = "pyd";
      expect_same_curve(request, sequential, fmt::format("{}, {} ranks", model.dump(), ranks));
    }
  }
}

TEST(HybridBatches, EveryStrategyOfTheKindSendsItsPlanInRealAndVirtualTime) {
  for (const std::string& strategy : names_with<StrategyTag>(&StrategyTag::Value::schedule, "hybrid_batches")) {
    for (const char* averaging : {"sync", "async", "never"}) {
      for (const int ranks : {1, 3}) {
        Json request = hybrid_case("ucsocial", "t-gcn", {{"name", strategy}, {"averaging", averaging}}, ranks, 2);
        request["strategy"]["interval"] = "2";
        // Losses are compared, so batches may not depend on timing.
        request["strategy"]["generator"] = "inline";
        request["strategy"]["adjuster"] = "none";
        const CaseResult real = run(request);
        ASSERT_EQ(real.status, "ok") << strategy << " " << averaging << ": " << real.reason;
        request["device"] = "sim", request["cluster"] = "aimos-v100", request["numerics"] = "cpu";
        const CaseResult simulated = run(request);
        ASSERT_EQ(simulated.status, "ok") << simulated.reason;
        ASSERT_EQ(real.samples.size(), simulated.samples.size());
        for (std::size_t i = 0; i < real.samples.size(); ++i)
          EXPECT_EQ(real.samples[i].sent_bytes, simulated.samples[i].sent_bytes) << strategy << " " << averaging;
        for (std::size_t e = 0; e < real.loss.per_epoch.size(); ++e)
          EXPECT_NEAR(real.loss.per_epoch[e], simulated.loss.per_epoch[e], 1e-10) << strategy << " " << averaging;
      }
    }
  }
}

TEST(HybridBatches, OfCellsThatExistSendTheirPlanInRealAndVirtualTime) {
  const test::ComingsAndGoings graph(5);
  for (const std::string& strategy : names_with<StrategyTag>(&StrategyTag::Value::schedule, "hybrid_batches")) {
    for (const char* presence : {"seen", "lifetime", "active"}) {
      for (const char* frontier : {"exact", "layers"}) {
        Json request = graph.request("cd-gcn", presence);
        request["ranks"] = 2;
        request["strategy"] = {{"name", strategy},      {"interval", "2"},    {"frontier", frontier},
                               {"generator", "inline"}, {"adjuster", "none"}, {"averaging", "async"}};
        const CaseResult real = run(request);
        ASSERT_EQ(real.status, "ok") << strategy << " " << presence << ": " << real.reason;
        request["device"] = "sim", request["cluster"] = "aimos-v100", request["numerics"] = "cpu";
        const CaseResult simulated = run(request);
        ASSERT_EQ(simulated.status, "ok") << simulated.reason;
        ASSERT_EQ(real.samples.size(), simulated.samples.size());
        for (std::size_t i = 0; i < real.samples.size(); ++i)
          EXPECT_EQ(real.samples[i].sent_bytes, simulated.samples[i].sent_bytes) << strategy << " " << presence;
        for (std::size_t e = 0; e < real.loss.per_epoch.size(); ++e)
          EXPECT_NEAR(real.loss.per_epoch[e], simulated.loss.per_epoch[e], 1e-10) << strategy << " " << presence;
      }
    }
  }
}

TEST(HybridBatches, TheSameSeedGivesTheSameBitsAndAnotherOthers) {
  // Generators during training would make the choice of batches depend on timing. Inline batches depend only on the
  // seed.
  Json request = hybrid_case("ucsocial", "dcrnn", {{"name", "hybrid_batch"}, {"generator", "inline"}}, 2, 6);
  const CaseResult first = run(request), again = run(request);
  ASSERT_EQ(first.status, "ok") << first.reason;
  EXPECT_EQ(first.loss.per_epoch, again.loss.per_epoch);
  EXPECT_FALSE(first.exact);
  request["seed"] = 2;
  EXPECT_NE(run(request).loss.per_epoch, first.loss.per_epoch);
}

// Averaging after every update of plain gradient descent is a step along the mean gradient.
TEST(HybridBatches, AveragingEveryUpdateOfGradientDescentIsSummingGradients) {
  for (const int ranks : {2, 4}) {
    // With per_step every rank's loss has the same weight, for any number of samples.
    const RandomEvents events(5, 40, 600);
    Json request = hybrid_case(events.workload(6), "t-gcn", "hybrid_batch", ranks, 4);
    request["task"] = "vertex-regression";
    request["optimizer"] = {{"name", "sgd"}, {"rate", 0.1}};
    request["strategy"] = {{"name", "hybrid_batch"}, {"vertices", "50%"},  {"snapshots", "100%"},
                           {"generator", "inline"},  {"reservoir", false}, {"loss", "per_step"}};
    const CaseResult sync = run(request);
    request["strategy"]["averaging"] = "async";
    request["strategy"]["interval"] = "1";
    const CaseResult async = run(request);
    ASSERT_EQ(sync.status, "ok") << sync.reason;
    ASSERT_EQ(async.status, "ok") << async.reason;
    for (std::size_t e = 0; e < 4; ++e)
      EXPECT_NEAR(async.loss.per_epoch[e] / sync.loss.per_epoch[e], 1, 1e-10) << ranks << " ranks, epoch " << e;
  }
}

}  // namespace
}  // namespace strobe
