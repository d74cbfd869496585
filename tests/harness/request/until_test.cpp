// Training that ends before its last epoch: when each rule holds, at any number of ranks, and after a checkpoint.
#include "harness/request/until.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "harness/full_batch/full_batch_schedule.hpp"
#include "harness/run/run_case.hpp"
#include "harness/training/make_plan.hpp"
#include "results/row/row.hpp"

namespace strobe {
namespace {

/// The number of values after which the rule first holds; 0 = never.
std::size_t held_after(const std::string& text, const std::vector<double>& values) {
  UntilWatch watch(parse_until(text));
  for (std::size_t i = 0; i < values.size(); ++i)
    if (watch.holds_after(values[i])) return i + 1;
  return 0;
}

TEST(Until, HoldsAsSoonAsAMetricIsAtItsValueOnTheRightSide) {
  EXPECT_EQ(held_after("auc=0.8", {0.5, 0.79, 0.8, 0.9}), 3u);
  EXPECT_EQ(held_after("auc=0.8", {0.5, 0.79}), 0u);
  EXPECT_EQ(held_after("rmse=0.5", {0.9, 0.5, 0.4}), 2u);
  EXPECT_EQ(held_after("loss=0.5", {0.9, 0.6, 0.4}), 3u);
  EXPECT_EQ(held_after("mrr=0.1", {std::nan(""), 0.2}), 2u);
  EXPECT_EQ(parse_until("validation_auc=0.8").metric, "auc");
}

TEST(Until, ConvergesAfterEpochsWithoutProgress) {
  // The third value is the best so far, and two epochs without progress follow. After the sixth value, three follow.
  const std::vector<double> loss = {3, 2, 1, 1.5, 1, 0.9, 0.95, 0.9, 1};
  EXPECT_EQ(held_after("converged:patience=1", loss), 4u);
  EXPECT_EQ(held_after("converged:patience=2", loss), 5u);
  EXPECT_EQ(held_after("converged:metric=loss,patience=3", loss), 9u);
  EXPECT_EQ(held_after("converged", loss), 0u);
  EXPECT_EQ(held_after("converged:metric=auc,patience=2", {0.1, 0.3, 0.2, 0.3}), 4u);
  EXPECT_EQ(held_after("converged:patience=2", {std::nan(""), std::nan("")}), 2u);
}

TEST(Until, WhatIsNoConditionIsRefused) {
  for (const char* text : {"soon", "=1", "auc=", "auc=high", "auc=nan", "auc=0.8x", "converged:", "converged:patience",
                           "converged:patience=0", "converged:patience=2.5", "converged:metrik=auc"}) {
    try {
      parse_until(text);
      ADD_FAILURE() << text << " was accepted";
    } catch (const InvalidRequest& error) {
      EXPECT_EQ(error.where(), "/until") << text;
    }
  }
}

Json until_request(int epochs) {
  return {{"workload", {{"name", "uniform"}, {"vertices", 40}, {"steps", 9}, {"density", 3}}},
          {"optimizer", {{"name", "adam"}, {"rate", 0.05}}},
          {"precision", "fp64"},
          {"epochs", epochs},
          {"warmup", 1}};
}

CaseResult until_run(const Json& json, const ModelOutputs& outputs = {}) {
  const CaseResult result = run_case(case_from_json(json, ""), nullptr, outputs);
  EXPECT_EQ(result.status, "ok") << result.reason;
  return result;
}

std::string until_refused_at(const Json& json) {
  try {
    run_case(case_from_json(json, ""));
  } catch (const InvalidRequest& error) {
    return error.where();
  }
  return "accepted";
}

TEST(Until, EndsTrainingByTheLossAtEveryRankCount) {
  const std::vector<double> whole = until_run(until_request(30)).loss.per_epoch;
  ASSERT_LT(whole[12] + 2e-6, *std::min_element(whole.begin(), whole.begin() + 12));
  for (const auto& [strategy, ranks] : {std::pair{"sequential", 1}, {"vertex", 2}, {"snapshot", 3}}) {
    Json json = until_request(30);
    json["strategy"] = strategy;
    json["ranks"] = ranks;
    json["repeat"] = 2;
    json["until"] = "loss=" + std::to_string(whole[12] + 1e-6);
    const CaseResult result = until_run(json);
    EXPECT_EQ(result.loss.per_epoch.size(), 13u) << strategy;
    EXPECT_EQ(result.metrics.at("auc").per_epoch.size(), 13u);
    EXPECT_EQ(result.samples.size(), static_cast<std::size_t>(2 * 13 * ranks));
    ASSERT_TRUE(result.until.has_value());
    EXPECT_TRUE(result.until->reached);
    EXPECT_EQ(result.until->iterations, 13);
    double seconds = 0;  // sum over epochs of the slowest rank's time, in the first repetition
    for (int e = 0; e < 13; ++e) {
      double slowest = 0;
      for (const EpochSample& sample : result.samples)
        if (sample.repetition == 0 && sample.epoch == e) slowest = std::max(slowest, sample.epoch_seconds);
      seconds += slowest;
    }
    EXPECT_DOUBLE_EQ(result.until->seconds, seconds);
  }
}

TEST(Until, IsNotReachedWhereTheEpochsAreOver) {
  Json json = until_request(3);
  json["until"] = "loss=0.000001";
  const CaseResult result = until_run(json);
  EXPECT_EQ(result.loss.per_epoch.size(), 4u);
  EXPECT_FALSE(result.until->reached);
  EXPECT_EQ(result.until->iterations, 4);
  EXPECT_FALSE(until_run(until_request(3)).until.has_value());
}

TEST(Until, IsAskedAfterMeasuredEpochsOnly) {
  Json json = until_request(5);
  json["until"] = "loss=100";
  json["warmup"] = 3;
  EXPECT_EQ(until_run(json).loss.per_epoch.size(), 4u);
}

TEST(Until, NeedsValuesAMetricOfTheTaskAndItsValidationSamples) {
  Json json = until_request(3);
  json["until"] = "auc=0.8";
  EXPECT_EQ(until_refused_at(json), "/until");
  json["until"] = "ouc=0.8";
  EXPECT_EQ(until_refused_at(json), "/until");
  json["until"] = "converged";
  EXPECT_EQ(until_refused_at(json), "accepted");
  json["device"] = "sim";
  EXPECT_EQ(until_refused_at(json), "/numerics");
  json["numerics"] = "cpu";
  EXPECT_EQ(until_refused_at(json), "accepted");
}

TEST(Until, LeavesTheIdsOfOtherCasesAsTheyAre) {
  Json json = until_request(3);
  EXPECT_FALSE(case_to_json(case_from_json(json, "")).contains("until"));
  json["until"] = "";
  EXPECT_FALSE(case_to_json(case_from_json(json, "")).contains("until"));
  json["until"] = "converged";
  const Case c = case_from_json(json, "");
  EXPECT_EQ(case_from_json(case_to_json(c), "").until, "converged");
  EXPECT_NE(case_id(c), case_id(case_from_json(until_request(3), "")));
}

TEST(Until, GoesOnFromACheckpointAndSaysWhatIsNotKnown) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("strobe-until-" + std::to_string(getpid()))).string();
  Json whole = until_request(200), part = until_request(4);
  whole["optimizer"]["rate"] = 0.5;  // far too large, so the loss soon stops falling
  part["optimizer"] = whole["optimizer"];
  whole["until"] = part["until"] = "converged:patience=6";
  ModelOutputs outputs;
  outputs.checkpoint = path;
  const CaseResult at_once = until_run(whole);
  ASSERT_TRUE(at_once.until->reached);
  ASSERT_FALSE(until_run(part, outputs).until->reached);
  outputs.resume_training = true;
  const CaseResult rest = until_run(whole, outputs);
  EXPECT_EQ(rest.loss.per_epoch, at_once.loss.per_epoch);
  EXPECT_EQ(rest.metrics.at("auc").per_epoch, at_once.metrics.at("auc").per_epoch);
  EXPECT_EQ(rest.until->iterations, at_once.until->iterations);
  EXPECT_TRUE(std::isnan(rest.until->seconds));
  const Row row = summarise(case_to_json(case_from_json(whole, "")), "id", rest);
  EXPECT_NE(row.absent.at("/until_seconds").find("another run"), std::string::npos);
  try {
    run_case(case_from_json(whole, ""), nullptr, outputs);
    ADD_FAILURE() << "there was nothing left to do";
  } catch (const InvalidRequest& error) {
    EXPECT_NE(std::string(error.what()).find("already reached until=converged:patience=6"), std::string::npos) << error.what();
  }
  std::filesystem::remove(path);
}

