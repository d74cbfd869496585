// A minimal kind of training, defined only in this file: it runs, resumes, is simulated and planned through the same
// loop, rows and checkpoints as every other kind.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "harness/advisor/plan_points.hpp"
#include "harness/full_batch/full_batch_schedule.hpp"
#include "harness/placement/strategy.hpp"
#include "harness/request/case_slots.hpp"
#include "harness/run/run_case.hpp"
#include "harness/training/make_plan.hpp"
#include "harness/training/planned_peak.hpp"
#include "models/snapshots/model.hpp"
#include "models/tasks/task.hpp"
#include "results/row/row.hpp"
#include "tests/plugins/toy_training.cpp"

namespace strobe {
namespace {

Json toy_request(int ranks, const Json& strategy = "toy") {
  return {{"workload", {{"name", "uniform"}, {"vertices", 10}, {"steps", 3}, {"density", 1}}},
          {"model", "toy-model"},
          {"task", "toy-task"},
          {"strategy", strategy},
          {"ranks", ranks},
          {"epochs", 4},
          {"warmup", 1}};
}

Case toy_case(int ranks, const Json& strategy = "toy") { return case_from_json(toy_request(ranks, strategy), ""); }

std::string refusal_of(const Json& request) {
  try {
    case_from_json(request, "");
  } catch (const InvalidRequest& error) {
    return error.where() + ": " + error.message();
  }
  return "";
}

TEST(ToySchedule, Runs) {
  for (const int ranks : {1, 2, 3}) {
    const CaseResult result = run_case(toy_case(ranks));
    ASSERT_EQ(result.status, "ok") << result.reason;
    const double sum = ranks * (ranks + 1) / 2.0;
    EXPECT_EQ(result.loss.per_epoch, (std::vector{sum, 2 * sum, 3 * sum, 4 * sum, 5 * sum}));
    EXPECT_EQ(result.metrics.at("weight").per_epoch.back(), 5 * sum);
    EXPECT_FALSE(result.exact);
    const Case c = toy_case(ranks);
    const Row row = summarise(case_to_json(c), case_id(c), result);
    EXPECT_EQ(row.status, "ok");
    EXPECT_EQ(result.throughput_unit, "events_per_second");
    EXPECT_EQ(row.iterations, 3);
    ASSERT_TRUE(row.operation_seconds);
    ASSERT_EQ(row.operation_seconds->size(), 1u) << "a sum over ranks is no operation of the device";
    EXPECT_EQ(row.operation_seconds->begin()->first, Fill::name);
    EXPECT_LE(row.operation_seconds->begin()->second, row.epoch_seconds->mean);
    EXPECT_EQ(case_to_json(case_from_json(case_to_json(c), "")), case_to_json(c));
  }
}

TEST(ToySchedule, BringsKeysAndAFileOfItsOwn) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("strobe-toy-file-" + std::to_string(getpid()))).string();
  ModelOutputs outputs;
  outputs.files["toy"] = path;
  const Case c = toy_case(2, {{"name", "toy"}, {"sums", 3}});
  const CaseResult result = run_case(c, nullptr, outputs);
  const Row row = summarise(case_to_json(c), case_id(c), result);
  ASSERT_EQ(row.status, "ok") << row.reason;
  const Json json = row_to_json(row);
  EXPECT_EQ(json.at("toy_sums"), 3);
  EXPECT_EQ(json.at("toy_epochs"), 5);
  EXPECT_EQ(row_to_json(row_from_json(json, "here")), json);
  EXPECT_NE(rows_to_csv({row}).find("toy_epochs"), std::string::npos);
  EXPECT_TRUE(summary_schema().at("$defs").at("row").at("properties").contains("toy_sums"));
  const Json sections = fact_sections();
  EXPECT_TRUE(std::any_of(sections.begin(), sections.end(),
                          [](const Json& section) { return section.at("title") == "What the toy does"; }));
  std::ifstream file(path);
  std::string word;
  double weight = 0;
  file >> word >> weight;
  EXPECT_EQ(weight, result.loss.per_epoch.back());
  std::filesystem::remove(path);
}

