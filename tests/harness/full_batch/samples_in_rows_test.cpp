// Rows and notes of runs on a task's samples: how many a metric averages, why a metric is missing, validation parts,
// and networks with constant outputs. Steps without training use no untrained weights.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "harness/files/model_files.hpp"
#include "harness/request/case.hpp"
#include "harness/run/run_case.hpp"
#include "harness/schedule/planned_case.hpp"
#include "results/row/row.hpp"
#include "tests/harness/references/references.hpp"
#include "workloads/reading/text/npy.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

using reference::Matrix;
using reference::Weights;

class SamplesInRows : public testing::Test {
 protected:
  SamplesInRows() {
    std::string pattern = (std::filesystem::temp_directory_path() / "strobe-samples-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw SystemError("no temporary folder");
    folder_ = pattern;
  }
  ~SamplesInRows() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }

  std::filesystem::path folder_;
};

Row row_of(const Json& request, const ModelOutputs& outputs = {}) {
  const Case c = case_from_json(request, "");
  return summarise(case_to_json(c), case_id(c), run_case(c, nullptr, outputs));
}

bool says(const std::vector<std::string>& notes, const std::string& text) {
  return std::any_of(notes.begin(), notes.end(),
                     [&](const std::string& note) { return note.find(text) != std::string::npos; });
}

TEST_F(SamplesInRows, AMetricWithoutSamplesHasItsCause) {
  // Four edges in the first window, one in the last.
  const std::string file = write("one.csv", "source,target,time\n0,1,0\n1,2,1\n2,3,2\n3,4,3\n4,0,10\n");
  const Row row = row_of({{"workload", {{"name", file}, {"window", "5s"}, {"min_edges", 1}}},
                          {"task", {{"name", "link-prediction"}, {"theta", 0.3}}},
                          {"epochs", 2},
                          {"warmup", 0}});
  ASSERT_EQ(row.status, "ok") << row.reason;
  const std::string why = "no test pair was drawn: 0.3 of 1 edge rounds to none";
  EXPECT_TRUE(says(row.notes, why));
  EXPECT_GE(row.metrics.size(), 11u);
  for (const auto& [name, values] : row.metrics) {
    EXPECT_FALSE(values.has_value()) << name;
    EXPECT_EQ(row.absent.at("/metrics/" + name), why);
    EXPECT_EQ(row.metric_samples.at(name), 0) << name;
  }
}

TEST_F(SamplesInRows, EveryMetricHasItsNumberOfSamples) {
  for (const char* task : {"link-prediction", "vertex-classification", "vertex-regression"}) {
    Json workload = {{"name", "amlsim-20k"}, {"window", "20"}};
    const Row row = row_of({{"workload", workload}, {"task", task}, {"epochs", 1}, {"warmup", 0}});
    ASSERT_EQ(row.status, "ok") << row.reason;
    for (const auto& [name, values] : row.metrics) EXPECT_GT(row.metric_samples.at(name), 0) << task << " " << name;
    EXPECT_EQ(row.metric_samples.size(), row.metrics.size()) << task;
    const Row again = row_from_json(row_to_json(row), "row");
    EXPECT_EQ(again.metric_samples, row.metric_samples);
  }
}

TEST_F(SamplesInRows, ADeadNetworkIsSaidToBeOne) {
  const Json small = {{"name", "uniform"}, {"vertices", 40}, {"steps", 6}, {"density", 3}};
  Json request = {{"workload", small}, {"epochs", 1}, {"warmup", 0}};
  EXPECT_FALSE(says(row_of(request).notes, "does not tell the samples apart"));
  std::vector<SavedMatrix> zeros;
  ModelOutputs outputs;
  outputs.weights = path("weights");
  row_of(request, outputs);
  for (SavedMatrix matrix : read_safetensors(path("weights"))) {
    std::fill(matrix.values.begin(), matrix.values.end(), 0.0);
    zeros.push_back(matrix);
  }
  write_safetensors(path("zeros"), zeros, false);
  request["load_model"] = path("zeros");
  request["optimizer"] = {{"name", "sgd"}, {"rate", 0}};
  const Row dead = row_of(request);
  EXPECT_TRUE(says(dead.notes, "all test scores are equal"));
  EXPECT_EQ(dead.metrics.at("accuracy")->back(), 0.5);  // class 0 for all samples, which is right for half of them
  EXPECT_EQ(dead.metrics.at("auc")->back(), 0.5);
}

/// Weights of a saved model, in the form of the references.
Weights weights_in(const std::string& file) {
  Weights weights;
  for (const SavedMatrix& matrix : read_safetensors(file)) {
    Matrix rows;
    for (std::int64_t i = 0; i < matrix.rows; ++i)
      rows.emplace_back(matrix.values.begin() + i * matrix.columns, matrix.values.begin() + (i + 1) * matrix.columns);
    weights[matrix.name] = rows;
  }
  return weights;
}

/// Fails unless the file's embedding of every vertex at every step equals the reference's.
void expect_embeddings(const std::string& file, const std::vector<Matrix>& expected, const std::string& what) {
  const NpyArray got = read_npy(file);
  std::int64_t i = 0;
  for (const Matrix& step : expected) {
    for (const auto& vertex : step) {
      for (const double value : vertex) EXPECT_NEAR(got.at(i++), value, 1e-12) << what;
    }
  }
  EXPECT_EQ(i, got.size()) << what;
}

