// Every registered task on bundled and generated data keeps law 3: the sequential curve at every rank count, under
// every exact strategy. Planned bytes equal sent bytes (run_case fails a case that breaks this), metrics are equal, the
// loss falls, and rows have the metrics of a trivial baseline. A new task is tested here without an edit.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "harness/placement/strategy.hpp"
#include "harness/request/case.hpp"
#include "harness/run/run_case.hpp"
#include "models/tasks/task.hpp"
#include "tests/full_batch_strategies.hpp"
#include "tests/long.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

const Json small = {{"name", "uniform"}, {"vertices", 60}, {"steps", 12}, {"density", 3}};

Json workload_called(const std::string& name) {
  if (name == "uniform") return small;
  Json workload = {{"name", name}};
  if (name == "amlsim-20k") workload["window"] = "15";  // half-months instead of days: a fifteenth of the cells
  return workload;
}

/// Whether the task can be drawn on the workload: some need labels.
bool draws(const std::string& task, const Json& workload) {
  const std::string name = workload.at("name");
  const Json parameters = complete_workload_parameters(name, workload, "");
  const SnapshotGraph graph = load_workload(name, parameters, 1);
  const std::optional<EventGraph> events = load_events(name, parameters, 1);
  try {
    draw_samples(*TaskRegistry::instance().find(task).value(Json::object()), graph, events ? &*events : nullptr, 1);
    return true;
  } catch (const InvalidRequest&) {
    return false;
  }
}

/// The task. When it ranks candidates it has few of them, which are enough for the comparison of a law.
Json task_called(const std::string& name) {
  Json task = {{"name", name}};
  if (TaskRegistry::instance().find(name).parameters.complete(Json::object(), "").contains("candidates"))
    task["candidates"] = "2";
  return task;
}

CaseResult run(const std::string& task, const Json& workload, const std::string& strategy, int ranks,
               const std::string& precision = "fp64") {
  const Json request = {
      {"workload", workload}, {"task", task_called(task)}, {"strategy", strategy}, {"ranks", ranks}, {"epochs", 2},
      {"warmup", 1},          {"precision", precision}};
  const CaseResult result = run_case(case_from_json(request, ""));
  EXPECT_EQ(result.status, "ok") << task << " " << strategy << " at " << ranks << " ranks: " << result.reason;
  return result;
}

void expect_same(const CaseResult& a, const CaseResult& b, double tolerance, const std::string& what) {
  ASSERT_EQ(a.loss.per_epoch.size(), 3u) << what;
  for (std::size_t e = 0; e < 3; ++e) EXPECT_NEAR(a.loss.per_epoch[e] / b.loss.per_epoch.at(e), 1.0, tolerance) << what;
  ASSERT_EQ(a.metrics.size(), b.metrics.size()) << what;
  for (const auto& [name, series] : b.metrics) {
    ASSERT_EQ(series.per_epoch.size(), 3u) << what << " " << name;
    // One sample more or less at a threshold changes a rate by its share.
    EXPECT_NEAR(a.metrics.at(name).per_epoch.back(), series.per_epoch.back(), 1e-3) << what << " " << name;
  }
}

class Tasks : public testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(Tasks, AreTheSameUnderEveryStrategyAndRankCount) {
  const auto& [task, workload] = GetParam();
  const Json graph = workload_called(workload);
  if (!draws(task, graph)) GTEST_SKIP() << workload << " has not what " << task << " needs";
  const CaseResult sequential = run(task, graph, "sequential", 1);
  ASSERT_EQ(sequential.loss.per_epoch.size(), 3u);
  EXPECT_LT(sequential.loss.per_epoch.back(), sequential.loss.per_epoch.front()) << "nothing was learnt";
  for (const std::string& strategy : test::full_batch_strategies()) {
    if (strategy == "sequential") continue;
    for (const int ranks : test::is_long() ? std::vector<int>{1, 4, 7} : std::vector<int>{2, 3}) {
      const CaseResult result = run(task, graph, strategy, ranks);
      if (!result.exact) continue;
      expect_same(result, sequential, 1e-10, task + " " + strategy + " r" + std::to_string(ranks));
    }
  }
  expect_same(run(task, graph, "vertex", 3, "fp32"), run(task, graph, "sequential", 1, "fp32"), 1e-4, task + " fp32");
}

