// Training on many ranks, compared with a plain loop (plain_loop.hpp) and with one rank. Plans, sent bytes and memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "harness/files/model_files.hpp"
#include "tests/harness/event_batches/plain_loop.hpp"

namespace strobe {
namespace {

using event_test::event_case;
using event_test::expect_near;
using event_test::PlainLoop;
using event_test::short_visits;
using event_test::train;
using event_test::TrainedRun;

Json strategy_of(const TrainingGroups& groups, int batch, const Json& more = Json::object()) {
  Json strategy = {{"name", "event_batch"}, {"i", groups.i}, {"j", groups.j}, {"k", groups.k}, {"batch", batch}};
  strategy.update(more);
  return strategy;
}

class GroupTraining : public ::testing::TestWithParam<std::tuple<int, int, int>> {
 protected:
  TrainingGroups groups() const {
    const auto [i, j, k] = GetParam();
    return {i, j, k};
  }
  test::TemporaryFolder folder_;
};

TEST_P(GroupTraining, IsThePlainLoop) {
  // 210 training events in batches of 17 for each rank: last batches are short, and some ranks have one event or none.
  const std::string visits = short_visits(folder_, 3 + static_cast<std::uint64_t>(groups().ranks()), 300);
  for (const bool pipeline : {false, true}) {
    const Case request = event_case(visits, {{"strategy", strategy_of(groups(), 17, {{"pipeline", pipeline}})},
                                             {"ranks", groups().ranks()},
                                             {"epochs", 4}});
    PlainLoop loop(request, groups());
    std::vector<double> losses;
    for (std::int64_t epoch = 0; epoch < 4; ++epoch) losses.push_back(loop.epoch(epoch));
    const TrainedRun run = train(folder_, request);
    expect_near(run.result.loss.per_epoch, losses, 1e-10, "losses");
    std::vector<double> sorted = run.weights, judge = loop.weights();
    std::sort(sorted.begin(), sorted.end());
    std::sort(judge.begin(), judge.end());
    expect_near(sorted, judge, 1e-10, "weights");
  }
}

std::string name_of_groups(const ::testing::TestParamInfo<std::tuple<int, int, int>>& info) {
  const auto [i, j, k] = info.param;
  return fmt::format("{}x{}x{}", i, j, k);
}

INSTANTIATE_TEST_SUITE_P(Groups, GroupTraining,
                         ::testing::Values(std::tuple{1, 1, 1}, std::tuple{3, 1, 1}, std::tuple{1, 2, 1},
                                           std::tuple{1, 3, 1}, std::tuple{1, 1, 3}, std::tuple{2, 2, 1},
                                           std::tuple{1, 2, 2}, std::tuple{2, 1, 2}, std::tuple{2, 2, 2},
                                           std::tuple{7, 1, 1}, std::tuple{4, 1, 1}),
                         name_of_groups);

/// The results are equal bit for bit, because the same kernels get the same rows.
TEST(GroupTrainingLaws, OneRankIsSequential) {
  const test::TemporaryFolder folder;
  const std::string visits = event_test::random_visits(folder, 12, 400);
  for (const char* model : {"tgn-attn", "jodie", "tgat"}) {
    const Json plugin = model == std::string("tgat") ? Json{{"name", model}, {"hidden", 6}, {"time", 4}}
                                                     : Json{{"name", model}, {"memory", 6}, {"time", 4}};
    const TrainedRun alone = train(folder, event_case(visits, {{"model", plugin}}));
    for (const Json& how : {Json{{"pipeline", false}}, Json{{"pipeline", true}}, Json{{"memory_on", "device"}},
                            Json{{"memory_on", "device"}, {"pipeline", false}}}) {
      const TrainedRun one =
          train(folder, event_case(visits, {{"model", plugin}, {"strategy", strategy_of({1, 1, 1}, 32, how)}}));
      EXPECT_EQ(one.result.loss.per_epoch, alone.result.loss.per_epoch) << model;
      EXPECT_EQ(one.weights, alone.weights) << model;
      EXPECT_EQ(one.result.metrics.at("mrr").per_epoch, alone.result.metrics.at("mrr").per_epoch) << model;
    }
  }
}

/// i ranks with batches of 84 / i are one rank with batches of 84.
TEST(GroupTrainingLaws, RanksThatShareABatchAreOneRankWithIt) {
  const test::TemporaryFolder folder;
  const std::string visits = short_visits(folder, 40, 353);
  const std::int64_t trained = begin_event_case(event_case(visits)).training_events();
  ASSERT_TRUE(trained > 240 && trained < 252) << trained;
  for (const Json& model :
       {Json{{"name", "tgn-attn"}, {"memory", 6}, {"time", 4}, {"neighbours", 3}},
        Json{{"name", "tgn-attn"}, {"memory", 6}, {"time", 4}, {"output", "merge"}, {"dropout", 0.3}},
        Json{{"name", "tgn-attn"}, {"memory", 6}, {"time", 4}, {"mail_dt", "event_minus_memory"}},
        Json{{"name", "tgn-attn"}, {"memory", 6}, {"time", 4}, {"intra_batch_history", "none"}},
        Json{{"name", "jodie"}, {"memory", 6}, {"time", 4}},
        Json{{"name", "tgat"}, {"hidden", 6}, {"time", 4}, {"neighbours", 3}}}) {
    const TrainedRun one =
        train(folder, event_case(visits, {{"model", model}, {"strategy", {{"name", "sequential"}, {"batch", 84}}}}));
    for (const int ranks : {2, 3, 4, 7}) {
      const TrainedRun shared =
          train(folder,
                event_case(visits,
                           {{"model", model}, {"ranks", ranks}, {"strategy", strategy_of({ranks, 1, 1}, 84 / ranks)}}));
      expect_near(shared.result.loss.per_epoch, one.result.loss.per_epoch, 1e-10, model.dump());
      expect_near(shared.weights, one.weights, 1e-10, fmt::format("{} at {}", model.dump(), ranks));
      expect_near(shared.result.metrics.at("mrr").per_epoch, one.result.metrics.at("mrr").per_epoch, 1e-10,
                  model.dump());
    }
  }
}

/// The law also holds when i does not divide a rank's number of batches in a sweep. The last shared batch is then
/// short, but still an update, so epochs end with sweeps. With j and k, i x j x k with b equals 1 x j x k with i b,
/// over several epochs, resumed at the end of each.
TEST(GroupTrainingLaws, SharedBatchesThatDoNotDivideTheEventsAreThoseOfOneRank) {
  const test::TemporaryFolder folder;
  for (const auto& [events, i, j, k, batch] :
       {std::tuple{260, 3, 1, 1, 8}, std::tuple{260, 5, 1, 1, 4}, std::tuple{233, 7, 1, 1, 9},
        std::tuple{211, 4, 1, 1, 11}, std::tuple{260, 3, 2, 1, 8}, std::tuple{233, 2, 1, 3, 9},
        std::tuple{211, 3, 2, 2, 6}}) {
    const std::string visits =
        short_visits(folder, static_cast<std::uint64_t>(1000 * events + 100 * i + 10 * j + k), events);
    const TrainingGroups groups{i, j, k}, alone{1, j, k};
    const auto of = [&](const TrainingGroups& how, int local, int epochs) {
      const bool plain = how.ranks() == 1;
      const Json sequential = {{"name", "sequential"}, {"batch", local}};
      return event_case(visits, {{"strategy", plain ? sequential : strategy_of(how, local)},
                                 {"ranks", how.ranks()},
                                 {"epochs", epochs},
                                 {"until", "mrr=1"},  // never reached, but it counts updates
                                 {"optimizer", {{"name", "sgd"}, {"rate", 2}}}});
    };
    const std::int64_t trained = begin_event_case(of(alone, i * batch, 1)).training_events();
    ASSERT_NE((trained + batch - 1) / batch % i, 0) << events << " events, " << i << " ranks";
    const std::string what = fmt::format("{} events, {} x {} x {}", events, i, j, k);
    const TrainedRun one = train(folder, of(alone, i * batch, 4)), shared = train(folder, of(groups, batch, 4));
    expect_near(shared.result.loss.per_epoch, one.result.loss.per_epoch, 1e-10, what);
    expect_near(shared.weights, one.weights, 1e-10, what);
    for (const char* metric : {"mrr", "validation_mrr"})
      expect_near(shared.result.metrics.at(metric).per_epoch, one.result.metrics.at(metric).per_epoch, 1e-10, what);
    EXPECT_EQ(shared.result.until->iterations, one.result.until->iterations) << what;
    EXPECT_EQ(shared.result.exact, j == 1 && k == 1) << what;
    for (int stop = 1; stop < 4; ++stop) {
      ModelOutputs outputs;
      outputs.checkpoint = folder.file("shared.safetensors");
      ASSERT_EQ(run_case(of(groups, batch, stop), nullptr, outputs).status, "ok");
      outputs.resume_training = true;
      EXPECT_EQ(train(folder, of(groups, batch, 4), outputs).weights, shared.weights) << what << " from " << stop;
    }
  }
}

/// Stops after every epoch of a run, each time at another place of the sweeps, and goes on from there.
TEST(GroupTrainingLaws, AStoppedRunGoesOnBitForBit) {
  const test::TemporaryFolder folder;
  const std::string visits = event_test::random_visits(folder, 13, 300);
  const Json tgn = {{"name", "tgn-attn"}, {"memory", 6}, {"time", 4}, {"neighbours", 3}};
  const Json tgat = {{"name", "tgat"}, {"hidden", 6}, {"time", 4}, {"neighbours", 3}};  // no memory to keep
  for (const auto& stopped : {std::pair{TrainingGroups{1, 1, 2}, tgn}, std::pair{TrainingGroups{2, 1, 1}, tgn},
                              std::pair{TrainingGroups{1, 3, 1}, tgn}, std::pair{TrainingGroups{2, 2, 2}, tgn},
                              std::pair{TrainingGroups{1, 2, 1}, tgat}, std::pair{TrainingGroups{1, 3, 1}, tgat},
                              std::pair{TrainingGroups{2, 2, 2}, tgat}}) {
    const TrainingGroups groups = stopped.first;
    const Json& model = stopped.second;
    for (const char* precision : {"fp32", "fp64"}) {
      const auto of = [&](int epochs) {
        const bool device = groups.in_group() == 1 && precision == std::string("fp32");
        return event_case(visits, {{"model", model},
                                   {"strategy", strategy_of(groups, 17, {{"memory_on", device ? "device" : "host"}})},
                                   {"ranks", groups.ranks()},
                                   {"epochs", epochs},
                                   {"precision", precision}});
      };
      const TrainedRun whole = train(folder, of(5));
      for (int stop = 1; stop < 5; ++stop) {
        ModelOutputs outputs;
        outputs.checkpoint = folder.file(fmt::format("state{}.safetensors", stop));
        ASSERT_EQ(run_case(of(stop), nullptr, outputs).status, "ok");
        outputs.resume_training = true;
        outputs.weights = folder.file("resumed.safetensors");
        const CaseResult rest = run_case(of(5), nullptr, outputs);
        ASSERT_EQ(rest.status, "ok") << rest.reason;
        EXPECT_EQ(rest.loss.per_epoch, whole.result.loss.per_epoch)
            << groups.i << groups.j << groups.k << " from " << stop;
        std::vector<double> weights;
        for (const SavedMatrix& matrix : read_safetensors(outputs.weights))
          weights.insert(weights.end(), matrix.values.begin(), matrix.values.end());
        EXPECT_EQ(weights, whole.weights) << groups.i << groups.j << groups.k << " from " << stop;
      }
    }
  }
}

TEST(GroupTrainingLaws, ACheckpointOfOtherGroupsIsRefused) {
  const test::TemporaryFolder folder;
  const std::string visits = event_test::random_visits(folder, 16, 300);
  ModelOutputs outputs;
  outputs.checkpoint = folder.file("state.safetensors");
  const auto of = [&](const Json& strategy, std::int64_t ranks) {
    return event_case(visits, {{"strategy", strategy}, {"ranks", ranks}, {"epochs", 2}});
  };
  ASSERT_EQ(run_case(of(strategy_of({1, 2, 1}, 17), 2), nullptr, outputs).status, "ok");
  outputs.resume_training = true;
  for (const TrainingGroups other : {TrainingGroups{2, 1, 1}, TrainingGroups{1, 1, 2}, TrainingGroups{1, 1, 1}})
    EXPECT_THROW(run_case(of(strategy_of(other, 17), other.ranks()), nullptr, outputs), InvalidRequest);
  EXPECT_THROW(run_case(of(strategy_of({1, 2, 1}, 18), 2), nullptr, outputs), InvalidRequest);
}

TEST(GroupTrainingLaws, EveryRepetitionBeginsFromTheStart) {
  const test::TemporaryFolder folder;
  const std::string visits = event_test::random_visits(folder, 14, 300);
  const Json changes = {{"strategy", strategy_of({1, 2, 1}, 17)}, {"ranks", 2}, {"epochs", 2}};
  Json twice = changes;
  twice["repeat"] = 2;
  EXPECT_EQ(train(folder, event_case(visits, twice)).weights, train(folder, event_case(visits, changes)).weights);
}

TEST(GroupTrainingLaws, WhatDoesNotFitIsRefused) {
  const test::TemporaryFolder folder;
  const std::string visits = event_test::random_visits(folder, 15, 300);
  const auto refusal = [&](const Json& changes) {
    try {
      run_case(event_case(visits, changes));
    } catch (const InvalidRequest& error) {
      return error.where() + ": " + error.message();
    }
    return std::string("not refused");
  };
  EXPECT_NE(
      refusal({{"strategy", {{"name", "event_batch"}, {"i", 3}, {"batch", 17}}}, {"ranks", 4}}).find("/strategy/i"),
      std::string::npos);
  EXPECT_NE(
      refusal({{"strategy", {{"name", "event_batch"}, {"k", 3}, {"batch", 17}}}, {"ranks", 4}}).find("k = 4 fits"),
      std::string::npos);
  EXPECT_NE(refusal({{"strategy", {{"name", "event_batch"}, {"i", 4}, {"batch", 100}}}, {"ranks", 4}})
                .find("/strategy/batch"),
            std::string::npos);
  EXPECT_NE(
      refusal({{"strategy", {{"name", "event_batch"}, {"i", 2}, {"batch", 17}, {"memory_on", "device"}}}, {"ranks", 4}})
          .find("/strategy/memory_on"),
      std::string::npos);
  EXPECT_NE(refusal({{"ranks", 4}}).find("event_batch"), std::string::npos)
      << "sequential names what trains on many ranks";
  // g4dn-t4 has 8 GPUs a node: 16 ranks that share one memory would be on two.
  const Json across = {{"strategy", {{"name", "event_batch"}, {"i", 16}, {"batch", 5}}},
                       {"ranks", 16},
                       {"device", "sim"},
                       {"cluster", "g4dn-t4"},
                       {"numerics", "none"}};
  EXPECT_NE(refusal(across).find("k = 2 fits"), std::string::npos) << refusal(across);
}

TEST(GroupTrainingLaws, PlannedBytesAreSentAndTheSimulatorComputesTheSame) {
  const test::TemporaryFolder folder;
  const std::string visits = short_visits(folder, 41, 300);
  for (const TrainingGroups groups : {TrainingGroups{2, 1, 2}, TrainingGroups{1, 2, 2}, TrainingGroups{1, 1, 4}}) {
    const Json base = {{"strategy", strategy_of(groups, 17)}, {"ranks", groups.ranks()}};
    const TrainedRun real = train(folder, event_case(visits, base));
    Json simulated = base;
    simulated.update({{"device", "sim"}, {"numerics", "cpu"}, {"cluster", "g4dn-t4"}});
    const TrainedRun virtually = train(folder, event_case(visits, simulated));
    EXPECT_EQ(virtually.result.loss.per_epoch, real.result.loss.per_epoch);
    EXPECT_EQ(virtually.weights, real.weights);
    EXPECT_EQ(virtually.result.metrics.at("ap").per_epoch, real.result.metrics.at("ap").per_epoch);
    simulated.update({{"numerics", "none"}});
    EXPECT_EQ(run_case(event_case(visits, simulated)).status, "ok");
  }
}

}  // namespace
}  // namespace strobe
