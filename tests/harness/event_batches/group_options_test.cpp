// Options that change when and where training in groups works, but not its results. Options of evaluation.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "core/errors.hpp"
#include "harness/event_batches/groups/remote_rows.hpp"
#include "harness/event_batches/trainer/batch_source.hpp"
#include "harness/event_batches/trainer/evaluation_pass.hpp"
#include "harness/files/model_files.hpp"
#include "tests/harness/event_batches/event_runs.hpp"

namespace strobe {
namespace {

using event_test::event_case;
using event_test::random_visits;
using event_test::train;
using event_test::TrainedRun;

Json strategy_of(const TrainingGroups& groups, const Json& more = Json::object()) {
  Json strategy = {{"name", "event_batch"}, {"i", groups.i}, {"j", groups.j}, {"k", groups.k}, {"batch", 17}};
  if (!more.is_null()) strategy.update(more);
  return strategy;
}

Case case_of(const std::string& visits, const TrainingGroups& groups, const Json& how, const Json& more = {}) {
  Json changes = {{"strategy", strategy_of(groups, how)}, {"ranks", groups.ranks()}, {"epochs", 4}};
  if (!more.is_null()) changes.update(more);
  return event_case(visits, changes);
}

const std::vector<TrainingGroups> several_groups{{1, 1, 1}, {1, 1, 3}, {2, 1, 1}, {1, 3, 1}, {2, 2, 2}, {3, 1, 2}};

/// Batches are the same at every time of drawing and in every place that keeps them.
TEST(GroupOptions, WhenBatchesAreDrawnChangesNoBit) {
  const test::TemporaryFolder folder;
  std::uint64_t turn = 0;  // each way to draw trains each kind of groups on one of the two graphs
  for (const std::uint64_t seed : {21, 22}) {
    const std::string visits = random_visits(folder, seed, 300);
    for (const TrainingGroups& groups : several_groups) {
      const TrainedRun plain = train(folder, case_of(visits, groups, {{"pipeline", false}}));
      for (const Json& how :
           {Json{{"prefetch", 1}}, Json{{"prefetch", 7}}, Json{{"pipeline", false}, {"prefetch", 1}},
            Json{{"presample", "memory"}}, Json{{"presample", "disk"}}, Json{{"presample", "disk"}, {"prefetch", 5}},
            Json{{"presample", "memory"}, {"pipeline", false}}}) {
        if (turn++ % 2 != 0) continue;
        const TrainedRun other = train(folder, case_of(visits, groups, how));
        EXPECT_EQ(other.result.loss.per_epoch, plain.result.loss.per_epoch) << how;
        EXPECT_EQ(other.weights, plain.weights) << how;
      }
    }
    ++turn;
  }
}

/// The models include draws with no memory, with no level or two levels, and negatives that repeat after two sweeps.
TEST(GroupOptions, PresampledBatchesOfEveryModelAreTheSame) {
  const test::TemporaryFolder folder;
  const std::string visits = random_visits(folder, 23, 260);
  for (const Json& model :
       {Json{{"name", "jodie"}, {"memory", 6}, {"time", 4}},
        Json{{"name", "tgat"}, {"hidden", 6}, {"time", 4}, {"neighbours", 3}},
        Json{{"name", "tgn-attn"}, {"memory", 6}, {"time", 4}, {"mail_dt", "event_minus_memory"}}}) {
    const Json more = {{"model", model}, {"task", {{"negative_groups", 2}}}, {"epochs", 9}};
    const TrainedRun plain = train(folder, case_of(visits, {1, 2, 1}, {}, more));
    for (const char* where : {"memory", "disk"})
      EXPECT_EQ(train(folder, case_of(visits, {1, 2, 1}, {{"presample", where}}, more)).weights, plain.weights)
          << model << where;
  }
}

/// The place of rows changes no result, because the same kernels get the same rows. Each run checks bytes against the
/// plan.
TEST(GroupOptions, ADistributedMemoryIsACopyBitForBit) {
  const test::TemporaryFolder folder;
  for (const std::uint64_t seed : {31, 32, 33}) {
    std::uint64_t turn = seed;  // each layout is trained on one of the three graphs
    const std::string visits = random_visits(folder, seed, 300);
    for (const TrainingGroups& groups : {TrainingGroups{2, 1, 1}, TrainingGroups{4, 1, 1}, TrainingGroups{1, 4, 1},
                                         TrainingGroups{2, 2, 1}, TrainingGroups{3, 2, 1}}) {
      const TrainedRun copy = train(folder, case_of(visits, groups, {}));
      for (std::int64_t nodes = 1; nodes <= groups.ranks(); ++nodes) {
        if (groups.ranks() % nodes != 0) continue;
        for (const bool pipeline : {true, false}) {
          if (turn++ % 3 != 0) continue;
          const Json how = {{"memory_layout", "distributed"}, {"nodes", nodes}, {"pipeline", pipeline}};
          const TrainedRun apart = train(folder, case_of(visits, groups, how));
          EXPECT_EQ(apart.result.loss.per_epoch, copy.result.loss.per_epoch) << how;
          EXPECT_EQ(apart.weights, copy.weights) << how;
        }
      }
    }
  }
}

/// Simulated runs, with values and without, have the same exchanges as a real run.
TEST(GroupOptions, ADistributedMemoryIsSimulatedWithTheSameBytes) {
  const test::TemporaryFolder folder;
  const std::string visits = random_visits(folder, 34, 300);
  const Json how = {{"memory_layout", "distributed"}, {"nodes", 2}};
  const TrainedRun real = train(folder, case_of(visits, {2, 2, 1}, how));
  const auto sent = [](const TrainedRun& run) {
    PerTraffic<std::uint64_t> bytes{};
    for (const EpochSample& sample : run.result.samples) {
      for (std::size_t traffic = 0; traffic < bytes.size(); ++traffic) bytes[traffic] += sample.sent_bytes[traffic];
    }
    return bytes;
  };
  for (const Traffic kind : {Traffic::memory, Traffic::sampling}) ASSERT_GT(sent(real)[kind], 0u);
  const Json sim = {{"device", "sim"}, {"comm", "sim"}, {"cluster", "g4dn-t4"}, {"numerics", "cpu"}};
  const TrainedRun virtual_time = train(folder, case_of(visits, {2, 2, 1}, how, sim));
  EXPECT_EQ(virtual_time.weights, real.weights);
  EXPECT_EQ(sent(virtual_time), sent(real));
  Json shapes = sim;
  shapes["numerics"] = "none";
  const CaseResult sizes = run_case(case_of(visits, {2, 2, 1}, how, shapes));
  ASSERT_EQ(sizes.status, "ok") << sizes.reason;
  EXPECT_EQ(sent({sizes, {}}), sent(real));
}

/// Compares with a brute-force count of rows on other nodes than the rank's own, as its batches are drawn.
TEST(GroupOptions, RowsOfOtherNodesAreCounted) {
  const test::TemporaryFolder folder;
  const Case request = case_of(random_visits(folder, 35, 300), {2, 2, 1}, {});
  const EventCase c = begin_event_case(request);
  const BatchOrder order({2, 2, 1}, c.training_events(), 17, c.training.task->negative_groups);
  const RemoteRows remote(c, order, 2, 9);
  Workers workers(1);
  std::uint64_t numbers = 0, rows = 0;
  GroupDrawState state(c, order, 0);
  for (std::int64_t n = 0; n < 9; ++n) {
    for (int rank = static_cast<int>(n % 2) * 2; rank < static_cast<int>(n % 2) * 2 + 2; ++rank) {
      const std::int64_t other = rank < 2 ? 1 : 0;
      for (std::int64_t set = 0; set < 2; ++set) {
        state.move_to(n, c.training);
        BatchDraw drawn;
        state.drawer.draw(request_of(order, n, rank, set), state.clock, workers, drawn);
        for (std::size_t u = 0; u < drawn.vertices.size(); ++u) {
          if (drawn.vertices[u] % 2 != other) continue;
          numbers += 1, rows += static_cast<std::int64_t>(u) < drawn.mails ? 3 : 1;
        }
        for (const std::int64_t v : drawn.written)
          if (v % 2 == other) numbers += 1, rows += 3;
      }
    }
  }
  EXPECT_EQ(remote.sent_bytes(0, 9, 48), 8 * numbers + 48 * rows);
  EXPECT_GT(remote.sent_bytes(0, 9, 48), remote.sent_bytes(0, 8, 48));
}

TEST(GroupOptions, AStoppedRunWithTheseGoesOnBitForBit) {
  const test::TemporaryFolder folder;
  const std::string visits = random_visits(folder, 36, 300);
  for (const Json& how : {Json{{"memory_layout", "distributed"}, {"nodes", 2}}, Json{{"presample", "disk"}},
                          Json{{"prefetch", 5}}, Json{{"presample", "memory"}, {"prefetch", 9}}}) {
    const TrainedRun whole = train(folder, case_of(visits, {2, 2, 1}, how));
    for (int stop = 1; stop < 4; ++stop) {
      ModelOutputs outputs;
      outputs.checkpoint = folder.file("state.safetensors");
      ASSERT_EQ(run_case(case_of(visits, {2, 2, 1}, how, {{"epochs", stop}}), nullptr, outputs).status, "ok");
      outputs.resume_training = true;
      EXPECT_EQ(train(folder, case_of(visits, {2, 2, 1}, how), outputs).weights, whole.weights) << how << stop;
    }
  }
}

std::vector<double> curve(const CaseResult& result, const std::string& metric) {
  return result.metrics.at(metric).per_epoch;
}

/// The option only selects points of the curve. The selected points and the last one have the same values.
TEST(GroupEvaluation, EveryOtherEpochGivesThosePointsOfTheCurve) {
  const test::TemporaryFolder folder;
  const std::string visits = random_visits(folder, 41, 300);
  for (const char* strategy : {"sequential", "event_batch"}) {
    const auto of = [&](int every) {
      const Json plugin = {{"name", strategy}, {"batch", 17}, {"evaluate_every", every}};
      return curve(run_case(event_case(visits, {{"strategy", plugin}, {"epochs", 5}})), "mrr");
    };
    const std::vector<double> all = of(1), some = of(2);
    ASSERT_EQ(some.size(), 5u);
    for (const std::size_t e : {1, 3, 4}) EXPECT_EQ(some[e], all[e]) << strategy << e;
    for (const std::size_t e : {0, 2}) EXPECT_TRUE(std::isnan(some[e])) << strategy << e;
  }
}

/// `until` uses only evaluated epochs: the epochs between them do not count as epochs without progress.
TEST(GroupEvaluation, UntilLooksAtEvaluatedEpochsAlone) {
  const test::TemporaryFolder folder;
  const std::string visits = random_visits(folder, 42, 300);
  const auto epochs = [&](int every) {
    const Json plugin = {{"name", "event_batch"}, {"batch", 17}, {"evaluate_every", every}};
    const Json changes = {{"strategy", plugin},
                          {"epochs", 40},
                          {"task", {{"split", "60/20/20"}}},
                          {"until", "converged:metric=mrr,patience=2"}};
    const CaseResult result = run_case(event_case(visits, changes));
    EXPECT_EQ(result.status, "ok") << result.reason;
    return std::pair{result.loss.per_epoch.size(), curve(result, "validation_mrr")};
  };
  const auto [all, every_epoch] = epochs(1);
  const auto [some, every_third] = epochs(3);
  // The rule, by hand, over every third point.
  double best = -1;
  int without = 0;
  std::size_t end = 0;
  for (std::size_t e = 2; e < every_third.size() && without < 2; e += 3) {
    without = every_third[e] > best ? 0 : without + 1;
    best = std::max(best, every_third[e]);
    end = e + 1;
  }
  EXPECT_EQ(some, end);
  EXPECT_EQ(some % 3, 0u);
  EXPECT_EQ(every_third[2], every_epoch[2]);
}

/// With randomly chosen batches, metrics equal those of a replay of the same consecutive events from empty memory.
TEST(GroupEvaluation, SomeBatchesAreScoredFromEmptyMemory) {
  const test::TemporaryFolder folder;
  const std::string visits = random_visits(folder, 43, 300);
  const auto of = [&](int batches) {
    const Json plugin = {{"name", "event_batch"}, {"batch", 17}, {"evaluate_batches", batches}};
    return curve(run_case(event_case(visits, {{"strategy", plugin}, {"epochs", 4}})), "mrr");
  };
  const std::vector<double> whole = of(0), one = of(1), all = of(1000);
  EXPECT_EQ(one.back(), whole.back());  // the last weights are always replayed
  EXPECT_EQ(all.back(), whole.back());
  for (std::size_t e = 0; e < 3; ++e) {
    EXPECT_NE(one[e], whole[e]);
    EXPECT_NE(all[e], whole[e]);  // all test events, without the memory of earlier events
    EXPECT_TRUE(one[e] > 0 && one[e] <= 1);
  }
  EXPECT_EQ(of(1), one);
}

/// With one copy and one batch at a time, memory at the end of a sweep comes from the epoch's own passes. An evaluation
/// that begins there differs from a replay only by the weights that wrote the memory.
TEST(GroupEvaluation, CopyZeroIsEvaluatedAtTheEndsOfItsSweeps) {
  const test::TemporaryFolder folder;
  const std::string visits = random_visits(folder, 44, 300);
  for (const TrainingGroups& groups : several_groups) {
    const Json more = {{"epochs", 13}};
    const TrainedRun run = train(folder, case_of(visits, groups, {{"evaluate", "copy0"}}, more));
    const TrainedRun replay = train(folder, case_of(visits, groups, {}, more));
    EXPECT_EQ(run.weights, replay.weights);  // evaluation does not change training
    const std::vector<double> own = curve(run.result, "mrr"), full = curve(replay.result, "mrr");
    const EventCase c = begin_event_case(case_of(visits, groups, {}));
    const BatchOrder order(groups, c.training_events(), 17, 10);
    for (std::int64_t e = 0; e < 12; ++e) {
      const bool ends = order.first_iteration(e + 1) / order.batches() > order.first_iteration(e) / order.batches();
      EXPECT_EQ(!std::isnan(own[e]), ends) << groups.i << groups.j << groups.k << " " << e;
    }
    EXPECT_EQ(own.back(), full.back());
  }
}

/// Without learning, memory at the end of a sweep equals that of a replay.
TEST(GroupEvaluation, CopyZeroWithoutLearningIsTheReplay) {
  const test::TemporaryFolder folder;
  const std::string visits = random_visits(folder, 45, 300);
  for (const char* place : {"host", "device"}) {
    for (const TrainingGroups& groups : {TrainingGroups{1, 1, 1}, TrainingGroups{1, 1, 3}}) {
      const auto of = [&](const char* how) {
        // The batch is as large as the evaluation's, so memory is refreshed at the same events.
        const Json strategy = {{"evaluate", how}, {"batch", 20}, {"memory_on", place}};
        const Json more = {{"epochs", 7}, {"optimizer", {{"name", "adam"}, {"rate", 1e-30}}}};
        return curve(run_case(case_of(visits, groups, strategy, more)), "mrr");
      };
      const std::vector<double> own = of("copy0"), full = of("replay");
      int seen = 0;
      for (std::size_t e = 0; e < own.size(); ++e) {
        if (std::isnan(own[e])) continue;
        EXPECT_NEAR(own[e], full[e], 1e-12) << place << groups.k << " " << e;
        ++seen;
      }
      EXPECT_GE(seen, groups.k == 1 ? 7 : 2);
    }
  }
}

void expect_refused(const Case& c, const std::string& what) {
  try {
    run_case(c);
    FAIL() << what;
  } catch (const InvalidRequest& error) {
    EXPECT_NE((error.where() + " " + error.what()).find(what), std::string::npos) << error.what();
  }
}

/// The run does not crash: its row says what to change.
TEST(GroupOptions, AMissingFolderIsReported) {
  const test::TemporaryFolder folder;
  const char* const before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("TMPDIR", folder.file("nowhere").c_str(), 1);
  const CaseResult result = run_case(case_of(random_visits(folder, 47, 300), {1, 1, 1}, {{"presample", "disk"}}));
  before == nullptr ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", kept.c_str(), 1);
  EXPECT_EQ(result.status, "failed");
  EXPECT_NE(result.reason.find("nowhere: No such file or directory; set TMPDIR"), std::string::npos) << result.reason;
}

TEST(GroupOptions, WhatDoesNotFitIsRefused) {
  const test::TemporaryFolder folder;
  const std::string visits = random_visits(folder, 46, 300);
  const Json apart = {{"memory_layout", "distributed"}, {"nodes", 2}};
  const auto with = [&](Json more) {
    Json all = apart;
    all.update(more);
    return all;
  };
  expect_refused(case_of(visits, {1, 1, 2}, apart), "/strategy/k");
  expect_refused(case_of(visits, {3, 1, 1}, apart), "/strategy/nodes");
  expect_refused(case_of(visits, {2, 1, 1}, with({{"evaluate", "copy0"}})), "/strategy/evaluate");
  expect_refused(case_of(visits, {1, 1, 1}, with({{"memory_on", "device"}})), "/strategy/memory_on");
  expect_refused(case_of(visits, {1, 1, 1}, {{"evaluate", "copy0"}, {"evaluate_batches", 2}}),
                 "/strategy/evaluate_batches");
  const Json tgat = {{"model", {{"name", "tgat"}, {"hidden", 6}, {"time", 4}}}};
  expect_refused(case_of(visits, {2, 1, 1}, with({{"presample", "memory"}}), tgat), "/strategy/memory_layout");
  expect_refused(case_of(visits, {1, 1, 1}, {{"evaluate", "copy0"}}, tgat), "/strategy/evaluate");
}

}  // namespace
}  // namespace strobe