TEST_F(SamplesInRows, DysatReadsUntrainedStepsWithTheLastTrainedPosition) {
  const Json workload = {
      {"name", "uniform"}, {"vertices", 20}, {"steps", 12}, {"density", 2}, {"feature_scale", "none"}};
  const SnapshotGraph graph = load_workload("uniform", workload, 1);
  ModelOutputs outputs;
  outputs.weights = path("weights");
  outputs.files["embeddings"] = path("embeddings.npy");
  for (const Json& task : {Json{{"name", "vertex-regression"}, {"train_share", 0.5}},
                           Json{{"name", "link-prediction"}, {"theta", 0.5}, {"split", "50/20/30"}}}) {
    const std::size_t trained = task.contains("split") ? 6 : 5;  // of 12 steps, or of the 11 that have a next one
    const std::string note = "with the position of step " + std::to_string(trained - 1);
    Json request = {{"workload", workload}, {"model", {{"name", "dysat"}, {"positions", 16}}},
                    {"task", task},         {"optimizer", {{"name", "sgd"}, {"rate", 0}}},
                    {"precision", "fp64"},  {"epochs", 1},
                    {"warmup", 0}};
    for (const auto& [strategy, ranks, nb] :
         {std::tuple{"sequential", 1, "1"}, {"snapshot", 3, "1"}, {"vertex", 2, "3"}, {"pss", 2, "1"}}) {
      request.update(Json{{"strategy", strategy}, {"ranks", ranks}, {"nb", nb}});
      const Row row = row_of(request, outputs);
      ASSERT_EQ(row.status, "ok") << row.reason;
      EXPECT_TRUE(says(row.notes, note));
      Weights weights = weights_in(path("weights"));
      Matrix& positions = weights.at("temporal.positions");
      for (std::size_t t = trained; t < positions.size(); ++t) positions[t] = positions[trained - 1];
      expect_embeddings(path("embeddings.npy"),
                        reference::models().at("dysat")(graph, 11, weights, reference::Cells(graph)), strategy);
    }
  }
}

TEST_F(SamplesInRows, DysatNeedsPositionsOfTrainedStepsOnly) {
  Json request = {{"workload", {{"name", "uniform"}, {"vertices", 20}, {"steps", 12}, {"density", 2}}},
                  {"model", {{"name", "dysat"}, {"positions", 6}}},
                  {"task", {{"name", "link-prediction"}, {"theta", 0.5}, {"split", "50/20/30"}}},
                  {"epochs", 1},
                  {"warmup", 0}};
  EXPECT_EQ(row_of(request).status, "ok");
  request["task"]["split"] = "70/0/30";
  EXPECT_THROW(run_case(case_from_json(request, "")), InvalidRequest);
}

TEST_F(SamplesInRows, ASplitIsTheSameUnderEveryStrategy) {
  for (const char* task : {"link-prediction", "vertex-classification", "vertex-regression"}) {
    const auto run = [&](const char* strategy, int ranks) {
      return row_of({{"workload", {{"name", "amlsim-20k"}, {"window", "10"}}},
                     {"task", {{"name", task}, {"split", "60/20/20"}}},
                     {"model", "dysat"},
                     {"strategy", strategy},
                     {"ranks", ranks},
                     {"precision", "fp64"},
                     {"epochs", 3},
                     {"warmup", 0}});
    };
    const Row alone = run("sequential", 1);
    ASSERT_EQ(alone.status, "ok") << alone.reason;
    EXPECT_LT(alone.loss->back(), alone.loss->front());
    for (const auto& [strategy, ranks] : {std::pair{"snapshot", 4}, {"vertex", 3}, {"pss", 2}}) {
      const Row other = run(strategy, ranks);
      ASSERT_EQ(other.status, "ok") << other.reason;
      for (std::size_t e = 0; e < 3; ++e) EXPECT_NEAR((*other.loss)[e] / (*alone.loss)[e], 1, 1e-10) << strategy;
      EXPECT_EQ(other.metric_samples, alone.metric_samples);
    }
  }
}

TEST_F(SamplesInRows, SplitAndShareInOneCaseMustAgree) {
  const auto task_of = [](const Json& task) {
    return case_from_json(Json{{"workload", {{"name", "uniform"}}}, {"task", task}}, "").task;
  };
  const Json named = {{"name", "vertex-regression"}};
  Json both = {{"name", "vertex-regression"}, {"split", "60/10/30"}, {"train_share", 0.6}};
  EXPECT_EQ(task_of(both)["split"], "60/10/30");
  EXPECT_FALSE(task_of(both).contains("train_share"));
  EXPECT_FALSE(task_of(named).contains("split"));
  both["train_share"] = 0.7;
  try {
    task_of(both);
    FAIL() << "accepted";
  } catch (const InvalidRequest& error) {
    EXPECT_EQ(error.where(), "/task/train_share");
  }
}

}  // namespace
}  // namespace strobe
