// Laws with a decoder that reads the past of pairs (task option pair_history): the same mathematics at any number of
// ranks of every strategy, real and simulated; nothing looks ahead; a stopped run goes on.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/harness/event_batches/event_runs.hpp"

namespace strobe {
namespace {

using event_test::event_case;
using event_test::expect_near;
using event_test::short_visits;
using event_test::train;
using event_test::TrainedRun;

Json with_past(int events, const char* history = "batch") {
  return {{"name", "future-links"}, {"candidates", "9"},  {"batch", 20},
          {"pair_history", events}, {"history", history}, {"negatives", "any"}};
}

CaseResult steps_run(const std::string& visits, const Json& changes) {
  Json request = {{"workload", {{"name", visits}, {"window_count", 20}}},
                  {"model", "t-gcn"},
                  {"strategy", "sequential"},
                  {"task", with_past(30)},
                  {"precision", "fp64"},
                  {"epochs", 3},
                  {"warmup", 0}};
  request.update(changes);
  const CaseResult result = run_case(case_from_json(request, ""));
  EXPECT_EQ(result.status, "ok") << result.reason;
  return result;
}

std::vector<Json> event_models() {
  return {Json{{"name", "tgn-attn"}, {"memory", 6}, {"time", 4}, {"neighbours", 3}},
          Json{{"name", "jodie"}, {"memory", 6}, {"time", 4}},
          Json{{"name", "tgat"}, {"hidden", 6}, {"time", 4}, {"neighbours", 3}}};
}

TEST(PairHistory, EveryStrategyOfSnapshotsComputesWhatOneRankDoes) {
  const test::TemporaryFolder folder;
  for (const std::uint64_t seed : {21, 22}) {
    const std::string visits = short_visits(folder, seed, 400);
    const CaseResult one = steps_run(visits, Json::object());
    EXPECT_NE(one.loss.per_epoch, steps_run(visits, {{"task", with_past(0)}}).loss.per_epoch);
    for (const char* strategy : {"snapshot", "pss", "vertex", "chunk", "adt"}) {
      for (const int ranks : {2, 3}) {
        const CaseResult many = steps_run(visits, {{"strategy", strategy}, {"ranks", ranks}});
        const std::string what = std::string(strategy) + " on " + std::to_string(ranks);
        expect_near(many.loss.per_epoch, one.loss.per_epoch, 1e-10, what);
        expect_near(many.metrics.at("mrr").per_epoch, one.metrics.at("mrr").per_epoch, 1e-10, what);
      }
    }
    const Json simulated = {{"strategy", "vertex"}, {"ranks", 2}, {"device", "sim"}, {"numerics", "cpu"}};
    EXPECT_EQ(steps_run(visits, simulated).loss.per_epoch,
              steps_run(visits, {{"strategy", "vertex"}, {"ranks", 2}}).loss.per_epoch);
    const Json seen = {{"presence", "seen"}};
    Json seen_by_vertex = seen;
    seen_by_vertex.update({{"strategy", "vertex"}, {"ranks", 2}});
    expect_near(steps_run(visits, seen_by_vertex).loss.per_epoch, steps_run(visits, seen).loss.per_epoch, 1e-10,
                "seen");
  }
}

TEST(PairHistory, HybridBatchesOfAllCellsAreTheWholeGraph) {
  const test::TemporaryFolder folder;
  const std::string visits = short_visits(folder, 23, 400);
  const Json all = {{"name", "hybrid_batch"}, {"vertices", "100%"}, {"snapshots", "100%"}, {"adjuster", "none"}};
  const CaseResult batches = steps_run(visits, {{"strategy", all}}), whole = steps_run(visits, Json::object());
  EXPECT_NEAR(batches.loss.per_epoch.front(), whole.loss.per_epoch.front(), 1e-10);
}

TEST(PairHistory, RanksThatShareABatchOfEventsAreOneRankWithIt) {
  const test::TemporaryFolder folder;
  const std::string visits = short_visits(folder, 24, 353);
  for (const Json& model : event_models()) {
    for (const char* history : {"batch", "event"}) {
      const Json base = {{"model", model}, {"task", with_past(25, history)}};
      const auto run = [&](Json changes) {
        changes.update(base);
        return train(folder, event_case(visits, changes));
      };
      const TrainedRun one = run({{"strategy", {{"name", "sequential"}, {"batch", 84}}}});
      const Json two = {{"name", "event_batch"}, {"batch", 42}, {"i", 2}};
      const TrainedRun shared = run({{"strategy", two}, {"ranks", 2}});
      expect_near(shared.result.loss.per_epoch, one.result.loss.per_epoch, 1e-10, model.dump());
      expect_near(shared.weights, one.weights, 1e-10, model.dump());
      expect_near(shared.result.metrics.at("mrr").per_epoch, one.result.metrics.at("mrr").per_epoch, 1e-10, "mrr");
      const TrainedRun simulated = run({{"strategy", two}, {"ranks", 2}, {"device", "sim"}, {"numerics", "cpu"}});
      EXPECT_EQ(simulated.weights, shared.weights);
      for (const char* where : {"memory", "disk"}) {
        Json presampled = two;
        presampled["presample"] = where;
        EXPECT_EQ(run({{"strategy", presampled}, {"ranks", 2}}).weights, shared.weights) << where;
      }
    }
  }
}

TEST(PairHistory, AStoppedRunGoesOnBitForBit) {
  const test::TemporaryFolder folder;
  const std::string visits = short_visits(folder, 25, 300);
  const Json groups = {{"name", "event_batch"}, {"batch", 17}, {"i", 1}, {"j", 2}, {"k", 2}};
  const auto of = [&](int epochs) {
    return event_case(visits, {{"strategy", groups}, {"ranks", 4}, {"epochs", epochs}, {"task", with_past(40)}});
  };
  const TrainedRun whole = train(folder, of(4));
  ModelOutputs outputs;
  outputs.checkpoint = folder.file("state.safetensors");
  ASSERT_EQ(run_case(of(2), nullptr, outputs).status, "ok");
  outputs.resume_training = true;
  const TrainedRun rest = train(folder, of(4), outputs);
  EXPECT_EQ(rest.result.loss.per_epoch, whole.result.loss.per_epoch);
  EXPECT_EQ(rest.weights, whole.weights);
}

TEST(PairHistory, NothingThatComesLaterChangesWhatAModelSays) {
  const test::TemporaryFolder folder;
  const std::string visits = event_test::random_visits(folder, 5, 400);
  const std::string changed = event_test::with_other_items_after(folder, visits, 341, 11);
  for (const char* history : {"batch", "event"}) {
    const Json task = {
        {"name", "future-links"}, {"candidates", "9"}, {"batch", 20}, {"pair_history", 30}, {"history", history}};
    const CaseResult a = run_case(event_case(visits, {{"task", task}})),
                     b = run_case(event_case(changed, {{"task", task}}));
    const CaseResult c = steps_run(visits, {{"task", task}}), d = steps_run(changed, {{"task", task}});
    for (const auto& [one, other] : {std::pair{a, b}, std::pair{c, d}}) {
      EXPECT_EQ(one.loss.per_epoch, other.loss.per_epoch);
      EXPECT_EQ(one.metrics.at("validation_mrr").per_epoch.back(), other.metrics.at("validation_mrr").per_epoch.back());
      EXPECT_NE(one.metrics.at("mrr").per_epoch.back(), other.metrics.at("mrr").per_epoch.back());
    }
  }
}

TEST(PairHistory, IsRefusedWithEventsThatLieOnSeveralNodes) {
  const test::TemporaryFolder folder;
  const std::string visits = short_visits(folder, 26, 300);
  const Json strategy = {
      {"name", "event_batch"}, {"batch", 17}, {"i", 2}, {"memory_layout", "distributed"}, {"nodes", 2}};
  try {
    run_case(event_case(visits, {{"strategy", strategy}, {"ranks", 2}, {"task", with_past(9)}}));
    FAIL() << "it was not refused";
  } catch (const InvalidRequest& refused) {
    EXPECT_NE(refused.message().find("memory_layout=copy"), std::string::npos) << refused.message();
  }
}

/// A repeats what B did just before: only who has met whom tells the destination.
TEST(PairHistory, LetsAModelLearnWhatOnlyThePairShows) {
  const test::TemporaryFolder folder;
  const RandomStream random(7, 3);
  // Item and user of an event are independent draws, but every event happens twice, 40 events apart.
  const auto pair_of = [&](int e) {
    const auto number = static_cast<std::uint64_t>(2 * (e / 80 * 40 + e % 40));
    return std::pair{static_cast<int>(random.below(number, 60)), static_cast<int>(random.below(number + 1, 200))};
  };
  const std::string visits = event_test::jodie_file(folder, "twice.csv", 6000, [&](int e) {
    return fmt::format("{},{},{},0,0", pair_of(e).first, pair_of(e).second, e);
  });
  const auto mrr = [&](int past) {
    const Json task = {{"name", "future-links"}, {"candidates", "19"}, {"batch", 20}, {"pair_history", past}};
    const Case c = event_case(visits, {{"model", {{"name", "jodie"}, {"memory", 8}, {"time", 4}}},
                                       {"strategy", {{"batch", 20}}},
                                       {"task", task},
                                       {"optimizer", {{"name", "adam"}, {"rate", 0.01}}},
                                       {"precision", "fp32"},
                                       {"epochs", 12}});
    return run_case(c).metrics.at("mrr").per_epoch.back();
  };
  EXPECT_GT(mrr(50), mrr(0) + 0.15);
}

/// A task with some of its options drawn, those that protocols leave open.
Json drawn_task(std::uint64_t number, bool of_events) {
  const RandomStream random(11, random_purpose::test, static_cast<std::uint32_t>(number));
  std::uint64_t place = 0;
  const auto one_of = [&](const std::vector<Json>& values) { return values[random.below(place++, values.size())]; };
  Json task = {{"name", "future-links"}, {"pair_history", one_of({0, 1, 25})}};
  if (of_events && one_of({false, false, true}).get<bool>()) {
    task["protocol"] = one_of({"dyglib", "tgn"});
    return task;
  }
  task.update({{"candidates", one_of({"1", "9", "all"})},
               {"batch", one_of({7, 20})},
               {"links", one_of({"all", "new"})},
               {"evaluation_negatives", one_of({"random", "historical", "inductive"})},
               {"history", one_of({"batch", "event"})},
               {"ties", one_of({"average", "pessimistic"})},
               {"negatives", one_of({"auto", "any"})}});
  // New links of vertices that are kept out are too few in a small graph.
  if (of_events && task["links"] == "all") task["kept_out"] = one_of({0.0, 0.0, 0.2});
  return task;
}

void expect_same_values(const CaseResult& found, const CaseResult& wanted, const std::string& what) {
  expect_near(found.loss.per_epoch, wanted.loss.per_epoch, 1e-10, what);
  ASSERT_EQ(found.metrics.size(), wanted.metrics.size()) << what;
  EXPECT_EQ(found.metric_samples, wanted.metric_samples) << what;
  EXPECT_EQ(found.metric_best_rule, wanted.metric_best_rule) << what;
  for (const auto& [name, series] : wanted.metrics)
    expect_near(found.metrics.at(name).per_epoch, series.per_epoch, 1e-10, what + " " + name);
}

TEST(TaskPairs, OfEventsAreTheSameOnOneRankOnTwoNodesAndAfterAStop) {
  const test::TemporaryFolder folder;
  const std::string visits = short_visits(folder, 31, 900);
  int distributed = 0;
  for (std::uint64_t number = 0; number < 18; ++number) {
    const Json task = drawn_task(number, true), model = event_models()[number % 3];
    const auto run = [&](Json changes, int epochs = 3, const ModelOutputs& outputs = {}) {
      changes.update({{"model", model}, {"task", task}, {"epochs", epochs}});
      const CaseResult result = run_case(event_case(visits, changes), nullptr, outputs);
      EXPECT_EQ(result.status, "ok") << result.reason << task.dump();
      return result;
    };
    const Json alone = {{"strategy", {{"name", "sequential"}, {"batch", 84}}}};
    const CaseResult one = run(alone);
    Json two = {{"name", "event_batch"}, {"batch", 42}, {"i", 2}};
    expect_same_values(run({{"strategy", two}, {"ranks", 2}}), one, "two ranks " + task.dump());
    if (task.at("pair_history") == 0 && model.at("name") != "tgat") {
      two.update({{"memory_layout", "distributed"}, {"nodes", 2}});
      expect_same_values(run({{"strategy", two}, {"ranks", 2}}), one, "two nodes " + task.dump());
      ++distributed;
    }
    ModelOutputs outputs;
    outputs.checkpoint = folder.file("pairs.safetensors");
    run(alone, 1, outputs);
    outputs.resume_training = true;
    const CaseResult rest = run(alone, 3, outputs);
    EXPECT_EQ(rest.loss.per_epoch, one.loss.per_epoch) << task.dump();
    EXPECT_EQ(rest.metrics.at("mrr").per_epoch.back(), one.metrics.at("mrr").per_epoch.back()) << task.dump();
  }
  EXPECT_GT(distributed, 2);
}

TEST(TaskPairs, OfSnapshotsAreTheSameOnAnyNumberOfRanksAndAfterAStop) {
  const test::TemporaryFolder folder;
  const std::string visits = short_visits(folder, 32, 500);
  for (std::uint64_t number = 0; number < 12; ++number) {
    const Json task = drawn_task(number, false);
    const auto run = [&](const char* strategy, int ranks, int epochs = 3, const ModelOutputs& outputs = {}) {
      const Json request = {{"workload", {{"name", visits}, {"window_count", 20}}},
                            {"model", "t-gcn"},
                            {"strategy", strategy},
                            {"ranks", ranks},
                            {"task", task},
                            {"precision", "fp64"},
                            {"epochs", epochs},
                            {"warmup", 0}};
      const CaseResult result = run_case(case_from_json(request, ""), nullptr, outputs);
      EXPECT_EQ(result.status, "ok") << result.reason << task.dump();
      return result;
    };
    const CaseResult one = run("sequential", 1);
    for (const char* strategy : {"vertex", "snapshot", "chunk"})
      expect_same_values(run(strategy, 3), one, strategy + task.dump());
    ModelOutputs outputs;
    outputs.checkpoint = folder.file("pairs.safetensors");
    run("vertex", 2, 1, outputs);
    outputs.resume_training = true;
    const CaseResult rest = run("vertex", 2, 3, outputs);
    EXPECT_EQ(rest.loss.per_epoch, run("vertex", 2).loss.per_epoch) << task.dump();
  }
}

}  // namespace
}  // namespace strobe
