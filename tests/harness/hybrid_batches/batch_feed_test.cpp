// Generators, reservoirs, adjusters and averaging in whole runs: a batch follows from its number, virtual time is
// deterministic, resumed runs go on, and refusals say what to change.
#include "harness/hybrid_batches/batch_feed.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "core/errors.hpp"
#include "tests/harness/hybrid_batches/hybrid_runs.hpp"
#include "tests/harness/laws/comings_and_goings.hpp"
#include "tests/workloads/support.hpp"

namespace strobe {
namespace {

using test::hybrid_case;
using test::RandomEvents;
using test::run;

std::shared_ptr<const HybridPlan> plan_of(const Json& request) {
  return plan_hybrid(case_from_json(request, ""), PlanUse::run);
}

std::unique_ptr<Device> device_of() {
  DeviceRequest on;
  on.precision = ElementType::f64;
  return DeviceRegistry::instance().find("cpu").value(on);
}

std::string text_of(const HybridBatch& batch) {
  std::string text = fmt::format("{} {}:", batch.layers.window.first, batch.layers.window.count);
  for (const VertexId v : batch.layers.layers.back().cells.vertices) text += fmt::format(" {}", v);
  for (const std::int64_t i : batch.samples.index) text += fmt::format(" s{}", i);
  return text;
}

TEST(BatchFeed, AReservoirGivesAgainWhatItsNumbersSay) {
  const RandomEvents events(4, 40, 500);
  Json request = hybrid_case(events.workload(8), "t-gcn", {{"name", "hybrid_batch"}, {"generator", "inline"}}, 1);
  request["strategy"]["vertices"] = "25%";
  request["strategy"]["snapshots"] = "50%";
  const auto plan = plan_of(request);
  ASSERT_GT(most_kept(*plan, 0, 0), 2);
  const auto device = device_of();
  BatchFeed feed(*plan, *device);
  BatchMaker maker(*plan, true);
  std::map<std::string, int> seen;
  std::map<const HybridBatch*, int> given;
  for (std::uint64_t i = 0; i < 300; ++i) {
    const SharedBatch batch = feed.take(0, i);
    ++seen[text_of(*batch)];
    ++given[batch.get()];
  }
  const std::size_t most = most_kept(*plan, 0, 0);
  EXPECT_EQ(given.size(), most) << "kept and used again, and no more than Eq. 4's denominator";
  for (std::uint64_t number = 0; number < most; ++number)
    EXPECT_EQ(seen.count(text_of(*maker.make(0, 0, (std::uint64_t{1} << 26) + number))), 1u) << number;
}

TEST(BatchFeed, AFullReservoirByBytesStillGivesNewBatches) {
  const RandomEvents events(4, 40, 500);
  Json request = hybrid_case(events.workload(8), "t-gcn", {{"name", "hybrid_batch"}, {"generator", "inline"}}, 1);
  request["strategy"]["reservoir_gib"] = 0;
  const auto plan = plan_of(request);
  const auto device = device_of();
  BatchFeed feed(*plan, *device);
  std::map<const HybridBatch*, int> given;
  std::vector<SharedBatch> held;
  for (std::uint64_t i = 0; i < 12; ++i) held.push_back(feed.take(0, i)), ++given[held.back().get()];
  EXPECT_EQ(given.size(), 12u);
  EXPECT_EQ(feed.kept(), std::vector<double>{0});
}

TEST(BatchFeed, AGeneratorAheadGivesTheBatchesThatAreMadeOnDemand) {
  const RandomEvents events(6, 40, 500);
  Json request = hybrid_case(events.workload(8), "dcrnn", {{"name", "hybrid_batch"}, {"reservoir", false}}, 2, 8);
  for (const char* averaging : {"sync", "async"}) {
    request["strategy"]["averaging"] = averaging;
    request["strategy"]["interval"] = "2";
    request["strategy"]["generator"] = "inline";
    const CaseResult inline_made = run(request);
    ASSERT_EQ(inline_made.status, "ok") << inline_made.reason;
    request["strategy"]["generator"] = "pipelined";
    for (const int threads : {1, 3}) {
      request["host_threads"] = threads;
      EXPECT_EQ(run(request).loss.per_epoch, inline_made.loss.per_epoch) << averaging << " " << threads;
    }
  }
}

TEST(VirtualHybridBatches, GiveTheSameBitsEveryTimeWithReservoirAndAdjuster) {
  Json request = hybrid_case("ucsocial", "t-gcn", "dynahb", 2, 12);
  request["strategy"] = {{"name", "dynahb"}, {"interval", "3"}};
  request["device"] = "sim", request["cluster"] = "aimos-v100", request["numerics"] = "cpu";
  const CaseResult first = run(request);
  ASSERT_EQ(first.status, "ok") << first.reason;
  EXPECT_FALSE(first.exact);
  for (const int threads : {1, 4}) {
    request["threads"] = threads;
    const CaseResult again = run(request);
    EXPECT_EQ(again.loss.per_epoch, first.loss.per_epoch);
    for (std::size_t i = 0; i < first.samples.size(); ++i)
      EXPECT_EQ(again.samples[i].epoch_seconds, first.samples[i].epoch_seconds);
  }
}

TEST(VirtualHybridBatches, ATimerEndsAStretchAtItsSeconds) {
  Json request = hybrid_case("ucsocial", "t-gcn", {{"name", "hybrid_batch"}, {"averaging", "async"}}, 2, 3);
  request["strategy"]["interval"] = "5ms";
  request["device"] = "sim", request["cluster"] = "aimos-v100", request["numerics"] = "cpu";
  const CaseResult result = run(request);
  ASSERT_EQ(result.status, "ok") << result.reason;
  for (const EpochSample& sample : result.samples) {
    EXPECT_GE(sample.epoch_seconds, 5e-3);
    EXPECT_LT(sample.epoch_seconds, 8e-3) << "an update takes well below a millisecond";
  }
}

// The memory of training does not depend on the number of evaluations of the whole graph.
TEST(HybridMemory, IsThatOfBatches) {
  std::vector<std::uint64_t> peaks;
  for (const int every : {1, 100}) {
    Json strategy = {{"name", "hybrid_batch"}, {"generator", "inline"}, {"evaluate_every", every}};
    const CaseResult result = run(hybrid_case({{"name", "amlsim-20k"}, {"window", "15"}}, "t-gcn", strategy, 2, 5));
    ASSERT_EQ(result.status, "ok") << result.reason;
    for (const EpochSample& sample : result.samples) {
      if (sample.epoch == 4 && sample.rank == 0) peaks.push_back(sample.peak_host_bytes);
    }
  }
  ASSERT_EQ(peaks.size(), 2u);
  EXPECT_GT(peaks[1], 0u);
  EXPECT_LE(peaks[0], peaks[1]) << "the whole graph is in it";
}

TEST(HybridAdjusters, ChooseAmongCellsThatExist) {
  const test::ComingsAndGoings graph(15);
  for (const char* adjuster : {"dqn", "random", "bandit", "best_fixed", "cost", "marginal"}) {
    for (const char* cut : {"vertices", "steps"}) {
      Json request = graph.request("t-gcn", "active");
      request["strategy"] = {{"name", "hybrid_batch"}, {"adjuster", adjuster},    {"cut", cut},
                             {"snapshots", "1"},       {"vertex_sizes", "20%/3"}, {"snapshot_sizes", "1/3/9"}};
      request["ranks"] = 2, request["epochs"] = 6;
      const CaseResult result = run(request);
      ASSERT_EQ(result.status, "ok") << adjuster << " " << cut << ": " << result.reason;
      for (const double loss : result.loss.per_epoch) EXPECT_TRUE(std::isfinite(loss)) << adjuster << " " << cut;
    }
  }
}

TEST(HybridAdjusters, EveryOneTrainsInBothWaysOfAveraging) {
  for (const char* adjuster : {"dqn", "random", "bandit", "best_fixed", "cost", "marginal"}) {
    for (const char* averaging : {"sync", "async"}) {
      Json request = hybrid_case("ucsocial", "t-gcn", {{"name", "hybrid_batch"}, {"adjuster", adjuster}}, 2, 8);
      request["strategy"]["averaging"] = averaging;
      request["strategy"]["interval"] = "2";
      const CaseResult result = run(request);
      ASSERT_EQ(result.status, "ok") << adjuster << " " << averaging << ": " << result.reason;
      EXPECT_EQ(result.loss.per_epoch.size(), 8u);
    }
  }
}

// Stops after an epoch and goes on from there, with weights, every rank's optimiser, reservoirs and the adjuster.
TEST(ResumedHybridBatches, GoOnBitForBit) {
  const test::TemporaryFolder folder;
  const RandomEvents events(9, 40, 500);
  for (const char* averaging : {"sync", "async", "never"}) {
    for (const char* adjuster : {"none", "cost", "random"}) {
      const auto of = [&](int epochs) {
        Json strategy = {{"name", "hybrid_batch"}, {"generator", "inline"}, {"adjuster", adjuster}};
        strategy["averaging"] = averaging, strategy["interval"] = "3";
        return case_from_json(hybrid_case(events.workload(8), "t-gcn", strategy, 2, epochs), "");
      };
      const CaseResult whole = run_case(of(6));
      ASSERT_EQ(whole.status, "ok") << whole.reason;
      for (int stop = 2; stop < 6; stop += 2) {
        ModelOutputs outputs;
        outputs.checkpoint = folder.file(fmt::format("{}-{}-{}.safetensors", averaging, adjuster, stop));
        ASSERT_EQ(run_case(of(stop), nullptr, outputs).status, "ok");
        outputs.resume_training = true;
        const CaseResult rest = run_case(of(6), nullptr, outputs);
        ASSERT_EQ(rest.status, "ok") << rest.reason;
        EXPECT_EQ(rest.loss.per_epoch, whole.loss.per_epoch) << averaging << " " << adjuster << " from " << stop;
      }
    }
  }
}

TEST(ResumedHybridBatches, OfCellsThatExistGoOnBitForBit) {
  const test::TemporaryFolder folder;
  const test::ComingsAndGoings graph(14);
  for (const char* name : {"hybrid_batch", "dynagraph", "bvr"}) {
    for (const char* presence : {"seen", "lifetime", "active"}) {
      for (const char* adjuster : {"none", "cost", "random"}) {
        const auto of = [&](int epochs) {
          Json request = graph.request("t-gcn", presence);
          request["strategy"] = {{"name", name},         {"generator", "inline"}, {"adjuster", adjuster},
                                 {"averaging", "async"}, {"interval", "3"},       {"snapshots", "2"}};
          request["strategy"].update({{"vertex_sizes", "20%/50%"}, {"snapshot_sizes", "1/2"}});
          request["ranks"] = 2, request["epochs"] = epochs, request["warmup"] = 0;
          return case_from_json(request, "");
        };
        const std::string what = fmt::format("{}-{}-{}", name, presence, adjuster);
        const CaseResult whole = run_case(of(5));
        ASSERT_EQ(whole.status, "ok") << what << whole.reason;
        ModelOutputs outputs;
        outputs.checkpoint = folder.file(what + ".safetensors");
        ASSERT_EQ(run_case(of(2), nullptr, outputs).status, "ok");
        outputs.resume_training = true;
        const CaseResult rest = run_case(of(5), nullptr, outputs);
        ASSERT_EQ(rest.status, "ok") << rest.reason;
        EXPECT_EQ(rest.loss.per_epoch, whole.loss.per_epoch) << what;
      }
    }
  }
}

// Adjusters that watch losses go by seconds, which repeat in virtual time.
TEST(ResumedAdjusters, GoOnBitForBitInVirtualTime) {
  const test::TemporaryFolder folder;
  const RandomEvents events(11, 60, 900);
  for (const char* adjuster : {"dqn", "bandit", "best_fixed", "marginal"}) {
    for (const char* watch : {"batches", "fixed"}) {
      for (const char* averaging : {"sync", "async"}) {
        const auto of = [&](int epochs) {
          Json strategy = {{"name", "hybrid_batch"}, {"generator", "inline"}, {"adjuster", adjuster}, {"watch", watch}};
          strategy["averaging"] = averaging, strategy["interval"] = "2";
          strategy["vertex_sizes"] = strategy["snapshot_sizes"] = "20%/50%";
          Json request = hybrid_case(events.workload(8), "t-gcn", strategy, 2, epochs);
          request["device"] = "sim", request["cluster"] = "dynahb-2080ti", request["numerics"] = "cpu";
          return case_from_json(request, "");
        };
        const std::string what = fmt::format("{}-{}-{}", adjuster, watch, averaging);
        const CaseResult whole = run_case(of(9));
        ASSERT_EQ(whole.status, "ok") << what << whole.reason;
        ModelOutputs outputs;
        outputs.checkpoint = folder.file(what + ".safetensors");
        ASSERT_EQ(run_case(of(5), nullptr, outputs).status, "ok");
        outputs.resume_training = true;
        const CaseResult rest = run_case(of(9), nullptr, outputs);
        ASSERT_EQ(rest.status, "ok") << rest.reason;
        EXPECT_EQ(rest.loss.per_epoch, whole.loss.per_epoch) << what;
      }
    }
  }
}

// The fixed batch is judged within the epoch: its seconds and its bytes are the epoch's.
TEST(WatchedBatch, CostsWhatItCosts) {
  const RandomEvents events(12, 60, 900);
  const auto epoch = [&](const char* watch) {
    Json strategy = {{"name", "hybrid_batch"}, {"generator", "inline"}, {"adjuster", "bandit"}, {"watch", watch}};
    strategy["vertex_sizes"] = "50%", strategy["snapshot_sizes"] = "50%";
    Json request = hybrid_case(events.workload(8), "t-gcn", strategy, 2, 2);
    request["device"] = "sim", request["cluster"] = "dynahb-2080ti", request["numerics"] = "cpu";
    return run(request);
  };
  const CaseResult batches = epoch("batches"), fixed = epoch("fixed");
  ASSERT_EQ(fixed.status, "ok") << fixed.reason;
  EXPECT_EQ(fixed.loss.per_epoch, batches.loss.per_epoch) << "with one size to choose, training is the same";
  EXPECT_EQ(fixed.samples.back().sent_bytes[Traffic::other] - batches.samples.back().sent_bytes[Traffic::other],
            2 * sizeof(double))
      << "two numbers around a ring of two";
  EXPECT_GT(fixed.samples.back().epoch_seconds, 1.1 * batches.samples.back().epoch_seconds);
}

// In a generated workload, `features` is the number of drawn features, not the name of a file.
TEST(HybridTraining, ReadsTheFeaturesOfAMadeGraph) {
  const Json made = {{"name", "extended_static"},
                     {"vertices", 60},
                     {"edges", 400},
                     {"steps", 10},
                     {"features", 20},
                     {"words", 4},
                     {"classes", 3}};
  for (const char* strategy : {"hybrid_batch", "vertex"}) {
    Json request = hybrid_case(made, "t-gcn", {{"name", strategy}}, 2, 4);
    request["task"] = {{"name", "vertex-classification"}, {"classes", 3}};
    const CaseResult result = run(request);
    ASSERT_EQ(result.status, "ok") << result.reason;
    EXPECT_LT(result.loss.per_epoch.back(), 2) << strategy << ": ln 3 is that of knowing nothing";
  }
}

void expect_batches_refused(Json request, const std::string& pointer) {
  try {
    plan_of(request);
    FAIL() << request["strategy"].dump() << " was taken";
  } catch (const InvalidRequest& error) {
    EXPECT_NE(std::string(error.what()).find(pointer), std::string::npos) << error.what();
  }
}

TEST(HybridRefusals, SayWhatToChange) {
  const RandomEvents events(2, 40, 300);
  const auto with = [&](const char* option, const char* value) {
    return hybrid_case(events.workload(6), "t-gcn", {{"name", "hybrid_batch"}, {option, value}}, 2);
  };
  expect_batches_refused(with("vertices", "1%"), "/strategy/vertices");
  expect_batches_refused(with("snapshots", "1%"), "/strategy/snapshots");
  expect_batches_refused(with("snapshots", "60"), "/strategy/snapshots");
  expect_batches_refused(with("interval", "0"), "/strategy/interval");
  expect_batches_refused(with("partitioner", "nobody"), "/strategy/partitioner");
  Json request = with("adjuster", "dqn");
  request["strategy"]["vertex_sizes"] = "0.1%";
  expect_batches_refused(request, "/strategy/vertex_sizes");
  request = with("adjuster", "dqn");
  request["device"] = "sim", request["cluster"] = "aimos-v100";
  expect_batches_refused(request, "/strategy/adjuster");
  expect_batches_refused(with("watch", "fixed"), "/strategy/watch");
  request = with("vertices", "50%");
  request["ranks"] = 41;
  expect_batches_refused(request, "vertices");
}

}  // namespace
}  // namespace strobe
