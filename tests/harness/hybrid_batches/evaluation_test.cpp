// The evaluation of weights after hybrid batches: its metrics are those of full batches, and it takes the planned
// memory, in which only one block of steps has its features.
#include <gtest/gtest.h>

#include <numeric>

#include "harness/hybrid_batches/hybrid_plan.hpp"
#include "harness/training/make_plan.hpp"
#include "harness/training/planned_peak.hpp"
#include "tests/harness/hybrid_batches/hybrid_runs.hpp"
#include "tests/harness/laws/comings_and_goings.hpp"

namespace strobe {
namespace {

using test::run;

Json small_batches() {
  return {{"name", "hybrid_batch"}, {"vertices", "10%"}, {"snapshots", "20%"}, {"generator", "inline"}};
}

std::vector<std::uint64_t> planned_bytes(const Json& request) {
  const auto planned = planned_evaluation_peak(*make_plan(case_from_json(request, "")));
  std::vector<std::uint64_t> bytes;
  for (const auto& parts : planned.value().parts)
    bytes.push_back(std::accumulate(parts.begin(), parts.end(), std::uint64_t{0}));
  return bytes;
}

TEST(HybridEvaluation, TakesThePlannedBytes) {
  const test::ComingsAndGoings graph(7);
  for (const char* model : {"t-gcn", "cd-gcn", "dysat", "dcrnn", "tm-gcn", "evolve-gcn-o"}) {
    for (const char* presence : {"all", "lifetime", "active"}) {
      for (const int ranks : {1, 3}) {
        Json request = graph.request(model, presence);
        request["ranks"] = ranks, request["strategy"] = small_batches();
        const CaseResult result = run(request);
        ASSERT_EQ(result.status, "ok") << model << ": " << result.reason;
        EXPECT_EQ(result.facts.values.at("evaluation_bytes").get<std::vector<std::uint64_t>>(), planned_bytes(request))
            << model << " " << presence << " " << ranks;
      }
    }
  }
}

// Every update of these cases is of the same cells, so the rehearsal of a few meets the largest one.
TEST(HybridEvaluation, LeavesThePlannedPeakOfUpdates) {
  const test::ComingsAndGoings graph(9);
  for (const char* model : {"t-gcn", "dcrnn", "dysat"}) {
    for (const char* presence : {"all", "seen", "lifetime", "active"}) {
      for (const char* strategy : {"pyd", "dynagraph"}) {
        Json request = graph.request(model, presence);
        request["strategy"] = {{"name", strategy}, {"snapshots", "100%"}, {"averaging", "async"}, {"interval", "2"}};
        const CaseResult result = run(request);
        ASSERT_EQ(result.status, "ok") << model << ": " << result.reason;
        std::uint64_t measured = 0;
        for (const EpochSample& sample : result.samples) measured = std::max(measured, sample.peak_host_bytes);
        EXPECT_EQ(measured, planned_peak(*make_plan(case_from_json(request, ""))).bytes)
            << model << " " << presence << " " << strategy;
      }
    }
  }
}

TEST(HybridEvaluation, IsNotPlannedWhereNothingIsEvaluated) {
  const test::ComingsAndGoings graph(10);
  Json request = graph.request("t-gcn", "seen");
  request.update({{"strategy", small_batches()}, {"device", "sim"}, {"cluster", "aimos-v100"}});
  for (const char* numerics : {"none", "cpu"}) {
    request["numerics"] = numerics;
    const auto plan = make_plan(case_from_json(request, ""));
    EXPECT_EQ(planned_evaluation_peak(*plan).has_value(), std::string(numerics) == "cpu");
  }
}

TEST(HybridEvaluation, HasTheMetricsOfFullBatchesWithTheSameWeights) {
  const std::string weights =
      (std::filesystem::temp_directory_path() / fmt::format("strobe-evaluation-{}.safetensors", getpid())).string();
  const test::ComingsAndGoings graph(8);
  for (const char* model : {"t-gcn", "cd-gcn", "dysat", "dcrnn", "tm-gcn", "evolve-gcn-h", "mpnn-lstm"}) {
    for (const char* presence : {"all", "seen", "active"}) {
      Json request = graph.request(model, presence);
      request["ranks"] = 2, request["strategy"] = small_batches();
      ModelOutputs outputs;
      outputs.weights = weights;
      const auto plan = plan_hybrid(case_from_json(request, ""), PlanUse::run);
      EXPECT_GT(plan->full->blocks.size(), 2u) << "or the test shows nothing";
      const CaseResult batches = run_case(case_from_json(request, ""), nullptr, outputs);
      ASSERT_EQ(batches.status, "ok") << model << ": " << batches.reason;
      request.update({{"ranks", 1}, {"strategy", "sequential"}, {"load_model", weights}, {"epochs", 1}, {"warmup", 0}});
      request["optimizer"] = {{"name", "sgd"}, {"rate", 0.0}};
      const CaseResult full = run(request);
      ASSERT_EQ(full.status, "ok") << model << ": " << full.reason;
      EXPECT_FALSE(full.metrics.at("accuracy").per_epoch.empty());
      for (const auto& [name, curve] : full.metrics) {
        if (curve.per_epoch.empty()) continue;  // too few samples are left for it
        EXPECT_NEAR(batches.metrics.at(name).per_epoch.back(), curve.per_epoch.back(), 1e-9)
            << model << presence << name;
      }
    }
  }
  std::filesystem::remove(weights);
}

TEST(HybridEvaluation, HoldsTheFeaturesOfOneBlock) {
  std::vector<double> bytes;
  for (const int steps : {10, 80}) {
    const test::RandomEvents events(4, 300, 200 * steps);
    Json request = test::hybrid_case(events.workload(steps), "t-gcn", small_batches(), 2);
    request["strategy"]["snapshots"] = "1";
    request["task"] = {{"name", "vertex-regression"}, {"split", "90/0/10"}};
    const auto planned = planned_evaluation_peak(*make_plan(case_from_json(request, "")));
    bytes.push_back(static_cast<double>(planned.value().parts.at(0)[MemoryPart::features]));
  }
  EXPECT_GT(bytes[0], 0);
  EXPECT_LT(bytes[1], 1.2 * bytes[0]) << "of eight times the steps";
}

}  // namespace
}  // namespace strobe
