// Law 3, same mathematics: every registered exact strategy gives the sequential loss curve at every rank count, for
// every registered model, on every bundled data set. Long runs add 7 ranks and the remaining cases. A new strategy or
// model is tested here without an edit. In fp64 the relative difference is below 1e-10 after 5 epochs;
// law3_fp32_test.cpp tests fp32. The plan's bytes equal the sent bytes in every case (run_case fails a case that breaks
// this).
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "backends/communicator.hpp"
#include "core/hash.hpp"
#include "core/registry_names.hpp"
#include "harness/placement/strategy.hpp"
#include "harness/request/case.hpp"
#include "harness/run/run_case.hpp"
#include "models/snapshots/model.hpp"
#include "tests/full_batch_strategies.hpp"
#include "tests/harness/run/results_of.hpp"
#include "tests/long.hpp"
#include "workloads/partitioners/partitioner.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

using test::epoch_bytes;

/// A bundled data set in a few full steps, so that every model can run at every rank count.
Json coarse(const std::string& name) {
  Json workload = {{"name", name}};
  if (name == "amlsim-20k") workload["window"] = "15";
  if (name == "chess") workload["window_count"] = 10;
  return workload;
}

Json small_case(const std::string& workload, const std::string& model) {
  Json request = {{"workload", {{"name", workload}}},
                  {"model", {{"name", model}}},
                  {"epochs", 4},
                  {"warmup", 1},
                  {"optimizer", {{"name", "adam"}, {"rate", 0.01}}},
                  {"precision", "fp64"}};
  return request;
}

CaseResult run(Json request, const std::string& strategy, int ranks) {
  request["strategy"]["name"] = strategy;
  request["ranks"] = ranks;
  const CaseResult result = run_case(case_from_json(request, ""));
  EXPECT_EQ(result.status, "ok") << strategy << " at " << ranks << " ranks: " << result.reason;
  return result;
}

void expect_same_curve(const CaseResult& a, const CaseResult& b, double tolerance, const std::string& what) {
  ASSERT_EQ(a.loss.per_epoch.size(), 5u) << what;
  ASSERT_EQ(b.loss.per_epoch.size(), 5u) << what;
  for (std::size_t e = 0; e < 5; ++e) {
    EXPECT_NEAR(a.loss.per_epoch[e] / b.loss.per_epoch[e], 1.0, tolerance) << what << " in epoch " << e;
  }
}

class Law3 : public testing::TestWithParam<std::tuple<std::string, std::string>> {};

// This set takes most of the time, so each test uses only a few rank counts on it.
const std::string largest_set = "amlsim-20k";

/// Rank counts of the tests of every model on a data set. All sets together cover 1 to 4 ranks. Long runs add the rest
/// of
/// 1, 2, 3, 4 and 7.
std::vector<int> rank_counts_of(const std::string& workload) {
  if (workload == largest_set) return test::is_long() ? std::vector<int>{7} : std::vector<int>{2};
  if (workload == "chess") return test::is_long() ? std::vector<int>{2, 3, 7} : std::vector<int>{1, 4};
  return test::is_long() ? std::vector<int>{1, 4, 7} : std::vector<int>{2, 3};
}

/// Compares every registered strategy at every rank count with the sequential run of `request`.
void judge_strategies(const Json& request, const std::string& what, const std::vector<int>& rank_counts) {
  const CaseResult sequential = run(request, "sequential", 1);
  ASSERT_EQ(sequential.loss.per_epoch.size(), 5u);
  EXPECT_LT(sequential.loss.per_epoch.back(), sequential.loss.per_epoch.front()) << "nothing was learnt";
  for (const std::string& strategy : test::full_batch_strategies()) {
    if (strategy == "sequential") continue;
    for (const int ranks : rank_counts) {
      const CaseResult result = run(request, strategy, ranks);
      if (!result.exact) continue;  // an approximation says so in its rows, and has tests of its own
      expect_same_curve(result, sequential, 1e-10, what + "/" + strategy + "/r" + std::to_string(ranks));
      for (const auto& [name, series] : sequential.metrics) {
        ASSERT_EQ(result.metrics.count(name), 1u) << strategy << " at " << ranks << " ranks lacks " << name;
        EXPECT_NEAR(result.metrics.at(name).per_epoch.back(), series.per_epoch.back(), 1e-3) << name;
      }
    }
  }
}

TEST_P(Law3, EveryStrategyGivesTheSequentialCurve) {
  const auto& [workload, model] = GetParam();
  Json request = small_case(workload, model);
  request["workload"] = coarse(workload);
  judge_strategies(request, workload + "/" + model, rank_counts_of(workload));
}

TEST(Law3Variants, AllStepsOfTheSetsThatQuickstartRuns) {
  judge_strategies(small_case("ucsocial", "tm-gcn"), "ucsocial", {2, 3});
  judge_strategies(small_case(largest_set, "tm-gcn"), largest_set, {3});
}