// Metrics of validation samples ------------------------------------------------------------------------------------

/// The case's plan with `part` of the task's samples as validation samples.
std::shared_ptr<const PlannedCase> validated(const Json& json, Samples TaskData::*part, const std::string& until = "") {
  const std::shared_ptr<const PlannedCase> without = make_plan(case_from_json(json, ""));
  auto plan = std::make_shared<FullBatchPlan>(full_batch(*without));
  auto data = std::make_shared<TaskData>(*plan->data.samples);
  data->validation = (*data).*part;
  const std::size_t count = data->validation.step.size();  // training samples lack values that some metrics read
  if (data->validation.baseline.empty()) data->validation.baseline.assign(count, 0.0);
  if (data->validation.memory.empty()) data->validation.memory.assign(count, 0.0);
  plan->data.samples = data;
  plan->evaluation = place_evaluated(*plan, plan->strategy.spatial);
  PlannedCase with{without->request, full_batch_schedule(plan), without->notes};
  with.request.until = until;
  with.until = resolve_until(with.request, {});
  return std::make_shared<const PlannedCase>(std::move(with));
}

CaseResult until_run(const std::shared_ptr<const PlannedCase>& plan) {
  const CaseResult result = run_planned(plan, plan->request);
  EXPECT_EQ(result.status, "ok") << result.reason;
  return result;
}

