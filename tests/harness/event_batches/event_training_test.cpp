// Laws of training on events: no computation uses later events, results do not depend on threads or on the place of
// memory, and a stopped run goes on bit for bit.
#include <gtest/gtest.h>

#include <cmath>

#include "core/errors.hpp"
#include "tests/harness/event_batches/event_runs.hpp"

namespace strobe {
namespace {

using event_test::event_case;

class EventTraining : public ::testing::Test {
 protected:
  CaseResult run(const Json& changes, const ModelOutputs& outputs = {}) {
    const CaseResult result = run_case(event_case(visits_, changes), nullptr, outputs);
    EXPECT_EQ(result.status, "ok") << result.reason;
    return result;
  }

  test::TemporaryFolder folder_;
  std::string visits_ = event_test::random_visits(folder_, 7, 400);
};

void expect_equal_runs(const CaseResult& a, const CaseResult& b, const std::string& what) {
  EXPECT_EQ(a.loss.per_epoch, b.loss.per_epoch) << what;
  ASSERT_EQ(a.metrics.size(), b.metrics.size());
  for (const auto& [name, curve] : a.metrics)
    EXPECT_EQ(curve.per_epoch, b.metrics.at(name).per_epoch) << what << ": " << name;
}

TEST_F(EventTraining, LossFallsAndMetricsAreThere) {
  const CaseResult result = run({{"epochs", 8}, {"optimizer", {{"name", "adam"}, {"rate", 0.2}}}});
  ASSERT_EQ(result.loss.per_epoch.size(), 8u);
  EXPECT_LT(result.loss.per_epoch.back(), result.loss.per_epoch.front());
  for (const char* name : {"mrr", "ap", "auc", "validation_mrr", "recency_mrr", "validation_edgebank_window_mrr"}) {
    ASSERT_EQ(result.metrics.count(name), 1u) << name;
    for (const double value : result.metrics.at(name).per_epoch) EXPECT_TRUE(value > 0 && value <= 1) << name;
  }
}

TEST_F(EventTraining, IsTheSameAtAnyNumberOfThreadsAndWhereverMemoryLies) {
  for (const char* precision : {"fp32", "fp64"}) {
    const CaseResult one = run({{"precision", precision}});
    expect_equal_runs(one, run({{"precision", precision}, {"threads", 3}, {"host_threads", 3}}), "threads");
    expect_equal_runs(one, run({{"precision", precision}, {"strategy", {{"memory_on", "device"}}}}), "memory_on");
  }
}

TEST_F(EventTraining, EveryModelTrainsWithAndWithoutLevels) {
  for (const Json& model : {Json{{"name", "jodie"}, {"memory", 6}, {"time", 4}},
                            Json{{"name", "tgat"}, {"hidden", 6}, {"time", 4}, {"neighbours", 3}},
                            Json{{"name", "tgn-attn"}, {"memory", 6}, {"time", 4}, {"mail_dt", "event_minus_memory"}},
                            Json{{"name", "tgn-attn"}, {"memory", 6}, {"output", "merge"}, {"dropout", 0.2}}}) {
    const CaseResult result = run({{"model", model}});
    EXPECT_TRUE(std::isfinite(result.loss.per_epoch.back())) << model.dump();
    expect_equal_runs(result, run({{"model", model}, {"threads", 2}}), model.dump());
  }
}

TEST_F(EventTraining, DoesNotDependOnWhenTheFileBegins) {
  const RandomStream random(5, 4);
  const auto losses = [&](double begin, const char* sampling) {
    const std::string file =
        event_test::jodie_file(folder_, fmt::format("from{}{}.csv", begin, sampling), 300, [&](int e) {
          const auto draw = [&](int which, std::uint64_t n) {
            return random.below(static_cast<std::uint64_t>(2 * e + which), n);
          };
          return fmt::format("{},{},{},0", draw(0, 12), draw(1, 15), begin + e / 2);
        });
    return run_case(event_case(file, {{"model", {{"sampling", sampling}}}})).loss.per_epoch;
  };
  for (const char* sampling : {"recent", "uniform", "tgl_compat"})
    EXPECT_EQ(losses(0, sampling), losses(1 << 20, sampling)) << sampling;
}

TEST_F(EventTraining, AStoppedRunGoesOnBitForBit) {
  ModelOutputs outputs;
  outputs.checkpoint = folder_.file("state.safetensors");
  const CaseResult whole = run({{"epochs", 4}});
  run({{"epochs", 2}}, outputs);
  outputs.resume_training = true;
  const CaseResult rest = run({{"epochs", 4}}, outputs);
  EXPECT_EQ(whole.loss.per_epoch, rest.loss.per_epoch);
  EXPECT_EQ(whole.metrics.at("mrr").per_epoch.back(), rest.metrics.at("mrr").per_epoch.back());
}

TEST_F(EventTraining, TheSimulatorComputesTheSameValues) {
  const CaseResult real = run(Json::object());
  const CaseResult simulated = run({{"device", "sim"}, {"numerics", "cpu"}, {"cluster", "g4dn-t4"}});
  expect_equal_runs(real, simulated, "sim");
}

/// 20,000 events with one random bit each as feature. The label of an event is the bit of the same user's event `shift`
/// places earlier.
std::string bits_file(const test::TemporaryFolder& folder, int shift) {
  const RandomStream random(11, 3);
  constexpr int users = 50;
  return event_test::jodie_file(folder, fmt::format("bits{}.csv", shift), 20000, [&](int e) {
    const auto bit = [&](int event) {
      return event < 0 ? 0 : static_cast<int>(random.bits(static_cast<std::uint64_t>(event)) & 1);
    };
    return fmt::format("{},{},{},{},{}", e % users, (e / users) % 7, e, bit(e - shift * users), bit(e));
  });
}

double auc_of_bits(const std::string& file) {
  const Case c = event_case(file, {{"model", {{"memory", 8}, {"time", 4}, {"neighbours", 2}}},
                                   {"task", {{"name", "event-classification"}}},
                                   {"strategy", {{"batch", 50}}},
                                   {"optimizer", {{"name", "adam"}, {"rate", 0.05}}},
                                   {"precision", "fp32"},
                                   {"epochs", 3}});
  return run_case(c).metrics.at("auc").per_epoch.back();
}

TEST(NothingLooksAhead, ABitThatOnlyTheEventItselfCarriesCannotBeLearnt) {
  const test::TemporaryFolder folder;
  EXPECT_NEAR(auc_of_bits(bits_file(folder, 0)), 0.5, 0.02);
}

TEST(NothingLooksAhead, TheSameBitOneEventEarlierIs) {
  const test::TemporaryFolder folder;
  EXPECT_GT(auc_of_bits(bits_file(folder, 1)), 0.9);
}

TEST(NothingLooksAhead, WhatHappensLaterChangesNothingBefore) {
  // The test events (those from 341 on, of 400) get other items of the same pool. Training and validation events stay.
  const test::TemporaryFolder folder;
  const std::string visits = event_test::random_visits(folder, 8, 400);
  const CaseResult a = run_case(event_case(visits)),
                   b = run_case(event_case(event_test::with_other_items_after(folder, visits, 341, 11)));
  EXPECT_EQ(a.loss.per_epoch, b.loss.per_epoch);
  for (const auto& [name, curve] : a.metrics) {
    if (name.rfind("validation_", 0) != 0) continue;
    EXPECT_EQ(curve.per_epoch, b.metrics.at(name).per_epoch) << name;
  }
  EXPECT_NE(a.metrics.at("mrr").per_epoch, b.metrics.at("mrr").per_epoch) << "the tests differ";
}

TEST(EventRequests, WhatDoesNotGoTogetherIsRefused) {
  const test::TemporaryFolder folder;
  const std::string visits = event_test::random_visits(folder, 1, 100);
  const auto refused = [&](const Json& changes, const std::string& where) {
    try {
      run_case(event_case(visits, changes));
      FAIL() << "not refused: " << changes.dump();
    } catch (const InvalidRequest& error) {
      EXPECT_EQ(error.where(), where) << error.message();
    }
  };
  refused({{"strategy", {{"batch", 1000}}}}, "/strategy/batch");
  refused({{"workload", {{"name", visits}, {"window_count", 5}}}}, "/workload/window_count");
  refused({{"workload", "uniform"}}, "/workload");
  refused({{"model", "t-gcn"}}, "/strategy/batch");
  refused({{"task", "link-prediction"}}, "/task");
  refused({{"model", {{"heads", 4}}}}, "/model/heads");
  refused({{"task", {{"candidates", "some"}}}}, "/task/candidates");
  refused({{"task", {{"name", "event-classification"}, {"classes", 1}}}}, "/task/classes");
  refused({{"until", "mrr=0.5"}, {"task", {{"split", "70/0/30"}}}}, "/until");
}

}  // namespace
}  // namespace strobe