TEST(LongLaw3Variants, AllStepsOfTheSetsThatQuickstartRuns) {
  judge_strategies(small_case("ucsocial", "tm-gcn"), "ucsocial", {1, 4, 7});
  judge_strategies(small_case(largest_set, "tm-gcn"), largest_set, {4});
}

std::vector<std::string> bundled_sets() {
  std::vector<std::string> names;
  for (const auto& [name, entry] : DatasetRegistry::instance().entries()) {
    if (!entry.value.file.empty()) names.push_back(name);
  }
  return names;
}

auto sets_and_models() {
  return testing::Combine(testing::ValuesIn(bundled_sets()),
                          testing::ValuesIn(names_with<ModelTag>(&ModelTag::Value::family, "snapshots")));
}

std::string set_and_model_name(const testing::TestParamInfo<std::tuple<std::string, std::string>>& parameter) {
  std::string name = std::get<0>(parameter.param) + "_" + std::get<1>(parameter.param);
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, Law3, sets_and_models(), set_and_model_name);
INSTANTIATE_TEST_SUITE_P(Long, Law3, sets_and_models(), set_and_model_name);

/// Compares the vertex strategy under every partitioner, at these rank counts on the two sets. Only long runs train on
/// all steps of the largest: partitioners see its vertices, and AllStepsOfTheSetsThatQuickstartRuns its steps.
void judge_partitioners(const std::vector<int>& of_ucsocial, const std::vector<int>& of_largest) {
  for (const std::string& workload : {largest_set, std::string("ucsocial")}) {
    Json request = small_case(workload, "tm-gcn");
    if (!test::is_long()) request["workload"] = coarse(workload);
    const CaseResult sequential = run(request, "sequential", 1);
    for (const std::string& name : PartitionerRegistry::instance().names()) {
      Json partitioned = request;
      partitioned["strategy"] = {{"partitioner", name}};
      for (const int ranks : workload == largest_set ? of_largest : of_ucsocial) {
        expect_same_curve(run(partitioned, "vertex", ranks), sequential, 1e-10, workload + " vertex " + name);
      }
    }
  }
}

TEST(Law3Variants, EveryPartitionerIsExact) { judge_partitioners({2, 3}, {2}); }
TEST(LongLaw3Variants, EveryPartitionerIsExact) { judge_partitioners({4, 7}, {7}); }

TEST(Law3Variants, ModelOptionsKeepIt) {
  for (const Json& options :
       {Json{{"pairs", 2}}, Json{{"precompute", false}}, Json{{"last_activation", "none"}, {"window", 1}},
        Json{{"network", "linear"}}, Json{{"network", "selu"}}, Json{{"m", "inverse_distance"}, {"pairs", 2}},
        Json{{"network", "selu"}, {"m", "inverse_distance"}, {"precompute", false}}}) {
    Json request = small_case("ucsocial", "tm-gcn");
    request["model"].update(options);
    const CaseResult sequential = run(request, "sequential", 1);
    for (const std::string strategy : {"snapshot", "vertex", "pss"}) {
      expect_same_curve(run(request, strategy, 3), sequential, 1e-10, options.dump() + strategy);
    }
  }
}

TEST(Law3Variants, CheckpointBlocksOfABundledSet) {
  for (const std::string model : {"tm-gcn", "evolve-gcn-h"}) {
    Json request = small_case("chess", model);
    request["workload"] = coarse("chess");
    const CaseResult sequential = run(request, "sequential", 1);
    request["nb"] = 3;
    for (const std::string strategy : {"snapshot", "vertex", "pss"}) {
      expect_same_curve(run(request, strategy, 2), sequential, 1e-10, model + " in blocks under " + strategy);
    }
  }
}

TEST(Law3Variants, SgdToo) {
  Json request = small_case("ucsocial", "tm-gcn");
  request["optimizer"] = {{"name", "sgd"}, {"rate", 0.5}, {"momentum", 0.9}};
  expect_same_curve(run(request, "snapshot", 4), run(request, "sequential", 1), 1e-10, "sgd");
}

TEST(Bytes, SnapshotRedistributionIsTheFormulaOfThePaper) {
  // ESDG Table 2 without the checkpoint re-run: forward + backward = 2 S T N (P - 1) / P floats, S = 6 + 6.
  Json request = {{"workload", {{"name", "uniform"}, {"vertices", 64}, {"steps", 13}, {"density", 3}}},
                  {"model", {{"name", "tm-gcn"}}},
                  {"epochs", 1}};
  const CaseResult result = run(request, "snapshot", 4);  // trains on 12 steps
  EXPECT_EQ(epoch_bytes(result, Traffic::redistribute), 2u * 12u * 12u * 64u * 3u / 4u * 4u);
}

