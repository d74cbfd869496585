// Laws of stale rows. With a threshold of zero the run equals the exact one bit for bit. The same holds when every
// changed row is sent and all gradients return. A real and a simulated run decide alike, evaluations are exact, and
// interrupted training goes on as if it had not stopped.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/errors.hpp"
#include "harness/files/model_files.hpp"
#include "harness/request/case.hpp"
#include "harness/run/run_case.hpp"
#include "workloads/reading/text/npy.hpp"

namespace strobe::stale_laws_test {
namespace {

Json request(const std::string& model, int ranks, const Json& options, int epochs = 5) {
  Json strategy = {{"name", "vertex"}};
  strategy.update(options);
  return {{"workload", {{"name", "chess"}, {"window_count", 8}}},
          {"model", model == "tm-gcn" ? Json{{"name", model}, {"last_activation", "none"}} : Json{{"name", model}}},
          {"strategy", strategy},
          {"ranks", ranks},
          {"epochs", epochs},
          {"warmup", 0},
          {"optimizer", {{"name", "adam"}, {"rate", 0.01}}},
          {"precision", "fp64"}};
}

CaseResult run(const Json& json, const ModelOutputs& outputs = {}) {
  const CaseResult result = run_case(case_from_json(json, ""), nullptr, outputs);
  EXPECT_EQ(result.status, "ok") << result.reason;
  return result;
}

const Json adaptive = {{"stale", "adaptive"}};
Json fixed(double theta) { return {{"stale", "static"}, {"stale_theta", theta}}; }

/// Bytes of `traffic` that all ranks sent in an epoch.
std::uint64_t bytes_of(const CaseResult& result, int epoch, Traffic traffic) {
  std::uint64_t bytes = 0;
  for (const EpochSample& sample : result.samples)
    if (sample.epoch == epoch) bytes += sample.sent_bytes[traffic];
  return bytes;
}

TEST(Stale, AThresholdOfZeroIsTheExactRunBitForBit) {
  for (const int ranks : {1, 2, 3, 4, 7}) {
    for (const int seed : {1, 2}) {
      Json exact = request("tm-gcn", ranks, Json::object()), zero = request("tm-gcn", ranks, fixed(0));
      exact["seed"] = zero["seed"] = seed;
      const CaseResult a = run(exact), b = run(zero);
      EXPECT_EQ(a.loss.per_epoch, b.loss.per_epoch) << ranks;
      EXPECT_EQ(a.metrics.at("auc").per_epoch, b.metrics.at("auc").per_epoch);
      for (int e = 0; e < 5; ++e) EXPECT_EQ(bytes_of(a, e, Traffic::halo), bytes_of(b, e, Traffic::halo));
      EXPECT_TRUE(b.exact);
      EXPECT_FALSE(b.facts.has("sent_share"));
    }
  }
}

TEST(Stale, WhereAllThatMovedIsSentTheRunIsTheExactOneBitForBit) {
  for (const std::string model : {"tm-gcn", "cd-gcn", "evolve-gcn-h", "mpnn-lstm", "t-gcn"}) {
    for (const int blocks : {1, 3}) {
      const int ranks = blocks == 1 ? 3 : 4;
      Json all = fixed(1e-300);
      all["stale_gradient"] = "always";
      all["distances"] = blocks == 1 ? "device" : "host";
      Json exact = request(model, ranks, Json::object()), stale = request(model, ranks, all);
      exact["nb"] = stale["nb"] = blocks;
      const CaseResult a = run(exact), b = run(stale);
      EXPECT_EQ(a.loss.per_epoch, b.loss.per_epoch) << model << blocks;
      EXPECT_EQ(a.metrics.at("auc").per_epoch, b.metrics.at("auc").per_epoch) << model << blocks;
      EXPECT_FALSE(b.exact);
      ASSERT_EQ(b.facts.get<std::vector<double>>("sent_share").size(), 5u);
      // A re-run uses the rows of the first pass: 2 of 3 passes send.
      EXPECT_NEAR(b.facts.get<std::vector<double>>("sent_share")[0], blocks == 1 ? 1.0 : 2.0 / 3.0, 1e-12) << model;
    }
  }
}

TEST(Stale, RealAndSimulatedRunsDecideAlike) {
  for (const Json& options : {adaptive, fixed(0.4)}) {
    for (const int seed : {1, 2}) {
      Json real = request("tm-gcn", 4, options);
      real["seed"] = seed;
      Json simulated = real;
      simulated["device"] = "sim";
      simulated["numerics"] = "cpu";
      simulated["cluster"] = "aimos-v100:host_memory=shared";
      const CaseResult a = run(real), b = run(simulated);
      EXPECT_EQ(a.loss.per_epoch, b.loss.per_epoch);
      EXPECT_EQ(a.facts.get<std::vector<std::uint64_t>>("sent_bytes_by_epoch"),
                b.facts.get<std::vector<std::uint64_t>>("sent_bytes_by_epoch"));
      EXPECT_EQ(a.facts.get<std::vector<double>>("sent_share"), b.facts.get<std::vector<double>>("sent_share"));
      EXPECT_EQ(b.time_source, "virtual");
    }
  }
}

TEST(Stale, TrainingLearnsWithFewerBytes) {
  for (const Json& options :
       {Json{{"stale", "adaptive"}}, Json{{"stale", "adaptive"}, {"stale_gradient", "always"}},
        Json{{"stale", "adaptive"}, {"stale_sign", "printed"}}, Json{{"stale", "static"}, {"stale_theta", 0.3}}}) {
    for (const int seed : {1, 2, 3}) {
      Json json = request("tm-gcn", 3, options, 12), same = request("tm-gcn", 3, Json::object(), 12);
      json["seed"] = same["seed"] = seed;
      const CaseResult stale = run(json), exact = run(same);
      const std::vector<double>& loss = stale.loss.per_epoch;
      EXPECT_LT(loss.back(), 0.95 * loss.front()) << options.dump();
      EXPECT_NEAR(loss.back(), exact.loss.per_epoch.back(), 0.05 * exact.loss.per_epoch.back()) << options.dump();
      EXPECT_NE(loss, exact.loss.per_epoch) << "nothing was stale";
      ASSERT_EQ(stale.facts.get<std::vector<double>>("sent_share").size(), 12u);
      EXPECT_EQ(stale.facts.get<std::vector<double>>("sent_share")[0], 1);
      for (std::size_t e = 1; e < 12; ++e) {
        EXPECT_LT(stale.facts.get<std::vector<double>>("sent_share")[e], 1);
        // Half of the exact bytes are gradients.
        EXPECT_GT(stale.facts.get<std::vector<double>>("sent_share")[e],
                  options.contains("stale_gradient") ? 0.5 : 0.0);
      }
      ASSERT_EQ(stale.approximations.size(), 2u);
      EXPECT_EQ(stale.approximations[0].rfind("stale rows: ", 0), 0u);
    }
  }
}

TEST(Stale, ThePrintedSignLowersTheThresholdAsTheLossFalls) {
  double text = 0, printed = 0;
  for (const int seed : {1, 2, 3}) {
    for (const std::string sign : {"text", "printed"}) {
      Json json = request("tm-gcn", 3, {{"stale", "adaptive"}, {"stale_sign", sign}}, 30);
      json["seed"] = seed;
      json["optimizer"]["rate"] = 0.03;
      const CaseResult result = run(json);
      EXPECT_LT(result.loss.per_epoch.back(), 0.9 * result.loss.per_epoch.front()) << "the sign meant nothing";
      const auto shares = result.facts.get<std::vector<double>>("sent_share");
      (sign == "text" ? text : printed) += std::accumulate(shares.begin() + 2, shares.end(), 0.0) / 28 / 3;
    }
  }
  EXPECT_GT(printed, 1.1 * text);
}

TEST(Stale, GroupsOfRanksShareSnapshotsTheSameWay) {
  Json stale = request("cd-gcn", 4, adaptive, 8), exact = request("cd-gcn", 4, Json::object(), 8);
  stale["strategy"]["name"] = exact["strategy"]["name"] = "snapshot_groups";
  const CaseResult a = run(stale), b = run(exact);
  EXPECT_NEAR(a.loss.per_epoch.back(), b.loss.per_epoch.back(), 0.05);
  EXPECT_LT(a.facts.get<std::vector<double>>("sent_share").back(), 1);
  EXPECT_EQ(bytes_of(a, 3, Traffic::redistribute), bytes_of(b, 3, Traffic::redistribute));
}

TEST(Stale, ConstantInputsAreSentOnceAndChangeNothing) {
  const CaseResult stale = run(request("dysat", 3, adaptive)), exact = run(request("dysat", 3, Json::object()));
  EXPECT_EQ(stale.loss.per_epoch, exact.loss.per_epoch);
  EXPECT_TRUE(stale.exact);
  EXPECT_EQ(stale.facts.get<std::vector<double>>("sent_share"), (std::vector<double>{1, 0, 0, 0, 0}));
  EXPECT_GT(bytes_of(exact, 1, Traffic::halo), bytes_of(stale, 1, Traffic::halo));
}

class StaleFiles : public testing::Test {
 protected:
  StaleFiles() {
    std::string pattern = (std::filesystem::temp_directory_path() / "strobe-stale-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw SystemError("no temporary folder");
    folder_ = pattern;
  }
  ~StaleFiles() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  ModelOutputs checkpoint(bool resume) const {
    ModelOutputs outputs;
    outputs.checkpoint = path("state");
    outputs.resume_training = resume;
    return outputs;
  }
  std::filesystem::path folder_;
};

TEST_F(StaleFiles, EvaluationReadsWhatIs) {
  ModelOutputs left;
  left.weights = path("weights");
  left.files["embeddings"] = path("stale.npy");
  const CaseResult stale = run(request("tm-gcn", 4, adaptive), left);
  // The same weights on one rank, without further training.
  Json json = request("tm-gcn", 1, Json::object(), 1);
  json["optimizer"] = {{"name", "sgd"}, {"rate", 0.0}};
  json["load_model"] = path("weights");
  ModelOutputs outputs;
  outputs.files["embeddings"] = path("exact.npy");
  const CaseResult exact = run(json, outputs);
  EXPECT_NEAR(stale.metrics.at("auc").per_epoch.back(), exact.metrics.at("auc").per_epoch.back(), 1e-12);
  const NpyArray a = read_npy(path("stale.npy")), b = read_npy(path("exact.npy"));
  ASSERT_EQ(a.shape, b.shape);
  for (std::int64_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a.at(i), b.at(i), 1e-10) << i;
}

TEST_F(StaleFiles, AResumedRunIsTheUninterruptedOneBitForBit) {
  for (const std::string precision : {"fp32", "fp64"}) {
    for (const Json& options : {Json{{"stale", "adaptive"}}, Json{{"stale", "adaptive"}, {"distances", "device"}}}) {
      for (const int blocks : {1, 2}) {
        Json whole = request("mpnn-lstm", 3, options, 7), part = request("mpnn-lstm", 3, options, 3);
        for (Json* json : {&whole, &part}) (*json)["precision"] = precision, (*json)["nb"] = blocks;
        const CaseResult uninterrupted = run(whole);
        run(part, checkpoint(false));
        const CaseResult resumed = run(whole, checkpoint(true));
        EXPECT_EQ(resumed.loss.per_epoch, uninterrupted.loss.per_epoch) << precision << options.dump() << blocks;
        EXPECT_EQ(resumed.metrics.at("auc").per_epoch, uninterrupted.metrics.at("auc").per_epoch);
        const auto all = uninterrupted.facts.get<std::vector<std::uint64_t>>("sent_bytes_by_epoch");
        EXPECT_EQ(resumed.facts.get<std::vector<std::uint64_t>>("sent_bytes_by_epoch"),
                  (std::vector<std::uint64_t>{all.begin() + 3, all.end()}));
        for (int e = 4; e < 7; ++e) EXPECT_NE(all[e], all[0]) << "nothing was stale";
      }
    }
  }
}

TEST_F(StaleFiles, KeptRowsOfOtherRanksAreRefusedByName) {
  run(request("tm-gcn", 3, adaptive, 3), checkpoint(false));
  try {
    run(request("tm-gcn", 2, adaptive, 6), checkpoint(true));
    FAIL() << "accepted";
  } catch (const InvalidRequest& error) {
    EXPECT_EQ(error.where(), "--resume-training");
    EXPECT_NE(error.message().find("stale=none"), std::string::npos) << error.message();
  }
  // Without stale rows, training goes on with any number of ranks. After an exact run, stale rows begin by sending all.
  run(request("tm-gcn", 2, Json::object(), 4), checkpoint(true));
  const CaseResult begun = run(request("tm-gcn", 3, adaptive, 7), checkpoint(true));
  ASSERT_EQ(begun.facts.get<std::vector<double>>("sent_share").size(), 3u);
  EXPECT_EQ(begun.facts.get<std::vector<double>>("sent_share")[0], 1);
  EXPECT_LT(begun.facts.get<std::vector<double>>("sent_share")[1], 1);
}

TEST(Stale, WithoutValuesAShareIsAssumedAndNoted) {
  Json exact = request("tm-gcn", 4, Json::object()), stale = request("tm-gcn", 4, adaptive);
  stale["strategy"]["sent_share"] = 0.25;
  for (Json* json : {&exact, &stale}) (*json)["device"] = "sim", (*json)["cluster"] = "aimos-v100";
  const CaseResult a = run(stale), b = run(exact);
  ASSERT_EQ(a.facts.get<std::vector<double>>("sent_share").size(), 5u);
  EXPECT_EQ(a.facts.get<std::vector<double>>("sent_share")[0], 1);
  // Which of the rows come takes a bit for each row, in addition to two passes of 6 values of 8 bytes.
  EXPECT_NEAR(a.facts.get<std::vector<double>>("sent_share")[1], 0.25 + 0.125 / 96, 0.005);
  EXPECT_EQ(bytes_of(a, 0, Traffic::halo), bytes_of(b, 0, Traffic::halo));
  bool noted = false;
  for (const std::string& note : a.notes) noted = noted || note.find("sent_share=0.25") != std::string::npos;
  EXPECT_TRUE(noted);
  EXPECT_TRUE(a.loss.per_epoch.empty());
}

/// Few vertices change owner between many ranks: the largest distance alone takes more bytes than their states.
TEST(Stale, AnExchangeOfFewerBytesThanItsHeadersStaysExact) {
  for (const int ranks : {4, 16}) {
    Json exact = request("t-gcn", ranks, Json::object(), 3);
    exact["workload"] = {{"name", "uniform"}, {"vertices", 5}, {"steps", 18}, {"density", 2.0}};
    exact["strategy"]["name"] = "pss", exact["precision"] = "fp32";
    Json stale = exact;
    stale["strategy"].update(fixed(0.9));
    const CaseResult a = run(exact), b = run(stale);
    EXPECT_EQ(b.exact, ranks == 16);
    EXPECT_EQ(a.loss.per_epoch == b.loss.per_epoch, ranks == 16);
    if (ranks < 16) continue;
    for (int e = 0; e < 3; ++e) EXPECT_EQ(bytes_of(a, e, Traffic::state), bytes_of(b, e, Traffic::state));
    EXPECT_TRUE(std::any_of(b.notes.begin(), b.notes.end(), [](const std::string& note) {
      return note.find("too few to pay for saying which come") != std::string::npos;
    }));
  }
}

/// Why the case is refused.
std::pair<std::string, std::string> refusal(const Json& json) {
  try {
    run_case(case_from_json(json, ""));
  } catch (const InvalidRequest& error) {
    return {error.where(), error.message()};
  }
  return {"", "accepted"};
}

TEST(Stale, WhatDoesNotGoTogetherIsRefusedWithWhatToChange) {
  const auto expect = [](const Json& json, const std::string& where, const std::string& advice) {
    const auto [at, message] = refusal(json);
    EXPECT_EQ(at, where) << message;
    EXPECT_NE(message.find(advice), std::string::npos) << message;
  };
  for (const std::string name : {"sequential", "snapshot"}) {
    Json json = request("tm-gcn", name == "sequential" ? 1 : 2, adaptive);
    json["strategy"]["name"] = name;
    expect(json, "/strategy/stale", "snapshot_groups or vertex");
    json["strategy"]["stale"] = "none";
    run(json);
  }
  expect(request("tm-gcn", 2, fixed(1.5)), "/strategy/stale_theta", "between 0 and 1");
  expect(request("tm-gcn", 2, fixed(-0.1)), "/strategy/stale_theta", "between 0 and 1");
  expect(request("tm-gcn", 2, {{"stale", "sometimes"}}), "/strategy/stale", "adaptive");
  expect(request("dcrnn", 2, adaptive), "/strategy/stale", "use stale=none");
  Json json = request("tm-gcn", 2, adaptive);
  json["overlap"] = 2;
  expect(json, "/overlap", "use overlap=1");
  json = request("tm-gcn", 4, {{"stale", "adaptive"}, {"group_size", 1}});
  json["strategy"]["name"] = "snapshot_groups";
  expect(json, "/strategy/stale", "group_size");
}

TEST(Stale, OptionsThatMeanNothingLeaveTheCaseAsItWas) {
  const Json plain = case_to_json(case_from_json(request("tm-gcn", 2, Json::object()), ""));
  EXPECT_EQ(case_to_json(case_from_json(request("tm-gcn", 2, {{"stale", "none"}, {"distances", "device"}}), "")),
            plain);
  EXPECT_FALSE(plain.at("strategy").contains("stale"));
  const Json fixed_case = case_to_json(case_from_json(request("tm-gcn", 2, fixed(0.4)), ""));
  EXPECT_EQ(fixed_case.at("strategy").at("stale_theta"), 0.4);
  EXPECT_FALSE(fixed_case.at("strategy").contains("stale_sign"));
}

}  // namespace
}  // namespace strobe::stale_laws_test
