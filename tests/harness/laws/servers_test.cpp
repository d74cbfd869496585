// Laws of exchanges through servers. Losses, metrics and weights are those from peer to peer, bit for bit, for every
// strategy with halos and every model. Real and simulated runs send the planned bytes (a case that breaks this fails),
// and the planned memory of every rank is the measured one.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/registry_names.hpp"
#include "harness/placement/strategy.hpp"
#include "harness/request/case.hpp"
#include "harness/run/run_case.hpp"
#include "harness/training/make_plan.hpp"
#include "harness/training/planned_peak.hpp"
#include "models/snapshots/model.hpp"
#include "tests/harness/plans.hpp"

namespace strobe::server_laws_test {
namespace {

Json request(const std::string& model, const std::string& strategy, int ranks, int servers, int epochs = 3) {
  return {{"workload", {{"name", "chess"}, {"window_count", 9}}},
          {"model", {{"name", model}}},
          {"strategy", {{"name", strategy}, {"servers", servers}}},
          {"ranks", ranks},
          {"epochs", epochs},
          {"warmup", 0},
          {"optimizer", {{"name", "adam"}, {"rate", 0.01}}}};
}

CaseResult run(const Json& json, const ModelOutputs& outputs = {}) {
  const CaseResult result = run_case(case_from_json(json, ""), nullptr, outputs);
  EXPECT_EQ(result.status, "ok") << json.dump() << result.reason;
  return result;
}

/// Bytes that all ranks sent, by traffic.
PerTraffic<std::uint64_t> sent(const CaseResult& result) {
  PerTraffic<std::uint64_t> bytes{};
  for (const EpochSample& sample : result.samples) {
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] += sample.sent_bytes[i];
  }
  return bytes;
}

/// Compares the case with the one from peer to peer.
void expect_same_training(Json json, const std::string& what) {
  const CaseResult served = run(json);
  json["strategy"]["servers"] = 0;
  const CaseResult peers = run(json);
  ASSERT_FALSE(peers.loss.per_epoch.empty()) << what;
  EXPECT_EQ(served.loss.per_epoch, peers.loss.per_epoch) << what;
  ASSERT_EQ(served.metrics.size(), peers.metrics.size()) << what;
  for (const auto& [name, series] : peers.metrics)
    EXPECT_EQ(served.metrics.at(name).per_epoch, series.per_epoch) << what << " " << name;
  EXPECT_TRUE(served.exact) << what;
  for (const Traffic traffic : {Traffic::redistribute, Traffic::gradient, Traffic::other})
    EXPECT_EQ(sent(served)[traffic], sent(peers)[traffic]) << what;
  const std::uint64_t own = sent(peers)[Traffic::halo];
  EXPECT_GE(2 * own, sent(served)[Traffic::halo]) << what << ": a row crosses at most twice";
}

/// All but `file`, which needs a file of owners: file_strategy_test.cpp.
std::vector<std::string> strategies_with_halos() {
  std::vector<std::string> names;
  for (const auto& [name, entry] : StrategyRegistry::instance().entries()) {
    if (name != "file" && has_stale_fields(entry.parameters)) names.push_back(name);
  }
  return names;
}

class Servers : public testing::TestWithParam<std::string> {};

TEST_P(Servers, GiveTheLossesOfPeersUnderEveryStrategy) {
  ASSERT_GE(strategies_with_halos().size(), 4u);
  for (const std::string& strategy : strategies_with_halos()) {
    for (const auto& [ranks, servers] : {std::pair{2, 1}, std::pair{4, 3}}) {
      expect_same_training(request(GetParam(), strategy, ranks, servers),
                           GetParam() + "/" + strategy + "/r" + std::to_string(ranks));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Servers, testing::ValuesIn(names_with<ModelTag>(&ModelTag::Value::family, "snapshots")),
                         [](const auto& model) {
                           std::string name = model.param;
                           for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
                           return name;
                         });

class ServerOptions : public testing::TestWithParam<std::string> {};

TEST_P(ServerOptions, GoTogetherWithBlocksAndCellsThatExist) {
  for (const std::string strategy : {"vertex", "chunk", "pss"}) {
    Json json = request(GetParam(), strategy, 2, 1, 2);
    json["nb"] = 3;
    expect_same_training(json, strategy + " in blocks");
    json = request(GetParam(), strategy, 3, 2, 2);
    json["presence"] = "active";
    expect_same_training(json, strategy + " with active cells");
    json["nb"] = 2;
    json["precision"] = "fp64";
    expect_same_training(json, strategy + " with active cells in blocks");
  }
}

TEST_P(ServerOptions, GoTogetherWithFusionSlicesAndOneRank) {
  for (const std::string fusion : {"none", "spatial", "temporal", "both"}) {
    Json json = request(GetParam(), "chunk", 3, 1, 2);
    json["strategy"]["fusion"] = fusion;
    expect_same_training(json, "fused " + fusion);
  }
  Json slices = request(GetParam(), "snapshot_groups", 4, 2, 2);
  slices["overlap"] = 2;
  slices["strategy"]["group_size"] = 2;
  expect_same_training(slices, "in slices");
  expect_same_training(request(GetParam(), "vertex", 1, 1, 2), "one rank");
}

INSTANTIATE_TEST_SUITE_P(Walks, ServerOptions, testing::Values("tm-gcn", "t-gcn", "dysat"), [](const auto& model) {
  return model.param == "tm-gcn" ? "window" : model.param == "t-gcn" ? "recurrence" : "attention";
});

TEST(ServerLaws, ManySeedsAndPartitionersGiveTheLossesOfPeers) {
  for (const int seed : {1, 2, 3}) {
    for (const std::string partitioner : {"hash", "range"}) {
      Json json = request("cd-gcn", "vertex", 7, 1 + 2 * seed);
      json["seed"] = seed;
      json["strategy"]["partitioner"] = partitioner;
      json["workload"] = {{"name", "uniform"}, {"vertices", 50}, {"steps", 8}, {"density", 3}};
      expect_same_training(json, partitioner);
    }
  }
}

TEST(ServerLaws, SimulatedRunsSendWhatRealOnesSend) {
  for (const std::string& strategy : strategies_with_halos()) {
    for (const std::string model : {"tm-gcn", "t-gcn"}) {
      for (const int servers : {1, 3}) {
        const Json real = request(model, strategy, 4, servers, 1);
        Json simulated = real;
        simulated["device"] = "sim", simulated["cluster"] = "aimos-v100";
        const PerTraffic<std::uint64_t> there = sent(run(simulated));
        EXPECT_EQ(sent(run(real)), there) << model << strategy << servers;
        EXPECT_EQ(there, test::full_batch_plan(case_from_json(real, ""))->planned_bytes) << model << strategy;
      }
    }
  }
}

TEST(ServerLaws, ASimulatedRunWithValuesHasTheLossesOfARealOne) {
  for (const std::string model : {"tm-gcn", "t-gcn"}) {
    Json real = request(model, "vertex", 4, 2);
    real["precision"] = "fp64";
    Json simulated = real;
    simulated["device"] = "sim", simulated["numerics"] = "cpu", simulated["cluster"] = "aimos-v100:host_memory=shared";
    EXPECT_EQ(run(simulated).loss.per_epoch, run(real).loss.per_epoch);
    simulated["cluster"] = "aimos-v100";
    expect_same_training(simulated, model);
  }
}

TEST(ServerLaws, PlannedMemoryIsTheMeasuredOne) {
  for (const std::string model : {"tm-gcn", "t-gcn"}) {
    for (const std::string strategy : {"vertex", "pss"}) {
      for (const std::string device : {"cpu", "sim"}) {
        Json json = request(model, strategy, 4, 1);
        json["device"] = device;
        if (device == "sim") json["cluster"] = "aimos-v100";
        const Case c = case_from_json(json, "");
        std::uint64_t peak = 0;
        for (const EpochSample& sample : run(json).samples)
          peak = std::max({peak, sample.peak_host_bytes, sample.peak_device_bytes});
        EXPECT_EQ(planned_peak(*make_plan(c)).bytes, peak) << model << strategy << device;
      }
    }
  }
}

double slowest_epoch(const Json& json) {
  double most = 0;
  for (const EpochSample& sample : run(json).samples) most = std::max(most, sample.epoch_seconds);
  return most;
}

TEST(ServerLaws, OneServerOfManyRanksIsABottleneckThatASimulationShows) {
  Json json = request("tm-gcn", "vertex", 16, 0, 1);
  json["workload"] = {{"name", "uniform"}, {"vertices", 4000}, {"steps", 12}, {"density", 5}};
  json["device"] = "sim", json["cluster"] = "aimos-v100";
  json["strategy"]["partitioner"] = "hash";
  const auto seconds = [&](int servers) {
    json["strategy"]["servers"] = servers;
    return slowest_epoch(json);
  };
  const double peers = seconds(0), one = seconds(1), some = seconds(4), all = seconds(16);
  EXPECT_GT(one, 2 * peers);
  EXPECT_GT(one, some);
  EXPECT_GT(some, all);
  EXPECT_GT(all, peers);
}

TEST(ServerFiles, TrainingGoesOnThroughServersOrFromPeerToPeer) {
  std::string pattern = (std::filesystem::temp_directory_path() / "strobe-servers-XXXXXX").string();
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  const auto checkpoint = [&](bool resume) {
    ModelOutputs outputs;
    outputs.checkpoint = (std::filesystem::path(pattern) / "state").string();
    outputs.resume_training = resume;
    return outputs;
  };
  for (const int blocks : {1, 2}) {
    const auto of = [&](int servers, int epochs) {
      Json json = request("mpnn-lstm", "vertex", 3, servers, epochs);
      json["nb"] = blocks;
      return json;
    };
    const CaseResult whole = run(of(2, 6));
    for (const auto& [before, after] : {std::pair{2, 2}, std::pair{0, 2}, std::pair{2, 0}}) {
      run(of(before, 3), checkpoint(false));
      EXPECT_EQ(run(of(after, 6), checkpoint(true)).loss.per_epoch, whole.loss.per_epoch) << before << after;
    }
  }
  std::filesystem::remove_all(pattern);
}

TEST(ServerRefusals, SayWhatToTypeInstead) {
  const auto expect = [](const Json& json, const std::string& advice) {
    try {
      run_case(case_from_json(json, ""));
      FAIL() << "accepted " << json.dump();
    } catch (const InvalidRequest& error) {
      EXPECT_EQ(error.where(), "/strategy/servers") << error.message();
      EXPECT_NE(error.message().find(advice), std::string::npos) << error.message();
    }
  };
  expect(request("tm-gcn", "vertex", 2, 3), "set servers=2 or fewer");
  expect(request("tm-gcn", "vertex", 2, -1), "between 0 and");
  expect(request("tm-gcn", "snapshot", 2, 1), "snapshot_groups or vertex");
  expect(request("tm-gcn", "sequential", 1, 1), "leave servers out");
  Json json = request("tm-gcn", "vertex", 3, 1);
  json["strategy"]["stale"] = "adaptive";
  expect(json, "stale=none");
  run(request("tm-gcn", "snapshot", 2, 0));
}

TEST(ServerRefusals, NoServersLeaveTheCaseAsItWas) {
  Json plain = request("tm-gcn", "vertex", 2, 0);
  const Json with = case_to_json(case_from_json(plain, ""));
  plain["strategy"].erase("servers");
  EXPECT_EQ(with, case_to_json(case_from_json(plain, "")));
  EXPECT_FALSE(with.at("strategy").contains("servers"));
  EXPECT_EQ(case_to_json(case_from_json(request("tm-gcn", "vertex", 2, 2), "")).at("strategy").at("servers"), 2);
}

}  // namespace
}  // namespace strobe::server_laws_test