auto tasks_and_sets() {
  return testing::Combine(testing::ValuesIn(tasks_for("snapshots")),
                          testing::Values("amlsim-20k", "ucsocial", "uniform"));
}

std::string task_and_set_name(const testing::TestParamInfo<std::tuple<std::string, std::string>>& parameter) {
  std::string name = std::get<0>(parameter.param) + "_" + std::get<1>(parameter.param);
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, Tasks, tasks_and_sets(), task_and_set_name);
INSTANTIATE_TEST_SUITE_P(Long, Tasks, tasks_and_sets(), task_and_set_name);

TEST(TaskRegistry, EveryTaskRunsOnABundledSet) {
  for (const auto& [name, entry] : TaskRegistry::instance().entries()) {
    if (!entry.value.serves("snapshots")) continue;
    EXPECT_TRUE(draws(name, workload_called("amlsim-20k"))) << name;
    const auto task = entry.value(Json::object());
    EXPECT_GE(task->metric_names().size(), 2u) << name;
    EXPECT_GE(task->classes(), 1) << name;
  }
}

TEST(TaskBytes, SimulatedEqualReal) {
  for (const std::string task : {"vertex-classification", "vertex-regression"}) {
    Json request = {{"workload", workload_called("amlsim-20k")},
                    {"task", task},
                    {"strategy", "vertex"},
                    {"ranks", 4},
                    {"epochs", 1},
                    {"warmup", 0}};
    const CaseResult real = run_case(case_from_json(request, ""));
    request["device"] = "sim";
    const CaseResult simulated = run_case(case_from_json(request, ""));
    ASSERT_EQ(simulated.status, "ok") << simulated.reason;
    ASSERT_EQ(real.samples.size(), simulated.samples.size());
    for (std::size_t i = 0; i < real.samples.size(); ++i) {
      EXPECT_EQ(real.samples[i].sent_bytes, simulated.samples[i].sent_bytes) << task << " rank " << i;
    }
  }
}

TEST(TaskRequests, WhatCannotBeTrainedIsRefusedByOption) {
  const auto where = [](const Json& workload, const Json& task) {
    try {
      run_case(case_from_json(Json{{"workload", workload}, {"task", task}, {"epochs", 1}}, ""));
    } catch (const InvalidRequest& error) {
      return error.where();
    }
    return std::string("accepted");
  };
  EXPECT_EQ(where(small, "vertex-classification"), "/task");
  EXPECT_EQ(where(small, {{"name", "vertex-regression"}, {"target", "workload"}}), "/task/target");
  EXPECT_EQ(where("amlsim-20k", {{"name", "vertex-classification"}, {"class_weights", "1,2,3"}}),
            "/task/class_weights");
  EXPECT_EQ(where("amlsim-20k", {{"name", "vertex-classification"}, {"class_weights", "heavy"}}),
            "/task/class_weights");
  EXPECT_EQ(where("amlsim-20k", {{"name", "vertex-classification"}, {"class_weights", "0,0"}}), "/task/class_weights");
  EXPECT_EQ(where("amlsim-20k", {{"name", "vertex-classification"}, {"class_weights", "1,-2"}}), "/task/class_weights");
  Json one_step = small;
  one_step["steps"] = 1;
  EXPECT_EQ(where(one_step, "link-prediction"), "/workload");
  EXPECT_EQ(where(one_step, "vertex-regression"), "/workload");
}

}  // namespace
}  // namespace strobe
