// Models of snapshots and models of events on the same events. Both have the same baseline rules, and later events
// never change the scores of a batch, also with hybrid batches and with cells that come and go.
#include <gtest/gtest.h>

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
    const bool beats =
        snapshots.metrics.at("mrr").per_epoch.back() > snapshots.metrics.at("recency_mrr").per_epoch.back();
    EXPECT_EQ(says("recency rule"), !beats) << model;
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

}  // namespace
}  // namespace strobe
