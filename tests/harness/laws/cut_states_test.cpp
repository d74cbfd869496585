// Laws of training that does not wait where timelines pass to another rank (states=previous_epoch | zero), and of steps
// that are dealt in turn (pss:deal=cyclic). References.* and StatesGolden.* judge values and gradients.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/registry_names.hpp"
#include "harness/request/case.hpp"
#include "harness/run/run_case.hpp"
#include "harness/training/make_plan.hpp"
#include "harness/training/planned_peak.hpp"
#include "models/snapshots/model.hpp"
#include "tests/harness/run/results_of.hpp"

namespace strobe::cut_states_test {
namespace {

Json request(const std::string& model, const Json& strategy, int ranks = 3, int epochs = 5) {
  return {{"workload", {{"name", "uniform"}, {"vertices", 37}, {"steps", 9}, {"density", 2.0}}},
          {"model", {{"name", model}}},
          {"strategy", strategy},
          {"ranks", ranks},
          {"seed", 9},
          {"epochs", epochs},
          {"warmup", 0},
          {"optimizer", {{"name", "adam"}, {"rate", 0.02}}},
          {"precision", "fp64"}};
}

CaseResult run(const Json& json, const ModelOutputs& outputs = {}) {
  const CaseResult result = run_case(case_from_json(json, ""), nullptr, outputs);
  EXPECT_EQ(result.status, "ok") << json.dump() << ": " << result.reason;
  return result;
}

Json with(Json strategy, const std::string& states) {
  strategy["states"] = states;
  return strategy;
}

const std::vector<std::string> recurrent = {"t-gcn", "cd-gcn", "mpnn-lstm"};
const Json pss = {{"name", "pss"}}, cyclic = {{"name", "pss"}, {"deal", "cyclic"}},
           chunk = {{"name", "chunk"}, {"weights", "unit"}, {"max_cells", "20"}}, scattered = {{"name", "scattered"}};
const std::vector<Json> cutting = {pss, cyclic, chunk, scattered};

TEST(CutStates, OfThePreviousEpochBecomeExactWhereWeightsStay) {
  for (const std::string& model : recurrent) {
    for (const Json& strategy : cutting) {
      // A piece that has k pieces before it starts from its exact state after k epochs; here there are at most 8 steps.
      Json json = request(model, strategy, 3, 10);
      json["optimizer"] = {{"name", "sgd"}, {"rate", 0.0}};
      const double exact = run(json).loss.per_epoch[0];
      json["strategy"] = with(strategy, "zero");
      const std::vector<double> zero = run(json).loss.per_epoch;
      json["strategy"] = with(strategy, "previous_epoch");
      const std::vector<double> previous = run(json).loss.per_epoch;
      EXPECT_EQ(previous[0], zero[0]) << "the first epoch has no previous one";
      EXPECT_EQ(zero[9], zero[0]);
      EXPECT_GT(std::abs(zero[0] / exact - 1), 1e-9) << model << strategy.dump() << " cuts nothing";
      EXPECT_NEAR(previous[9] / exact, 1, 1e-12) << model << strategy.dump();
    }
  }
}

TEST(CutStates, AreSentOnceOrNever) {
  for (const std::string& model : recurrent) {
    for (const Json& strategy : cutting) {
      const CaseResult exact = run(request(model, strategy));
      const CaseResult previous = run(request(model, with(strategy, "previous_epoch")));
      const CaseResult zero = run(request(model, with(strategy, "zero")));
      const auto state = [&](const CaseResult& result) { return test::epoch_bytes(result, Traffic::state); };
      // Sums of batch statistics are states, too. They do not depend on cuts. Exact states also bring gradients back.
      EXPECT_EQ(state(exact) - state(zero), 2 * (state(previous) - state(zero))) << model << strategy.dump();
      EXPECT_GT(state(previous), state(zero)) << model << strategy.dump();
      if (model != "mpnn-lstm") {
        EXPECT_EQ(state(zero), 0u) << model << strategy.dump();
      }
      for (const Traffic traffic : {Traffic::halo, Traffic::redistribute, Traffic::gradient})
        EXPECT_EQ(test::epoch_bytes(zero, traffic), test::epoch_bytes(exact, traffic));
      EXPECT_TRUE(exact.exact);
      for (const CaseResult* other : {&zero, &previous}) {
        EXPECT_FALSE(other->exact);
        ASSERT_GE(other->approximations.size(), 1u);
        EXPECT_EQ(other->approximations[0].rfind("states where timelines are cut: states=", 0), 0u);
        EXPECT_LT(other->loss.per_epoch.back(), other->loss.per_epoch.front()) << "nothing was learnt";
      }
    }
  }
}

TEST(CutStates, AreAlikeInVirtualTime) {
  for (const std::string& model : recurrent) {
    for (const Json& strategy : cutting) {
      for (const char* states : {"previous_epoch", "zero"}) {
        Json json = request(model, with(strategy, states));
        const CaseResult real = run(json);
        json["device"] = "sim";
        const CaseResult simulated = run(json);
        json["numerics"] = "cpu";
        const CaseResult computed = run(json);
        for (std::size_t traffic = 0; traffic < traffic_count; ++traffic) {
          const auto kind = static_cast<Traffic>(traffic);
          EXPECT_EQ(test::epoch_bytes(simulated, kind), test::epoch_bytes(real, kind)) << model << states;
          EXPECT_EQ(test::epoch_bytes(computed, kind), test::epoch_bytes(real, kind)) << model << states;
        }
        for (std::size_t e = 0; e < 5; ++e)
          EXPECT_NEAR(computed.loss.per_epoch.at(e) / real.loss.per_epoch.at(e), 1, 1e-11) << model << strategy.dump();
      }
    }
  }
}

class CutStatesFiles : public testing::Test {
 protected:
  ~CutStatesFiles() override {
    for (const char* name : {"state", "weights"}) std::filesystem::remove(path(name));
  }
  static std::string path(const std::string& name) {
    return (std::filesystem::temp_directory_path() / ("strobe-cut-" + name + std::to_string(getpid()))).string();
  }
  static ModelOutputs checkpoint(bool resume) {
    ModelOutputs outputs;
    outputs.checkpoint = path("state");
    outputs.resume_training = resume;
    return outputs;
  }
};

TEST_F(CutStatesFiles, GoOnFromACheckpointBitForBit) {
  for (const std::string& model : recurrent) {
    for (const Json& strategy : cutting) {
      for (const char* precision : {"fp32", "fp64"}) {
        Json whole = request(model, with(strategy, "previous_epoch"), 3, 7),
             part = request(model, with(strategy, "previous_epoch"), 3, 3);
        whole["precision"] = part["precision"] = precision;
        const CaseResult uninterrupted = run(whole);
        run(part, checkpoint(false));
        EXPECT_EQ(run(whole, checkpoint(true)).loss.per_epoch, uninterrupted.loss.per_epoch) << model << precision;
        std::filesystem::remove(path("state"));
      }
    }
  }
}

TEST_F(CutStatesFiles, GoOnThroughServersOrWithoutThem) {
  const auto of = [](int servers, int epochs) {
    Json json = request("cd-gcn", with(chunk, "previous_epoch"), 3, epochs);
    json["strategy"].update({{"servers", servers}, {"stale", servers == 0 ? "adaptive" : "none"}});
    return json;
  };
  const CaseResult uninterrupted = run(of(2, 6));
  run(of(2, 3), checkpoint(false));
  EXPECT_EQ(run(of(1, 6), checkpoint(true)).loss.per_epoch, uninterrupted.loss.per_epoch);
  std::filesystem::remove(path("state"));
  const CaseResult stale = run(of(0, 6));
  run(of(0, 3), checkpoint(false));
  EXPECT_EQ(run(of(0, 6), checkpoint(true)).loss.per_epoch, stale.loss.per_epoch);
}

TEST_F(CutStatesFiles, OfOtherCutsAreRefused) {
  run(request("t-gcn", with(pss, "previous_epoch"), 3, 3), checkpoint(false));
  try {
    run(request("t-gcn", with(pss, "previous_epoch"), 2, 6), checkpoint(true));
    FAIL() << "accepted";
  } catch (const InvalidRequest& error) {
    EXPECT_EQ(error.where(), "--resume-training");
    EXPECT_NE(error.message().find("states=exact"), std::string::npos) << error.message();
  }
  run(request("t-gcn", pss, 2, 6), checkpoint(true));
}

TEST_F(CutStatesFiles, EvaluationsAreExact) {
  for (const std::string& model : recurrent) {
    for (const Json& strategy : cutting) {
      ModelOutputs left;
      left.weights = path("weights");
      const CaseResult trained = run(request(model, with(strategy, "previous_epoch")), left);
      Json again = request(model, {{"name", "sequential"}}, 1, 1);
      again["optimizer"] = {{"name", "sgd"}, {"rate", 0.0}};
      again["load_model"] = path("weights");
      for (const auto& [name, curve] : run(again).metrics)
        EXPECT_NEAR(trained.metrics.at(name).per_epoch.back(), curve.per_epoch.back(), 1e-9) << model << name;
    }
  }
}

/// Trains the case. Each epoch has a finite loss, and the row says that training is approximate.
void expect_approximate_training(const Json& json) {
  const CaseResult trained = run(json);
  EXPECT_EQ(trained.loss.per_epoch.size(), json.at("epochs").get<std::size_t>()) << json;
  for (const double loss : trained.loss.per_epoch) EXPECT_TRUE(std::isfinite(loss)) << json;
  EXPECT_FALSE(trained.exact) << json;
}

TEST(CutStates, GoWithOtherOptions) {
  for (const char* states : {"previous_epoch", "zero"}) {
    for (const Json& other : {Json{{"presence", "seen"}}, Json{{"presence", "active"}}, Json{{"overlap", 2}}}) {
      Json json = request("t-gcn", with(chunk, states));
      json.update(other);
      expect_approximate_training(json);
    }
    for (const Json& other : {Json{{"stale", "static"}, {"stale_theta", 0.5}}, Json{{"fusion", "temporal"}}}) {
      Json json = request("cd-gcn", with(chunk, states));
      json["strategy"].update(other);
      expect_approximate_training(json);
    }
  }
}

TEST(CutStates, ChangeNothingWhereNoRecurrenceIsCut) {
  for (const auto& [model, ranks] : {std::pair{"t-gcn", 1}, {"tm-gcn", 3}, {"dysat", 3}, {"evolve-gcn-o", 3}}) {
    const CaseResult exact = run(request(model, pss, ranks)), zero = run(request(model, with(pss, "zero"), ranks));
    EXPECT_EQ(zero.loss.per_epoch, exact.loss.per_epoch) << model;
    EXPECT_TRUE(zero.exact) << model;
    EXPECT_NE(std::find(zero.notes.begin(), zero.notes.end(),
                        "states=zero has no effect: no recurrence passes from rank to rank"),
              zero.notes.end());
  }
}

TEST(CutStates, WithoutEffectGoWithEveryOption) {
  for (const auto& [model, ranks] : {std::pair{"t-gcn", 1}, {"dcrnn", 1}, {"tm-gcn", 3}, {"dysat", 3}}) {
    for (const Json& other : {Json{{"nb", 2}}, Json{{"nb", 2}, {"presence", "seen"}}}) {
      Json json = request(model, chunk, ranks, 2);
      json.update(other);
      const CaseResult exact = run(json);
      json["strategy"]["states"] = "previous_epoch";
      EXPECT_EQ(run(json).loss.per_epoch, exact.loss.per_epoch) << model;
    }
  }
}

TEST(CutStates, PassThroughServersBitForBit) {
  for (const std::string& model : recurrent) {
    for (const Json& strategy : cutting) {
      for (const char* states : {"previous_epoch", "zero"}) {
        for (const Json& other : {Json{{"presence", "all"}}, Json{{"presence", "active"}}}) {
          Json json = request(model, with(strategy, states));
          json.update(other);
          const CaseResult peers = run(json);
          json["strategy"]["servers"] = 2;
          const CaseResult served = run(json);
          EXPECT_EQ(served.loss.per_epoch, peers.loss.per_epoch) << model << strategy.dump() << states;
          const std::uint64_t there = test::epoch_bytes(served, Traffic::state);
          EXPECT_GE(2 * test::epoch_bytes(peers, Traffic::state), there) << "a state crosses at most twice";
          json["device"] = "sim";
          EXPECT_EQ(test::epoch_bytes(run(json), Traffic::state), there) << model << strategy.dump() << states;
        }
      }
    }
  }
}

TEST(CutStates, TakeThePlannedMemory) {
  for (const Json& strategy : cutting) {
    for (const char* states : {"previous_epoch", "zero"}) {
      for (const int servers : {0, 2}) {
        for (const char* device : {"cpu", "sim"}) {
          Json json = request("cd-gcn", with(strategy, states));
          json["strategy"]["servers"] = servers;
          json["device"] = device;
          const Case c = case_from_json(json, "");
          std::uint64_t peak = 0;
          for (const EpochSample& sample : run(json).samples)
            peak = std::max({peak, sample.peak_host_bytes, sample.peak_device_bytes});
          EXPECT_EQ(planned_peak(*make_plan(c)).bytes, peak) << strategy.dump() << states << servers << device;
        }
      }
    }
  }
}

TEST(CutStates, AreRefusedWhereRanksMustWait) {
  const auto expect = [](const Json& json, const std::string& where, const std::string& advice) {
    try {
      run_case(case_from_json(json, ""));
      ADD_FAILURE() << json.dump() << " is accepted";
    } catch (const InvalidRequest& error) {
      EXPECT_EQ(error.where(), where) << error.message();
      EXPECT_NE(error.message().find(advice), std::string::npos) << error.message();
    }
  };
  Json json = request("t-gcn", with(pss, "zero"), 2);
  json["nb"] = 2;
  expect(json, "/nb", "nb=1");
  json = request("t-gcn", with(chunk, "previous_epoch"));
  json["strategy"]["fusion"] = "none";
  expect(json, "/strategy/fusion", "fusion=both");
  expect(request("dcrnn", with(pss, "zero")), "/strategy/states", "states=exact");
  expect(request("t-gcn", with(pss, "sometimes")), "/strategy/states", "previous_epoch");
}

TEST(CutStates, AtTheirDefaultsLeaveTheCaseAsItWas) {
  const Json plain = case_to_json(case_from_json(request("t-gcn", pss), ""));
  const Json named = request("t-gcn", {{"name", "pss"}, {"deal", "contiguous"}, {"states", "exact"}});
  EXPECT_EQ(case_to_json(case_from_json(named, "")), plain);
}

TEST(CyclicSteps, GiveTheSequentialCurve) {
  for (const std::string& model : names_with<ModelTag>(&ModelTag::Value::family, "snapshots")) {
    const CaseResult whole = run(request(model, {{"name", "sequential"}}, 1, 3));
    for (const int ranks : {2, 3, 4}) {
      for (const char* blocks : {"1", "2"}) {
        Json json = request(model, cyclic, ranks, 3);
        json["nb"] = blocks;
        const CaseResult dealt = run(json);
        EXPECT_TRUE(dealt.exact);
        for (std::size_t e = 0; e < 3; ++e)
          EXPECT_NEAR(dealt.loss.per_epoch.at(e) / whole.loss.per_epoch.at(e), 1, 1e-10) << model << ranks << blocks;
      }
    }
  }
}

TEST(CyclicSteps, HandAStateOnAtEveryStep) {
  const CaseResult runs = run(request("t-gcn", pss, 4)), turns = run(request("t-gcn", cyclic, 4));
  // Eight steps are trained on: three borders of runs, or seven of single steps.
  EXPECT_EQ(3 * test::epoch_bytes(turns, Traffic::state), 7 * test::epoch_bytes(runs, Traffic::state));
}

}  // namespace
}  // namespace strobe::cut_states_test
