// Plans whose jobs last until a metric, with several kinds of training and models of both families. Each reaches the
// metric as soon as the simulated run that trains it with values.
#include "harness/advisor/metric_job.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "core/errors.hpp"
#include "harness/advisor/evaluate.hpp"
#include "harness/advisor/front.hpp"
#include "harness/advisor/plan_report.hpp"
#include "harness/request/schedule_tag.hpp"
#include "tests/harness/event_batches/event_runs.hpp"

namespace strobe {
namespace {

PlanSpace two_families(const std::string& visits) {
  PlanSpace space;
  space.settings = {{"workload", visits, "--workload"},
                    {"workload.window_count", "40", "--workload"},
                    {"task.candidates", "9", "--set"},
                    {"task.batch", "20", "--set"},
                    {"optimizer.rate", "0.01", "--set"}};
  space.models = {{"t-gcn", {}}, {"jodie", {{"memory", "4"}, {"time", "4"}}}};
  space.strategies = {{"vertex", {{"partitioner", "hash"}}},
                      {"chunk", {}},
                      {"hybrid_batch", {{"vertices", "5%"}, {"snapshots", "20%"}}},
                      {"dynahb", {}},
                      {"event_batch", {{"batch", "20"}, {"i", "1"}}}};
  space.clusters = {"p3dn-v100"};
  space.nodes = {1};
  space.knobs = {};
  space.until_metric = true;
  return space;
}

/// Points of at most four ranks, one block.
std::vector<PlanPoint> few(const PlanSpace& space) {
  std::vector<PlanPoint> points = plan_points(space);
  std::erase_if(points, [](const PlanPoint& point) { return point.request.ranks > 4 || point.request.nb != "1"; });
  return points;
}

TEST(MetricJobs, BothFamiliesAndAllKindsOfTrainingAreSearchedTogether) {
  const test::TemporaryFolder folder;
  const std::vector<PlanPoint> points = few(two_families(event_test::random_visits(folder, 3, 400)));
  std::set<std::string> kinds, tasks, ids;
  for (const PlanPoint& point : points) {
    kinds.insert(schedule_of(point.request).name);
    tasks.insert(point.request.task.at("name").get<std::string>());
    EXPECT_TRUE(ids.insert(point.id).second) << point.id;
    EXPECT_EQ(point.choices.front().first, "model");
    EXPECT_EQ(family_of(point.request.model) == "events", !point.request.workload.contains("window_count"));
  }
  EXPECT_EQ(kinds, (std::set<std::string>{"event_batches", "full_batch", "hybrid_batches"}));
  EXPECT_EQ(tasks, (std::set<std::string>{"future-links"})) << "one task judges all";
}

TEST(MetricJobs, BatchesOfEventsAreSearchedWhereAMetricJudgesThem) {
  const test::TemporaryFolder folder;
  PlanSpace space = two_families(event_test::random_visits(folder, 3, 400));
  const auto batches = [](const PlanSpace& of) {
    std::map<std::string, std::set<std::string>> all;  // by strategy
    for (const PlanPoint& point : plan_points(of)) {
      if (family_of(point.request.model) == "events")
        all[point.request.strategy.at("name")].insert(point.request.strategy.at("batch").dump());
    }
    return all;
  };
  const std::set<std::string> searched = {"200", "600", "1800"};
  space.strategies = {{"sequential", {}}, {"event_batch", {{"i", "1"}}}};  // `sequential` trains both families
  EXPECT_EQ(batches(space),
            (std::map<std::string, std::set<std::string>>{{"event_batch", searched}, {"sequential", searched}}));
  space.settings.push_back({"strategy.batch", "50", "--set"});
  space.models.erase(space.models.begin());
  space.settings.erase(space.settings.begin() + 1);  // event models take no windows of steps
  EXPECT_EQ(batches(space).at("event_batch"), std::set<std::string>{"50"}) << "a given value is not searched";
  space.settings.pop_back();
  space.until_metric = false;  // the epoch's time always prefers the largest batch
  EXPECT_EQ(batches(space).at("event_batch"), std::set<std::string>{"600"});
}

TEST(MetricJobs, LastAsLongAsTheRunThatTrainsUntilThen) {
  const test::TemporaryFolder folder;
  const std::vector<PlanPoint> points = few(two_families(event_test::random_visits(folder, 3, 400)));
  MetricJob metric("mrr=0.25", 30);
  std::set<std::string> reached;  // kinds of training
  for (const PlanOutcome& outcome : evaluate(points, 30, 2, {}, &metric)) {
    ASSERT_TRUE(outcome.status == "ok" || outcome.status == "not_reached") << outcome.point.id << " " << outcome.reason;
    Case c = outcome.point.request;
    c.numerics = "cpu", c.until = "mrr=0.25", c.epochs = 30, c.warmup = 0;
    const CaseResult run = run_case(c);
    ASSERT_EQ(run.status, "ok") << run.reason;
    EXPECT_EQ(run.until->reached, outcome.status == "ok") << outcome.point.id;
    if (outcome.status != "ok") continue;
    reached.insert(schedule_of(c).name);
    EXPECT_EQ(run.until->iterations, *outcome.metric_updates) << outcome.point.id;
    // The first epoch of exact training also sets up the optimiser. Batches made during training may differ by one.
    EXPECT_NEAR(outcome.job_seconds / run.until->seconds, 1.0, 0.15) << outcome.point.id;
  }
  EXPECT_EQ(reached.size(), 3u);
}

TEST(MetricJobs, WhatNeverGetsThereIsDiscardedWithThatReason) {
  const test::TemporaryFolder folder;
  PlanSpace space = two_families(event_test::random_visits(folder, 3, 400));
  space.strategies = {{"vertex", {{"partitioner", "hash"}}}};
  space.models = {{"t-gcn", {}}};
  MetricJob metric("mrr=0.99", 3);
  PlanReport report;
  report.until = "mrr=0.99", report.epochs = 3, report.goal = PlanGoal::time_to_metric;
  space.settings.push_back({"task", "future-links", "--task"});
  report.outcomes = evaluate(few(space), 3, 1, {}, &metric);
  judge_points(report);
  EXPECT_EQ(report.best(), nullptr);
  for (const PlanVerdict& verdict : report.verdicts) {
    EXPECT_EQ(verdict.cause, "not_reached");
    EXPECT_NE(verdict.reason.find("mrr=0.99 was not reached in 3 epochs"), std::string::npos) << verdict.reason;
  }
  const Json json = plan_to_json(report);
  EXPECT_EQ(json.at("until"), "mrr=0.99");
  EXPECT_TRUE(json.at("points").front().at("metric_updates").is_null());
  EXPECT_NE(plan_text(report, 5).find("lasts until mrr=0.99, 3 epochs at most"), std::string::npos);
}

TEST(MetricJobs, RefuseRulesThatModelsDoNotShareAndStrategiesThatTrainNoneOfThem) {
  for (const char* rule : {"converged", "converged:metric=mrr", "loss=0.1", "mrr", "mrr=much"})
    EXPECT_THROW(MetricJob(rule, 10), InvalidRequest) << rule;
  const test::TemporaryFolder folder;
  PlanSpace space = two_families(event_test::random_visits(folder, 3, 100));
  space.strategies = {{"vertex", {}}};
  try {
    plan_points(space);
    ADD_FAILURE() << "jodie is not trained by vertex";
  } catch (const InvalidRequest& error) {
    EXPECT_EQ(error.where(), "--strategy");
  }
}

}  // namespace
}  // namespace strobe
