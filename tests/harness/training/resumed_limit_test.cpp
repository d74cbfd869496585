// Stop and resume under a limit of host memory: the bits of an uninterrupted run from memory, for every kind of
// training.
#include "harness/training/make_plan.hpp"
#include "tests/harness/event_batches/event_runs.hpp"
#include "tests/harness/limited_store.hpp"

namespace strobe {
namespace {

constexpr int epochs_of_run = 4;

Json of_snapshots(const Json& strategy, int ranks, const std::string& nb) {
  Json request = {{"workload", {{"name", "uniform"}, {"vertices", 300}, {"steps", 9}, {"density", 3}}},
                  {"model", strategy == "hybrid_batch" ? "dcrnn" : "t-gcn"},
                  {"strategy", strategy},
                  {"ranks", ranks},
                  {"warmup", 0},
                  {"epochs", epochs_of_run}};
  if (nb != "1") request["nb"] = nb;
  return request;
}

class ResumedUnderALimit : public testing::Test {
 protected:
  /// Losses and the metrics of the last weights.
  void expect_bits(const Json& request) {
    const CaseResult whole = run_case(case_from_json(request, ""));
    ASSERT_EQ(whole.status, "ok") << request << whole.reason;
    for (int stop = 1; stop < epochs_of_run; ++stop) {
      Json limited = request;
      limited["host_memory_limit_gib"] = 64;
      ModelOutputs outputs;
      outputs.checkpoint = folder_.file("state.safetensors");
      limited["epochs"] = stop;
      ASSERT_EQ(run(limited, outputs).status, "ok") << request;
      outputs.resume_training = true;
      limited["epochs"] = epochs_of_run;
      const CaseResult resumed = run(limited, outputs);
      ASSERT_EQ(resumed.status, "ok") << request << resumed.reason;
      EXPECT_EQ(resumed.loss.per_epoch, whole.loss.per_epoch) << request << stop;
      for (const auto& [name, series] : whole.metrics) {
        const auto& again = resumed.metrics.at(name).per_epoch;
        ASSERT_FALSE(again.empty()) << name;
        if (!std::isnan(series.per_epoch.back())) {
          EXPECT_EQ(again.back(), series.per_epoch.back()) << request << stop << name;
        }
      }
    }
  }

  test::TemporaryFolder folder_;

 private:
  CaseResult run(const Json& request, const ModelOutputs& outputs) {
    return run_case(case_from_json(request, ""), nullptr, outputs, DataCache(test::store_in(folder_.file(""))));
  }
};

TEST_F(ResumedUnderALimit, FullBatches) {
  for (const char* strategy : {"vertex", "snapshot", "chunk", "pss"}) {
    for (const int ranks : {1, 3}) expect_bits(of_snapshots(strategy, ranks, "1"));
  }
  for (const char* strategy : {"vertex", "snapshot"}) expect_bits(of_snapshots(strategy, 2, "3"));
}

TEST_F(ResumedUnderALimit, HybridBatches) {
  for (const int ranks : {1, 2}) expect_bits(of_snapshots("hybrid_batch", ranks, "1"));
}

TEST_F(ResumedUnderALimit, BatchesOfEvents) {
  for (const std::uint64_t seed : {3, 4}) {
    Json request = {{"workload", event_test::random_visits(folder_, seed, 200)},
                    {"model", {{"name", "tgn-attn"}, {"memory", 6}, {"time", 4}, {"neighbours", 3}}},
                    {"strategy", {{"name", "sequential"}, {"batch", 32}}},
                    {"task", {{"name", "future-links"}, {"candidates", "9"}, {"batch", 20}}},
                    {"warmup", 0},
                    {"epochs", epochs_of_run}};
    expect_bits(request);
    request["strategy"]["name"] = "event_batch";
    request["ranks"] = 2;
    expect_bits(request);
  }
}

}  // namespace
}  // namespace strobe