TEST(ValidationMetrics, OfTheTestsSamplesAreTheTests) {
  for (const auto& [model, strategy, ranks] :
       {std::tuple{"tm-gcn", "sequential", 1}, {"tm-gcn", "vertex", 3}, {"mpnn-lstm", "snapshot", 2}}) {
    Json json = until_request(4);
    json["model"] = model;
    json["strategy"] = strategy;
    json["ranks"] = ranks;
    json["nb"] = "2";
    const CaseResult without = until_run(json), with = until_run(validated(json, &TaskData::test));
    EXPECT_EQ(with.loss.per_epoch, without.loss.per_epoch);
    EXPECT_EQ(with.metrics.size(), 2 * without.metrics.size());
    for (const auto& [name, series] : without.metrics) {
      EXPECT_EQ(with.metrics.at(name).per_epoch, series.per_epoch) << name;
      EXPECT_EQ(with.metrics.at("validation_" + name).per_epoch, series.per_epoch) << name;
    }
    for (std::size_t i = 0; i < with.samples.size(); ++i)
      EXPECT_EQ(with.samples[i].sent_bytes, without.samples[i].sent_bytes);
  }
}

/// Regression on all training cells: the loss is the mean of the squared error, so the metric follows from the loss.
TEST(ValidationMetrics, OfTheTrainingsSamplesAreWhatTheLossSays) {
  for (const int ranks : {1, 3}) {
    Json json = until_request(5);
    json["task"] = "vertex-regression";
    json["strategy"] = ranks == 1 ? "sequential" : "vertex";
    json["ranks"] = ranks;
    const CaseResult result = until_run(validated(json, &TaskData::train));
    const std::vector<double>& rmse = result.metrics.at("validation_rmse").per_epoch;
    ASSERT_EQ(rmse.size(), 6u);
    // The loss of an epoch belongs to the weights before its update, the metric to those after it.
    for (std::size_t e = 0; e + 1 < rmse.size(); ++e)
      EXPECT_NEAR(rmse[e] * rmse[e] / result.loss.per_epoch[e + 1], 1.0, 1e-10) << ranks << " epoch " << e;
  }
}

TEST(ValidationMetrics, EndTrainingAlikeAtEveryRankCount) {
  Json json = until_request(30);
  json["task"] = "vertex-regression";
  const std::vector<double> whole = until_run(validated(json, &TaskData::test)).metrics.at("validation_rmse").per_epoch;
  const auto smallest = std::min_element(whole.begin(), whole.begin() + 11);
  const auto expected = static_cast<std::size_t>(smallest - whole.begin()) + 1;
  ASSERT_GT(expected, 2u);
  for (const auto& [strategy, ranks] : {std::pair{"sequential", 1}, {"vertex", 2}, {"snapshot", 2}}) {
    json["strategy"] = strategy;
    json["ranks"] = ranks;
    const auto plan = validated(json, &TaskData::test, "rmse=" + std::to_string(*smallest + 1e-6));
    const CaseResult result = until_run(plan);
    EXPECT_EQ(result.loss.per_epoch.size(), expected) << strategy;
    EXPECT_TRUE(result.until->reached);
    EXPECT_NEAR(result.metrics.at("validation_rmse").per_epoch.back(), *smallest, 1e-9);
  }
}

TEST(ValidationMetrics, HaveTheirReasonWhereThereAreNoValues) {
  Json json = until_request(2);
  json["device"] = "sim";
  const CaseResult result = until_run(validated(json, &TaskData::test));
  EXPECT_FALSE(result.metrics.at("validation_auc").absent_reason.empty());
}

}  // namespace
}  // namespace strobe
