// Epochs that are reported while training goes on: after any end of training, losses and samples have the same epochs.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <nlohmann/json.hpp>

#include "harness/run/launch_request.hpp"
#include "harness/training/make_plan.hpp"
#include "harness/training/training.hpp"

namespace strobe {
namespace {

const Json snapshots = {{"name", "uniform"}, {"vertices", 60}, {"steps", 7}, {"density", 2}};

/// One case for each kind of schedule, at two ranks.
const std::vector<Json>& kinds() {
  static const std::vector<Json> cases = {{{"workload", snapshots}, {"model", "tm-gcn"}, {"strategy", "snapshot"}},
                                          {{"workload", snapshots}, {"model", "tm-gcn"}, {"strategy", "chunk"}},
                                          {{"workload", snapshots}, {"model", "t-gcn"}, {"strategy", "dbov"}},
                                          {{"workload", {{"name", "bursty_events"}, {"vertices", 60}, {"events", 600}}},
                                           {"model", "tgn-attn"},
                                           {"task", "future-links"},
                                           {"strategy", {{"name", "event_batch"}, {"batch", 100}}}}};
  return cases;
}

class HandedOver : public ::testing::TestWithParam<std::size_t> {
 protected:
  /// Trains on two ranks. It calls `measured` after each epoch of each rank, and keeps the ranks' results in
  /// `outcomes`.
  void train(const std::function<void(Communicator&, const RankOutcome&)>& measured) {
    Json request = kinds().at(GetParam());
    request["ranks"] = 2, request["epochs"] = 3, request["warmup"] = 1;
    const Case c = case_from_json(request, "");
    const auto plan = make_plan(c);
    LaunchRequest launch = launch_request(c);
    launch.helpers = plan->schedule->helpers();
    CommunicatorRegistry::instance().find("local").value.launch(
        launch, [&](Device& device, Communicator& communicator) {
          RankOutcome& outcome = outcomes_[device.rank()];
          RankRequest requests;
          requests.measured = [&](Communicator& all) { measured(all, outcome); };
          train_rank(*plan, device, communicator, requests, outcome);
        });
  }
  std::array<RankOutcome, 2> outcomes_;
};

TEST_P(HandedOver, AnEpochHasItsLoss) {
  std::atomic<int> asked{0};
  train([&](Communicator&, const RankOutcome& outcome) {
    ++asked;
    EXPECT_EQ(outcome.loss.size(), outcome.samples.size());
    EXPECT_EQ(outcome.epochs_trained, static_cast<std::int64_t>(outcome.samples.size()));
  });
  EXPECT_EQ(asked, 8);
}

/// Training ends here as by a signal that comes while ranks exchange their measurements.
TEST_P(HandedOver, WhatEndsTrainingThenLeavesAsManyLosses) {
  EXPECT_THROW(train([](Communicator& communicator, const RankOutcome& outcome) {
                 if (outcome.samples.size() == 3 && communicator.rank() == 0) throw Interrupted(2);
                 communicator.barrier();
               }),
               Error);
  EXPECT_EQ(outcomes_[0].samples.size(), 3u);
  EXPECT_EQ(outcomes_[0].loss.size(), 3u);
}

INSTANTIATE_TEST_SUITE_P(EveryKind, HandedOver, ::testing::Range<std::size_t>(0, kinds().size()));

}  // namespace
}  // namespace strobe
