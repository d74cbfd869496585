// Whole cases on device sim: bytes equal the plan of real runs, for every strategy, model and rank count. Also what-if
// cases, memory verdicts with their place, metamorphic relations of whole epochs, and the bundled suite.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "backends/cluster.hpp"
#include "backends/cpu/register_bytes.hpp"
#include "core/errors.hpp"
#include "core/registry_names.hpp"
#include "harness/placement/strategy.hpp"
#include "harness/request/case.hpp"
#include "harness/request/suite.hpp"
#include "harness/run/run_case.hpp"
#include "harness/training/make_plan.hpp"
#include "models/snapshots/model.hpp"
#include "tests/full_batch_strategies.hpp"
#include "tests/harness/plans.hpp"

namespace strobe {
namespace {

Json simulated_case(const std::string& model, const std::string& strategy, int ranks) {
  return {{"workload", "ucsocial"}, {"model", {{"name", model}}}, {"strategy", strategy}, {"ranks", ranks},
          {"device", "sim"},        {"cluster", "aimos-v100"},    {"epochs", 1},          {"warmup", 0}};
}

CaseResult run(const Json& json) { return run_case(case_from_json(json, "")); }

double slowest_epoch(const Json& json) {
  const CaseResult result = run(json);
  EXPECT_EQ(result.status, "ok") << result.reason;
  double most = 0;
  for (const EpochSample& sample : result.samples) most = std::max(most, sample.epoch_seconds);
  return most;
}

class SimulatedBytes : public testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(SimulatedBytes, AreThoseOfTheRealPlanAtEveryRankCount) {
  // A run that does not send its plan's bytes fails, real or simulated. law3_test shows this for real runs.
  const auto& [model, strategy] = GetParam();
  for (const int ranks : {1, 2, 3, 4, 7}) {
    if (strategy == "sequential" && ranks > 1) continue;
    const Json simulated = simulated_case(model, strategy, ranks);
    Json real = simulated;
    real.erase("cluster");
    real["device"] = "cpu";
    const CaseResult result = run(simulated);
    ASSERT_EQ(result.status, "ok") << result.reason;
    const std::shared_ptr<const FullBatchPlan> plan = test::full_batch_plan(case_from_json(real, ""));
    PerTraffic<std::uint64_t> sent{};
    for (const EpochSample& sample : result.samples) {
      for (std::size_t i = 0; i < sent.size(); ++i) sent[i] += sample.sent_bytes[i];
    }
    EXPECT_EQ(sent, plan->planned_bytes) << ranks << " ranks";
    std::uint64_t total = 0;
    for (const std::uint64_t bytes : sent) total += bytes;
    EXPECT_EQ(total == 0, ranks == 1);
  }
}

INSTANTIATE_TEST_SUITE_P(All, SimulatedBytes,
                         testing::Combine(testing::ValuesIn(names_with<ModelTag>(&ModelTag::Value::family,
                                                                                 "snapshots")),
                                          testing::ValuesIn(test::full_batch_strategies())),
                         [](const auto& parameter) {
                           std::string name = std::get<0>(parameter.param) + "_" + std::get<1>(parameter.param);
                           for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
                           return name;
                         });

TEST(WholeEpochs, HalfOfAnyBandwidthIsNeverFaster) {
  for (const std::string strategy : {"snapshot", "vertex"}) {
    Json json = simulated_case("tm-gcn", strategy, 16);
    const double fast = slowest_epoch(json);
    for (const std::string change :
         {"intra_node_bytes_per_second=6e10", "inter_node_bytes_per_second=1.2e10",
          "gpu.memory_bytes_per_second=3.7e11", "host_to_device_bytes_per_second=5e9", "gpu.flops_fp32_per_second=3e12",
          "gpu.l2_bytes=3000000", "inter_node_latency_seconds=1e-5", "compute_slowdown_factor=1.2"}) {
      json["cluster"] = "aimos-v100:" + change;
      EXPECT_GE(slowest_epoch(json), fast) << strategy << " " << change;
    }
  }
}

TEST(WholeEpochs, IdealLinksLeaveTheTimeOfTheDevices) {
  const std::string path =
      (std::filesystem::temp_directory_path() / fmt::format("strobe-ideal-cluster-{}.json", getpid())).string();
  Json file = load_cluster("aimos-v100")->raw;
  file["gpu"].erase("architecture");
  for (const char* key : {"intra_node_bytes_per_second", "inter_node_bytes_per_second"}) file[key]["value"] = 1e30;
  for (const char* key : {"intra_node_latency_seconds", "inter_node_latency_seconds"}) file[key]["value"] = 0;
  for (const char* key : {"message_seconds", "all_to_all_peer_seconds"}) file[key].update({{"value", 0}, {"low", 0}});
  std::ofstream(path) << file.dump();
  Json json = simulated_case("tm-gcn", "snapshot", 16);
  json["cluster"] = path;
  const CaseResult result = run(json);
  ASSERT_EQ(result.status, "ok") << result.reason;
  for (const EpochSample& sample : result.samples) {
    EXPECT_LT(sample.phase_seconds[Phase::communicate], 1e-12);
    EXPECT_GT(sample.phase_seconds[Phase::compute], 0.0);
  }
  std::filesystem::remove(path);
}

TEST(WholeEpochs, OneRankSendsNothingAndWaitsForNobody) {
  const CaseResult result = run(simulated_case("tm-gcn", "snapshot", 1));
  ASSERT_EQ(result.samples.size(), 1u);
  const EpochSample& sample = result.samples[0];
  for (const std::uint64_t bytes : sample.sent_bytes) EXPECT_EQ(bytes, 0u);
  EXPECT_EQ(sample.phase_seconds[Phase::communicate], 0.0);
  EXPECT_EQ(sample.phase_seconds[Phase::wait], 0.0);
}

TEST(WhatIf, ClusterKeysAreSetFromTheCommandLineAndInSuites) {
  Setting nodes{"cluster.nodes", "4", "--set cluster.nodes"};
  const Json suite = {{"defaults", {{"workload", "ucsocial"}, {"device", "sim"}}}, {"cases", {{{"ranks", 8}}}}};
  EXPECT_EQ(expand_suite(suite, {nodes}).cases.at(0).cluster, "aimos-v100:nodes=4");
  const Setting other{"cluster", "p4d-a100", "--cluster"};
  EXPECT_EQ(expand_suite(suite, {nodes, other}).cases.at(0).cluster, "p4d-a100:nodes=4");
  const Json matrix = {{"defaults", {{"workload", "ucsocial"}, {"device", "sim"}}},
                       {"cases", {{{"matrix", {{"cluster.nodes", {2, 4}}, {"cluster", {"aimos-v100", "p4d-a100"}}}}}}}};
  std::vector<std::string> clusters;
  for (const Case& c : expand_suite(matrix, {}).cases) clusters.push_back(c.cluster);
  EXPECT_EQ(clusters, (std::vector<std::string>{"aimos-v100:nodes=2", "p4d-a100:nodes=2", "aimos-v100:nodes=4",
                                                "p4d-a100:nodes=4"}));
  const Json object = {{"name", "aimos-v100"}, {"nodes", 2}, {"gpu", {{"l2_bytes", 1000}}}};
  const Json nested = {{"defaults", {{"workload", "ucsocial"}, {"device", "sim"}, {"cluster", object}}},
                       {"cases", {{{"ranks", 8}}}}};
  EXPECT_EQ(expand_suite(nested, {}).cases.at(0).cluster, "aimos-v100:gpu.l2_bytes=1000,nodes=2");
}

TEST(WhatIf, WrongOnesNameTheOption) {
  const auto refusal = [](const std::string& key, const std::string& value, int ranks) -> std::string {
    const Json suite = {{"defaults", {{"workload", "ucsocial"}, {"device", "sim"}}}, {"cases", {{{"ranks", ranks}}}}};
    try {
      expand_suite(suite, {{key, value, "--set " + key}});
    } catch (const InvalidRequest& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal("cluster.nodes", "2", 16), "accepted");
  EXPECT_NE(refusal("cluster.nodes", "2", 17).find("17 ranks do not fit"), std::string::npos);
  EXPECT_NE(refusal("cluster.node", "2", 8).find("/node: "), std::string::npos) << refusal("cluster.node", "2", 8);
  EXPECT_NE(refusal("cluster.inter_node_latency_seconds", "-1", 8).find("/inter_node_latency_seconds/value"),
            std::string::npos);
}

TEST(WhatIf, MoreNodesThanDescribedAreMarked) {
  Json json = simulated_case("tm-gcn", "vertex", 136);
  EXPECT_THROW(case_from_json(json, ""), InvalidRequest);
  json["cluster"] = "aimos-v100:nodes=17";
  const CaseResult result = run(json);
  ASSERT_EQ(result.status, "ok") << result.reason;
  EXPECT_NE(
      std::find(result.notes.begin(), result.notes.end(), "extrapolated to 17 nodes; the cluster file describes 16"),
      result.notes.end());
  Json sold = simulated_case("tm-gcn", "vertex", 8);
  sold["cluster"] = "p5-h100";
  const std::vector<std::string> notes = run(sold).notes;
  EXPECT_NE(std::find(notes.begin(), notes.end(), "price 55.04 USD per node hour, us-east-1, 2026-09-25"), notes.end());
}

TEST(WhatIf, MoreRanksThanASourceCoversAreMarked) {
  Json json = simulated_case("tm-gcn", "vertex", 16);
  const auto marked = [&json](const char* cluster) {
    json["cluster"] = cluster;
    const std::vector<std::string> notes = run(json).notes;
    return std::any_of(notes.begin(), notes.end(),
                       [](const std::string& note) { return note.rfind("extrapolated beyond", 0) == 0; });
  };
  EXPECT_FALSE(marked("aimos-v100"));
  EXPECT_FALSE(marked("aimos-v100:covered_ranks=16"));
  EXPECT_TRUE(marked("aimos-v100:covered_ranks=15"));
  EXPECT_TRUE(marked("dynahb-2080ti:nodes=16"));
}

// Point-to-point messages of an exchange are issued one by one, so an epoch takes at least those of its busiest rank.
TEST(MessageLaw, NoEpochIsShorterThanTheMessagesOfARank) {
  for (const std::string& cluster : cluster_names()) {
    for (const auto& [strategy, ranks] : {std::pair{"vertex", 96}, {"snapshot", 27}}) {
      Json json = simulated_case("tm-gcn", strategy, ranks);
      json["cluster"] = load_cluster(cluster)->inter_node_bytes_per_second > 0 ? cluster + ":nodes=96"
                                                                               : cluster + ":gpus_per_node=96";
      std::vector<std::vector<Span>> spans;
      const Case c = case_from_json(json, "");
      const CaseResult result = run_planned(make_plan(c), c, &spans);
      ASSERT_EQ(result.status, "ok") << result.reason;
      double floor = 0;
      for (const std::vector<Span>& rank : spans) {
        double messages = 0;
        for (const Span& span : rank) messages += span.name == "all_to_all_v" ? span.messages : 0;
        floor = std::max(floor, messages * 2.75e-7);
      }
      double end = 0;
      for (const std::vector<Span>& rank : spans) {
        for (const Span& span : rank) end = std::max(end, span.end_seconds);
      }
      EXPECT_GT(floor, 0) << strategy;
      EXPECT_GE(end, floor) << cluster << " " << strategy;
    }
  }
}

TEST(Memory, TheVerdictSaysWhereItBroke) {
  Json json = simulated_case("tm-gcn", "snapshot", 4);
  std::uint64_t peak = 0;
  for (const EpochSample& sample : run(json).samples) peak = std::max(peak, sample.peak_device_bytes);
  ASSERT_GT(peak, 3500000u);
  json["cluster"] = "aimos-v100:gpu.communication_buffer_bytes=0,gpu.reserved_bytes=0,gpu.memory_bytes=" +
                    std::to_string((peak + 2097151) / 2097152 * 2097152);
  EXPECT_EQ(run(json).status, "ok");
  json["memory_limit_gib"] = 0.6 * static_cast<double>(peak) / (1 << 30);
  const CaseResult result = run(json);
  EXPECT_EQ(result.status, "out_of_memory");
  EXPECT_NE(result.reason.find("in epoch 0, after operation "), std::string::npos) << result.reason;
  json["memory_limit_gib"] = 1e-4;
  EXPECT_NE(run(json).reason.find("before the first epoch"), std::string::npos) << run(json).reason;
}

TEST(Memory, RowsByLengthTakeWhatTheyTakeOnTheCpu) {
  for (const auto& [strategy, model] : {std::pair{"sequential", "dcrnn"}, {"vertex", "tm-gcn"}, {"vertex", "dcrnn"}}) {
    Json json = simulated_case(model, strategy, strategy == std::string("sequential") ? 1 : 2);
    json["workload"] = {{"name", "uniform"}, {"vertices", 60}, {"steps", 13}, {"density", 3}};
    const auto peak = [&](const std::string& device, const std::string& cluster) {
      json["device"] = device;
      json["cluster"] = cluster;
      std::uint64_t most = 0;
      for (const EpochSample& sample : run(json).samples) most = std::max(most, sample.peak_host_bytes);
      return most;
    };
    const std::string machine = "aimos-v100:host_memory=shared,gpu.allocation_bytes=0,gpu.stores_transpose=true";
    const std::string narrow = ",gpu.narrow_bytes=" + std::to_string(cpu_register_bytes());
    const std::uint64_t real = peak("cpu", "");
    EXPECT_GT(real, 0u);
    EXPECT_EQ(peak("sim", machine + narrow), real) << strategy << " " << model;
    EXPECT_NE(peak("sim", machine), real) << strategy << " " << model;
  }
}

TEST(Memory, RowsByLengthStandForPairsOfSteps) {
  // Without the graph it is unknown whether steps overlap enough for pairs. The peak may not be too low for that
  // reason.
  for (const auto& [strategy, model] :
       {std::pair{"sequential", "evolve-gcn-o"}, {"pss", "evolve-gcn-h"}, {"pss", "t-gcn"}}) {
    Json json = simulated_case(model, strategy, strategy == std::string("sequential") ? 1 : 2);
    const auto peaks = [&](const std::string& device, const std::string& cluster) {
      json["device"] = device;
      json["cluster"] = cluster;
      std::vector<std::uint64_t> ranks;
      for (const EpochSample& sample : run(json).samples) ranks.push_back(sample.peak_host_bytes);
      return ranks;
    };
    const std::string machine =
        "aimos-v100:host_memory=shared,gpu.allocation_bytes=0,gpu.stores_transpose=true,gpu.narrow_bytes=" +
        std::to_string(cpu_register_bytes());
    const std::vector<std::uint64_t> real = peaks("cpu", ""), predicted = peaks("sim", machine);
    ASSERT_EQ(predicted.size(), real.size()) << strategy << " " << model;
    ASSERT_FALSE(real.empty());
    for (std::size_t i = 0; i < real.size(); ++i) {
      EXPECT_GE(predicted[i], real[i]) << strategy << " " << model;
      EXPECT_LT(static_cast<double>(predicted[i]), 1.05 * static_cast<double>(real[i])) << strategy << " " << model;
    }
  }
}

TEST(VirtualConvergence, LossesEqualTheRealRunsAndSecondsAreTheClusters) {
  const Suite suite = load_suite(std::string(STROBE_SOURCE_DIR) + "/suites/esdg/virtual_convergence.json", {});
  ASSERT_EQ(suite.cases.size(), 2u);
  for (Case simulated : suite.cases) {
    EXPECT_EQ(simulated.ranks, 64);
    EXPECT_EQ(simulated.cluster, "aimos-v100");
    simulated.epochs = 2;
    Case real = simulated;
    real.device = "cpu";
    real.comm = "local";
    real.cluster.clear();
    const CaseResult a = run_case(simulated), b = run_case(real);
    ASSERT_EQ(a.status, "ok") << a.reason;
    ASSERT_EQ(b.status, "ok") << b.reason;
    ASSERT_EQ(a.loss.per_epoch.size(), 3u);
    ASSERT_EQ(b.loss.per_epoch.size(), 3u);
    // Device cpu stores sparse matrices twice when that is faster, so single-precision sums may round differently.
    for (std::size_t e = 0; e < 3; ++e) EXPECT_NEAR(a.loss.per_epoch[e] / b.loss.per_epoch[e], 1.0, 1e-6);
    EXPECT_EQ(a.time_source, "virtual");
    Case shapes = simulated;
    shapes.numerics = "none";
    EXPECT_EQ(run_case(shapes).samples.front().epoch_seconds, a.samples.front().epoch_seconds);
  }
}

}  // namespace
}  // namespace strobe