TEST(Bytes, SimulatedEqualReal) {
  for (const std::string workload : {"ucsocial", "amlsim-20k"}) {
    for (const std::string strategy : {"snapshot", "vertex"}) {
      for (const int ranks : {1, 2, 4, 7}) {
        Json real = small_case(workload, "tm-gcn");
        real["workload"] = coarse(workload);
        real["precision"] = "fp32";
        real["epochs"] = 1;
        Json simulated = real;
        simulated["device"] = "sim";
        simulated["cluster"] = "aimos-v100";
        const CaseResult a = run(real, strategy, ranks), b = run(simulated, strategy, ranks);
        for (int traffic = 0; traffic < traffic_count; ++traffic) {
          EXPECT_EQ(epoch_bytes(a, static_cast<Traffic>(traffic)), epoch_bytes(b, static_cast<Traffic>(traffic)))
              << workload << strategy << ranks << traffic_names[traffic];
        }
        EXPECT_EQ(b.time_source, "virtual");
        EXPECT_TRUE(b.loss.per_epoch.empty());
        EXPECT_FALSE(b.loss.absent_reason.empty());
      }
    }
  }
}

TEST(Simulated, ValuesInVirtualTimeEqualRealOnes) {
  Json real = small_case("ucsocial", "tm-gcn");
  Json simulated = real;
  simulated["device"] = "sim";
  simulated["numerics"] = "cpu";
  for (const std::string strategy : {"snapshot", "vertex"}) {
    const CaseResult a = run(real, strategy, 3);
    // With shared host memory, the simulated program is that of the cpu.
    simulated["cluster"] = "aimos-v100:host_memory=shared";
    const CaseResult b = run(simulated, strategy, 3);
    EXPECT_EQ(a.loss.per_epoch, b.loss.per_epoch) << strategy;
    EXPECT_EQ(b.time_source, "virtual");
    // A GPU's program copies tensors together that the cpu's kernels read in place, so results are equal up to
    // rounding.
    simulated["cluster"] = "aimos-v100";
    expect_same_curve(run(simulated, strategy, 3), a, 1e-10, strategy + " of a GPU");
  }
}

TEST(Simulated, SameProgramWithAndWithoutValues) {
  Json shapes = small_case("ucsocial", "tm-gcn");
  shapes["device"] = "sim";
  shapes["cluster"] = "aimos-v100";
  Json values = shapes;
  values["numerics"] = "cpu";
  for (const std::string strategy : {"snapshot", "vertex"}) {
    const CaseResult a = run(shapes, strategy, 4), b = run(values, strategy, 4);
    ASSERT_EQ(a.samples.size(), b.samples.size());
    for (std::size_t i = 0; i < a.samples.size(); ++i) {
      EXPECT_EQ(a.samples[i].epoch_seconds, b.samples[i].epoch_seconds) << strategy << " sample " << i;
      EXPECT_EQ(a.samples[i].peak_device_bytes, b.samples[i].peak_device_bytes);
    }
  }
}

TEST(Phases, AddUpToTheEpoch) {
  for (const std::string strategy : {"snapshot", "vertex"}) {
    const CaseResult result = run(small_case("ucsocial", "tm-gcn"), strategy, 3);
    ASSERT_EQ(result.samples.size(), 3u * 5u);
    for (const EpochSample& sample : result.samples) {
      double total = 0;
      for (const double phase : sample.phase_seconds) {
        EXPECT_GE(phase, 0.0);
        total += phase;
      }
      EXPECT_GT(sample.epoch_seconds, 0.0);
      EXPECT_NEAR(total, sample.epoch_seconds, 1e-9);
      EXPECT_GT(sample.peak_host_bytes, 0u);
    }
  }
}

TEST(Determinism, SameSeedSameBits) {
  const Json request = small_case("ucsocial", "tm-gcn");
  EXPECT_EQ(run(request, "vertex", 4).loss.per_epoch, run(request, "vertex", 4).loss.per_epoch);
  Json other = request;
  other["seed"] = 2;
  EXPECT_NE(run(request, "vertex", 2).loss.per_epoch, run(other, "vertex", 2).loss.per_epoch);
}

TEST(Requests, ImpossibleOnesAreRefused) {
  Json request = small_case("ucsocial", "tm-gcn");
  const auto refused = [&](const std::string& strategy, int ranks) {
    request["strategy"]["name"] = strategy;
    request["ranks"] = ranks;
    EXPECT_THROW(run_case(case_from_json(request, "")), InvalidRequest) << strategy << ranks;
  };
  refused("sequential", 2);
  refused("snapshot", 5000);
  refused("vertex", 5000);
  refused("snapshot", 0);
}

}  // namespace
}  // namespace strobe
