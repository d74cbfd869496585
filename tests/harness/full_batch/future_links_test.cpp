// Models of snapshots and models of events on the same events. Both have the same baseline rules, and later events
// never change the scores of a batch, also with hybrid batches and with cells that come and go.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/harness/event_batches/event_runs.hpp"

namespace strobe {
namespace {

Json snapshot_request(const std::string& workload, const std::string& model, const Json& strategy = "sequential") {
  return {{"workload", {{"name", workload}, {"window_count", 40}}},
          {"model", model},
          {"strategy", strategy},
          {"task", {{"name", "future-links"}, {"candidates", "9"}, {"batch", 20}}},
          {"precision", "fp64"},
          {"epochs", 3},
          {"warmup", 0}};
}

CaseResult ran(const Json& request) {
  const CaseResult result = run_case(case_from_json(request, ""));
  EXPECT_EQ(result.status, "ok") << result.reason;
  return result;
}

TEST(FutureLinks, BothFamiliesAreJudgedByOneTest) {
  const test::TemporaryFolder folder;
  const std::string visits = event_test::random_visits(folder, 3, 400);
  const CaseResult events = run_case(event_test::event_case(visits));
  ASSERT_EQ(events.status, "ok") << events.reason;
  for (const char* model : {"t-gcn", "evolve-gcn-o", "dysat"}) {
    const CaseResult snapshots = ran(snapshot_request(visits, model));
    ASSERT_EQ(snapshots.metrics.size(), events.metrics.size());
    for (const auto& [name, series] : events.metrics) {
      ASSERT_EQ(snapshots.metrics.count(name), 1u) << name;
      EXPECT_EQ(snapshots.metric_samples.at(name), events.metric_samples.at(name)) << name;
      if (name.find("edgebank") == std::string::npos && name.find("recency") == std::string::npos &&
          name.find("popularity") == std::string::npos)
        continue;
      EXPECT_EQ(snapshots.metrics.at(name).per_epoch.back(), series.per_epoch.back()) << name;
    }
    const auto says = [&](const std::string& words) {
      return std::any_of(snapshots.notes.begin(), snapshots.notes.end(),
                         [&](const std::string& note) { return note.find(words) != std::string::npos; });
    };
    const bool beats = snapshots.metrics.at("mrr").per_epoch.back() > snapshots.metric_best_rule.at("mrr");
    EXPECT_EQ(says("does not beat a rule"), !beats) << model;
    EXPECT_EQ(snapshots.metric_best_rule, events.metric_best_rule);
    EXPECT_EQ(snapshots.facts.get<std::int64_t>("evaluation_batch"),
              events.facts.get<std::int64_t>("evaluation_batch"));
  }
}

TEST(FutureLinks, NothingThatComesLaterChangesWhatASnapshotModelSays) {
  const test::TemporaryFolder folder;
  const std::string visits = event_test::random_visits(folder, 5, 400);
  // The events after number 341 are the test events: other items there do not change training and validation.
  const std::string changed = event_test::with_other_items_after(folder, visits, 341, 11);
  for (const char* model : {"t-gcn", "tm-gcn", "dysat", "evolve-gcn-h", "dcrnn", "mpnn-lstm"}) {
    for (const Json& strategy : {Json("sequential"), Json{{"name", "hybrid_batch"}, {"adjuster", "none"}}}) {
      const CaseResult a = ran(snapshot_request(visits, model, strategy)),
                       b = ran(snapshot_request(changed, model, strategy));
      EXPECT_EQ(a.loss.per_epoch, b.loss.per_epoch) << model;
      EXPECT_EQ(a.metrics.at("validation_mrr").per_epoch.back(), b.metrics.at("validation_mrr").per_epoch.back())
          << model;
      EXPECT_NE(a.metrics.at("mrr").per_epoch.back(), b.metrics.at("mrr").per_epoch.back()) << model;
    }
  }
}

TEST(FutureLinks, CellsThatComeAndGoLeaveOutWhatTheyCannotScore) {
  const test::TemporaryFolder folder;
  Json request = snapshot_request(event_test::random_visits(folder, 6, 400), "t-gcn");
  request["presence"] = "active";
  const CaseResult result = ran(request);
  EXPECT_LT(result.metric_samples.at("mrr"), 60);
  EXPECT_GT(result.metric_samples.at("mrr"), 0);
  EXPECT_EQ(result.metrics.count("recency_mrr"), 0u) << "of all events, and the model is judged on some";
}

TEST(FutureLinks, EndWithTheirMetricAndSayHowLongItTook) {
  const test::TemporaryFolder folder;
  Json request = snapshot_request(event_test::random_visits(folder, 3, 400), "t-gcn", "vertex");
  request.update({{"ranks", 2}, {"epochs", 40}, {"until", "mrr=0.2"}});
  const CaseResult result = ran(request);
  EXPECT_LT(result.loss.per_epoch.size(), 40u);
  EXPECT_GE(result.metrics.at("validation_mrr").per_epoch.back(), 0.2);
}

/// Three standard errors of the mean of `count` values of [0, 1]; their variance is at most mean (1 - mean).
double chance_above(double mean, std::int64_t count) {
  return 3 * std::sqrt(mean * (1 - mean) / static_cast<double>(count));
}

TEST(FutureLinks, NoTrainedModelExceedsWhatIsPossible) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    for (const Json& model : {Json{{"name", "jodie"}, {"memory", 16}, {"time", 8}},
                              Json{{"name", "tgn-attn"}, {"memory", 16}, {"time", 8}, {"neighbours", 5}},
                              Json{{"name", "t-gcn"}, {"hidden", 16}}}) {
      const bool steps = model.at("name") == "t-gcn";
      Json workload = {{"name", "planted"}, {"vertices", 400}, {"events", 6000}, {"communities", 8}};
      if (steps) workload.update({{"window_count", 60}, {"features", "own"}});
      const Json strategy = steps ? Json("sequential") : Json{{"name", "sequential"}, {"batch", 100}};
      for (const char* links : {"all", "new"}) {
        const CaseResult result = ran({{"workload", workload},
                                       {"model", model},
                                       {"strategy", strategy},
                                       {"task", {{"name", "future-links"}, {"batch", 50}, {"links", links}}},
                                       {"optimizer", {{"name", "adam"}, {"rate", 0.003}}},
                                       {"seed", seed},
                                       {"epochs", steps ? 20 : 4},
                                       {"warmup", 0}});
        ASSERT_EQ(result.metric_best_possible.size(), 6u) << model.dump();
        for (const auto& [name, best] : result.metric_best_possible) {
          const double found = result.metrics.at(name).per_epoch.back();
          EXPECT_LT(found, best + chance_above(best, result.metric_samples.at(name)))
              << model.dump() << " " << name << " links=" << links << " seed " << seed;
          EXPECT_LT(result.metric_best_rule.at(name), best);
        }
      }
    }
  }
}

TEST(BestRules, OfOtherTasksAreInTheRow) {
  const test::TemporaryFolder folder;
  const std::string visits = event_test::random_visits(folder, 7, 400);
  const CaseResult values = ran({{"workload", {{"name", visits}, {"window_count", 20}}},
                                 {"model", "t-gcn"},
                                 {"strategy", "sequential"},
                                 {"task", "vertex-regression"},
                                 {"epochs", 2}});
  for (const char* error : {"rmse", "mae"})
    EXPECT_EQ(values.metric_best_rule.at(error),
              values.metrics.at(std::string("last_value_") + error).per_epoch.back());
  const CaseResult classes = run_case(
      event_test::event_case(visits, {{"task", {{"name", "event-classification"}, {"batch", 20}}}, {"epochs", 2}}));
  ASSERT_EQ(classes.status, "ok") << classes.reason;
  for (const std::string part : {"", "validation_"})
    EXPECT_EQ(classes.metric_best_rule.at(part + "f1_micro"),
              classes.metrics.at(part + "majority_f1_micro").per_epoch.back());
  EXPECT_TRUE(classes.metric_best_possible.empty());
}

}  // namespace
}  // namespace strobe