TEST(ToySchedule, BytesAreHeldAgainstTheirPromise) {
  const auto status = [](const char* promise, int surplus) {
    return run_case(toy_case(2, {{"name", "toy"}, {"promise", promise}, {"surplus", surplus}})).status;
  };
  EXPECT_EQ(status("exact", 0), "ok");
  EXPECT_EQ(status("exact", 8), "failed");
  EXPECT_EQ(status("exact", -8), "failed");
  EXPECT_EQ(status("at_most", 8), "ok");
  EXPECT_EQ(status("at_most", -8), "failed");
  EXPECT_EQ(status("as_measured", -8), "ok");
}

TEST(ToySchedule, Resumes) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("strobe-toy-" + std::to_string(getpid()))).string();
  Json request = toy_request(2);
  const CaseResult whole = run_case(case_from_json(request, ""));
  ModelOutputs outputs;
  outputs.checkpoint = path;
  request["epochs"] = 1;
  ASSERT_EQ(run_case(case_from_json(request, ""), nullptr, outputs).status, "ok");
  outputs.resume_training = true;
  request["epochs"] = 4;
  const CaseResult rest = run_case(case_from_json(request, ""), nullptr, outputs);
  EXPECT_EQ(rest.loss.per_epoch, whole.loss.per_epoch);
  EXPECT_EQ(rest.samples.size(), 2u * 3u);
  std::filesystem::remove(path);
}

TEST(ToySchedule, IsSimulated) {
  Json request = toy_request(8);
  request["device"] = "sim";
  const CaseResult result = run_case(case_from_json(request, ""));
  ASSERT_EQ(result.status, "ok") << result.reason;
  EXPECT_EQ(result.time_source, "virtual");
  EXPECT_GT(result.samples.back().epoch_seconds, 0);
  request["numerics"] = "cpu";
  EXPECT_EQ(run_case(case_from_json(request, "")).loss.per_epoch.back(), 5 * 36.0);
}

TEST(ToySchedule, IsPlanned) {
  const Json report = plan_case(toy_case(3));
  EXPECT_EQ(report.at("schedule").at("kind"), "toy");
  EXPECT_EQ(report.at("planned_bytes_per_epoch").at("gradient"), 32);
  EXPECT_EQ(report.at("notes"), Json({"a toy"}));
  EXPECT_GT(planned_peak(*make_plan(toy_case(3))).bytes, 0u);
  EXPECT_THROW(full_batch(*make_plan(toy_case(3))), Error);
}

TEST(ToySchedule, IsSearched) {
  PlanSpace space;
  space.settings = {{"workload", "uniform", ""}, {"model", "toy-model", ""}, {"task", "toy-task", ""}};
  space.clusters = {"aimos-v100"};
  space.nodes = {1};
  std::size_t points = 0;
  for (const PlanPoint& point : plan_points(space)) {
    EXPECT_EQ(point.request.strategy.at("name"), "toy");
    EXPECT_EQ(case_to_json(point.request).count("nb"), 0u);
    ++points;
  }
  EXPECT_GT(points, 0u);
}

TEST(ToySchedule, HasWhatItHasAndNothingElse) {
  const Case defaults;
  for (const std::string& option : full_batch_only()) {
    Json request = toy_request(1);
    request[option] = case_fields().to_json(&defaults).at(option);
    EXPECT_EQ(refusal_of(request).rfind("/" + option + ": " + option + " belongs to full-batch training", 0), 0u)
        << refusal_of(request);
  }
  Json request = toy_request(1);
  request["model"] = "tm-gcn";
  EXPECT_EQ(refusal_of(request),
            "/model: model tm-gcn is for snapshots, but strategy toy trains on toys; choose one of toy-model");
  request = {{"workload", "chess"}, {"model", "toy-model"}};
  EXPECT_NE(refusal_of(request).find("/model: model toy-model is for toys"), std::string::npos);
  request = {{"workload", "chess"}, {"task", "toy-task"}};
  EXPECT_NE(refusal_of(request).find("/task: task toy-task is for toys"), std::string::npos);
  ModelOutputs outputs;
  outputs.files["placement"] = "/nowhere/placement.csv";
  EXPECT_THROW(run_case(toy_case(1), nullptr, outputs), InvalidRequest);
}

}  // namespace
}  // namespace strobe
