// The draws of tasks, by hand on a graph of four vertices and five steps, and their metrics of given outputs.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "core/errors.hpp"
#include "models/tasks/task.hpp"
#include "tests/models/task_support.hpp"
#include "workloads/reading/events/vertex_data.hpp"

namespace strobe {
namespace {

TEST(VertexRegression, PredictsTheNextStepsDegree) {
  const TaskData data = task("vertex-regression")->draw(hand_graph(), 1);
  EXPECT_EQ(data.steps, 4);  // of the last step there is no next
  EXPECT_EQ(cells(data.train), (Cells{{0, 0}, {0, 1}, {1, 0}, {1, 1}, {1, 2}}));
  EXPECT_EQ(cells(data.test), (Cells{{2, 0}, {2, 1}, {3, 0}, {3, 1}, {3, 2}}));
  const double two = std::log1p(2.0), one = std::log1p(1.0);
  expect_values(data.train.value, {0, two, one, 0, 0});
  expect_values(data.train.baseline, {0, one, 0, two, 0});  // log(1 + degree) of the step itself
  expect_values(data.test.value, {0, 0, one, 0, 0});
  EXPECT_EQ(task("vertex-regression", {{"cells", "all"}})->draw(hand_graph(), 1).train.count(), 8);
  const TaskData out = task("vertex-regression", {{"degree", "out"}})->draw(hand_graph(), 1);
  expect_values(out.train.value, {one, 0, 0, one, 0});
  const TaskData both = task("vertex-regression", {{"degree", "both"}})->draw(hand_graph(), 1);
  expect_values(both.train.value, {one, two, one, one, 0});
  SnapshotGraph turned = hand_graph();  // as if the data's edges ran against the stored ones
  turned.orientation = "out";
  expect_values(task("vertex-regression", {{"degree", "in"}})->draw(turned, 1).train.value, out.train.value);
  expect_values(task("vertex-regression", {{"degree", "out"}})->draw(turned, 1).train.value, data.train.value);
  expect_values(task("vertex-regression", {{"degree", "both"}})->draw(turned, 1).train.value, both.train.value);
  turned.orientation = "both";
  for (const char* degree : {"in", "out", "both"}) {
    expect_values(task("vertex-regression", {{"degree", degree}})->draw(turned, 1).train.value, data.train.value);
  }
}

TEST(VertexRegression, TakesTheWorkloadsTargetsAndLeavesOutMissingOnes) {
  SnapshotGraph graph = hand_graph();
  graph.targets.assign(20, NAN);
  graph.targets.edit()[0] = 1.5f;          // step 0, vertex 0
  graph.targets.edit()[4] = -2.0f;         // step 1, vertex 0
  graph.targets.edit()[3 * 4 + 3] = 0.5f;  // step 3, vertex 3: no edge, still a sample
  graph.targets.edit()[4 * 4 + 3] = 0.75f;
  const TaskData data = task("vertex-regression")->draw(graph, 1);
  EXPECT_EQ(data.steps, 5);
  EXPECT_EQ(cells(data.train), (Cells{{0, 0}, {1, 0}}));
  EXPECT_EQ(data.train.value, (std::vector<double>{1.5, -2.0}));
  EXPECT_TRUE(std::isnan(data.train.baseline[0]));
  EXPECT_EQ(data.train.baseline[1], 1.5);
  EXPECT_EQ(cells(data.test), (Cells{{3, 3}, {4, 3}}));
  EXPECT_EQ(task("vertex-regression", {{"target", "degree"}})->draw(graph, 1).steps, 4);
  EXPECT_THROW(task("vertex-regression", {{"degree", "out"}})->draw(graph, 1), InvalidRequest);  // it would be ignored
}

TEST(VertexRegression, MetricsByHand) {
  Samples test;
  test.value = {1, 2, 3};
  test.baseline = {1, NAN, 5};
  const auto metrics = task("vertex-regression")->metrics({1, 2, 6}, test);
  EXPECT_DOUBLE_EQ(metrics.at("rmse"), std::sqrt(3.0));
  EXPECT_DOUBLE_EQ(metrics.at("mae"), 1.0);
  EXPECT_DOUBLE_EQ(metrics.at("r2"), 1.0 - 9.0 / 2.0);
  EXPECT_DOUBLE_EQ(metrics.at("last_value_rmse"), std::sqrt(2.0));
  EXPECT_DOUBLE_EQ(metrics.at("last_value_mae"), 1.0);
}

TEST(VertexClassification, SplitsByTimeAndWeighsClasses) {
  SnapshotGraph graph = hand_graph();
  graph.vertex_label = {0, 1, 0, 1};
  const TaskData data = task("vertex-classification")->draw(graph, 1);
  EXPECT_EQ(data.steps, 5);  // 3 of 5 steps are trained on
  EXPECT_EQ(cells(data.train), (Cells{{0, 0}, {0, 1}, {1, 0}, {1, 1}, {1, 2}, {2, 0}, {2, 1}}));
  EXPECT_EQ(data.train.label, (std::vector<std::int32_t>{0, 1, 0, 1, 0, 0, 1}));
  const double of0 = 7.0 / 8.0, of1 = 7.0 / 6.0;  // n / (C n_c)
  EXPECT_EQ(data.train.weight, (std::vector<double>{of0, of1, of0, of1, of0, of0, of1}));
  EXPECT_DOUBLE_EQ(data.train.total_weight(), 7.0);
  EXPECT_EQ(cells(data.test), (Cells{{3, 0}, {3, 1}, {3, 2}, {4, 0}, {4, 2}}));
  EXPECT_EQ(data.test.baseline, std::vector<double>(5, 0.0));
  EXPECT_TRUE(task("vertex-classification", {{"class_weights", "none"}})->draw(graph, 1).train.weight.empty());
  for (const char* weights : {"0.5,2", "0.5/2"}) {
    const TaskData listed = task("vertex-classification", {{"class_weights", weights}})->draw(graph, 1);
    EXPECT_EQ(listed.train.weight, (std::vector<double>{0.5, 2, 0.5, 2, 0.5, 0.5, 2})) << weights;
  }
  for (const char* weights : {"0.5/2,1", "0.5", "0.5/2/1", "/", "0.5//2", "0/0"}) {
    EXPECT_THROW(task("vertex-classification", {{"class_weights", weights}}), InvalidRequest) << weights;
  }
}

TEST(VertexClassification, HeldOutVerticesAreTestedAndNeverTrainedOn) {
  SnapshotGraph graph;
  graph.vertices = 200;
  std::set<std::pair<VertexId, VertexId>> ring;
  for (VertexId v = 0; v < 200; ++v) ring.insert({v, (v + 1) % 200});
  graph.snapshots.assign(4, snapshot(200, ring));
  for (int v = 0; v < 200; ++v) graph.vertex_label.push_back(static_cast<std::int8_t>(v % 3 == 0));
  const auto vertices = [](const Samples& samples) {
    return std::set<VertexId>(samples.vertices.begin(), samples.vertices.end());
  };
  const auto classification = [](double share) { return task("vertex-classification", {{"held_out", share}}); };
  const TaskData data = classification(0.4)->draw(graph, 7);
  const std::set<VertexId> trained = vertices(data.train), tested = vertices(data.test);
  for (const VertexId v : tested) EXPECT_EQ(trained.count(v), 0u) << v;
  EXPECT_EQ(trained.size() + tested.size(), 200u);
  EXPECT_NEAR(static_cast<double>(tested.size()), 80.0, 25.0);
  EXPECT_NE(vertices(classification(0.4)->draw(graph, 8).test), tested);
  const auto share_seen = [&](const TaskData& drawn) {
    return classification(0)->metrics(std::vector<double>(2 * drawn.test.step.size(), 0.0), drawn.test);
  };
  EXPECT_EQ(share_seen(data).at("seen_share"), 0.0);
  EXPECT_EQ(share_seen(data).at("last_label_accuracy"), share_seen(data).at("majority_accuracy"));
  const TaskData by_time = classification(0)->draw(graph, 7);
  EXPECT_EQ(by_time.test.count(), 400);  // time alone holds nobody out
  EXPECT_EQ(share_seen(by_time).at("seen_share"), 1.0);
  EXPECT_EQ(share_seen(by_time).at("last_label_accuracy"), 1.0);
}

TEST(VertexClassification, PrefersLabelsOfCellsAndLeavesOutUnknownOnes) {
  SnapshotGraph graph = hand_graph();
  graph.vertex_label = {0, 1, 0, 1};
  graph.cell_label.assign(20, -1);
  graph.cell_label.edit()[3] = 1;          // step 0, vertex 3
  graph.cell_label.edit()[2 * 4 + 1] = 0;  // step 2, vertex 1
  graph.cell_label.edit()[4 * 4 + 2] = 1;  // step 4, vertex 2
  const TaskData data = task("vertex-classification")->draw(graph, 1);
  EXPECT_EQ(cells(data.train), (Cells{{0, 3}, {2, 1}}));
  EXPECT_EQ(data.train.label, (std::vector<std::int32_t>{1, 0}));
  EXPECT_EQ(cells(data.test), (Cells{{4, 2}}));
  graph.cell_label.edit()[0] = 2;
  EXPECT_THROW(task("vertex-classification")->draw(graph, 1), InvalidRequest);
  EXPECT_EQ(task("vertex-classification", {{"classes", 3}})->draw(graph, 1).train.count(), 3);
}

TEST(VertexClassification, MetricsByHand) {
  Samples test;
  test.label = {0, 0, 1, 1};
  test.baseline = {0, 0, 0, 0};
  test.memory = {0, 1, NAN, 1};
  const auto metrics = task("vertex-classification")->metrics({1, 0, 0, 1, 0, 1, 1, 0}, test);  // says 0 1 1 0
  EXPECT_DOUBLE_EQ(metrics.at("accuracy"), 0.5);
  EXPECT_DOUBLE_EQ(metrics.at("binary_f1"), 0.5);
  EXPECT_DOUBLE_EQ(metrics.at("macro_f1"), 0.5);
  EXPECT_DOUBLE_EQ(metrics.at("majority_accuracy"), 0.5);
  EXPECT_DOUBLE_EQ(metrics.at("majority_macro_f1"), 1.0 / 3.0);
  EXPECT_DOUBLE_EQ(metrics.at("last_label_accuracy"), 0.5);  // says 0 1 0 1
  EXPECT_DOUBLE_EQ(metrics.at("last_label_macro_f1"), 0.5);
  EXPECT_DOUBLE_EQ(metrics.at("seen_share"), 0.75);
}

TEST(VertexTasks, SplitKeepsStepsForValidation) {
  SnapshotGraph graph = hand_graph();
  graph.vertex_label = {0, 1, 0, 1};
  const TaskData labels = task("vertex-classification", {{"split", "40/20/40"}})->draw(graph, 1);
  EXPECT_EQ(cells(labels.train), (Cells{{0, 0}, {0, 1}, {1, 0}, {1, 1}, {1, 2}}));
  EXPECT_EQ(cells(labels.validation), (Cells{{2, 0}, {2, 1}}));
  EXPECT_EQ(cells(labels.test), (Cells{{3, 0}, {3, 1}, {3, 2}, {4, 0}, {4, 2}}));
  EXPECT_EQ(labels.validation.memory, (std::vector<double>{0, 1}));  // the last training label
  EXPECT_EQ(labels.validation.baseline, std::vector<double>(2, 0.0));
  EXPECT_EQ(labels.trained_steps(), 2);
  const TaskData degrees = task("vertex-regression", {{"split", "50/25/25"}})->draw(hand_graph(), 1);
  EXPECT_EQ(cells(degrees.train), (Cells{{0, 0}, {0, 1}, {1, 0}, {1, 1}, {1, 2}}));
  EXPECT_EQ(cells(degrees.validation), (Cells{{2, 0}, {2, 1}}));
  EXPECT_EQ(cells(degrees.test), (Cells{{3, 0}, {3, 1}, {3, 2}}));
  expect_values(degrees.validation.baseline, {std::log1p(1.0), 0});  // 1 -> 0 at step 2 itself
  const auto sizes = task("vertex-regression")->metric_samples(degrees.test);
  EXPECT_EQ(sizes.at("rmse"), 3);
  EXPECT_EQ(sizes.at("last_value_mae"), 3);
}

bool says(const std::vector<std::string>& notes, const std::string& text) {
  for (const std::string& note : notes) {
    if (note.find(text) != std::string::npos) return true;
  }
  return false;
}

TEST(VertexTasks, MissingMetricsAreKnownBeforeTraining) {
  SnapshotGraph graph = hand_graph();
  graph.cell_label.assign(20, -1);
  const auto set = [&](Step t, VertexId v, int label) {
    graph.cell_label.edit()[4 * t + v] = static_cast<std::int8_t>(label);
  };
  set(0, 0, 0);
  set(1, 1, 0);
  set(3, 0, 1);
  set(4, 1, 1);
  const TaskData one = task("vertex-classification")->draw(graph, 1);
  EXPECT_TRUE(says(one.notes, "all 2 training samples have class 0"));
  EXPECT_TRUE(says(one.notes, "2 of 2 test samples have class 1, which no training sample has"));
  EXPECT_EQ(one.why_absent("binary_f1"), "");
  set(0, 0, 1);
  set(3, 0, 0);
  set(4, 1, 0);
  const TaskData negative = task("vertex-classification")->draw(graph, 1);
  EXPECT_EQ(negative.why_absent("binary_f1"), "none of the 2 test samples has class 1");
  EXPECT_EQ(negative.why_absent("accuracy"), "");
  EXPECT_TRUE(says(negative.notes, "none of the 2 test samples has class 1"));
  EXPECT_EQ(task("vertex-classification", {{"classes", 3}})->draw(graph, 1).why_absent("binary_f1"), "");

  graph.targets.assign(20, NAN);
  for (const std::size_t cell : {0u, 5u, 15u, 18u})
    graph.targets.edit()[cell] = 2.5f;  // steps 0, 1, 3, 4; no vertex twice
  const TaskData constant = task("vertex-regression")->draw(graph, 1);
  EXPECT_EQ(constant.why_absent("r2"), "all 2 test targets are 2.5, so r2 is not defined: it compares with their spread");
  EXPECT_EQ(constant.why_absent("rmse"), "");
  EXPECT_EQ(constant.why_absent("last_value_rmse"), "no test sample has a value measured before it");
  EXPECT_FALSE(constant.absent.contains("validation_")) << "there is no validation";
  EXPECT_FALSE(says(constant.notes, "validation"));
  graph.targets.edit()[18] = 3;
  EXPECT_EQ(task("vertex-regression")->draw(graph, 1).why_absent("r2"), "");
  graph.targets.edit()[18] = NAN;
  EXPECT_EQ(task("vertex-regression")->draw(graph, 1).test.count(), 1) << "one sample is enough";
  graph.targets.edit()[15] = NAN;
  EXPECT_THROW(task("vertex-regression")->draw(graph, 1), InvalidRequest);
}

/// The workload of hand_graph with a series 60, 0, 60, 0, ... one step ahead; its zeros are NaN.
SnapshotGraph with_gaps() {
  SnapshotGraph graph = hand_graph();
  graph.targets.assign(20, NAN);
  const float gap = NAN;
  const std::vector<float> series = {61, gap, 62, gap, 63};
  for (std::size_t t = 0; t < 5; ++t) graph.targets.edit()[4 * t] = series[t];
  return graph;
}

TEST(VertexRegression, UnmeasuredValuesAreNoSamplesAndLeaveTheLastValue) {
  const std::unique_ptr<Task> regression = task("vertex-regression", {{"train_share", 0.4}});
  const TaskData data = regression->draw(with_gaps(), 1);
  EXPECT_EQ(cells(data.train), (Cells{{0, 0}}));
  EXPECT_EQ(cells(data.test), (Cells{{2, 0}, {4, 0}}));
  EXPECT_EQ(data.test.value, (std::vector<double>{62, 63}));
  EXPECT_EQ(data.test.baseline, (std::vector<double>{61, 62})) << "the last measured value, not the gap";
  const std::map<std::string, double> metrics = regression->metrics({62, 66}, data.test);
  EXPECT_DOUBLE_EQ(metrics.at("mae"), 1.5);
  EXPECT_DOUBLE_EQ(metrics.at("rmse"), std::sqrt(4.5));
  EXPECT_DOUBLE_EQ(metrics.at("last_value_mae"), 1);
}

std::string refusal(const std::string& name, const SnapshotGraph& graph, const Json& options = Json::object()) {
  try {
    task(name, options)->draw(graph, 1);
  } catch (const InvalidRequest& error) {
    return error.message();
  }
  return "";
}

TEST(Tasks, NameTheLabelsThatExistInstead) {
  SnapshotGraph graph = hand_graph();
  EXPECT_NE(refusal("vertex-classification", graph).find("this workload has none"), std::string::npos);
  EventGraph events;
  events.source = {0, 1, 0}, events.target = {1, 0, 1};
  events.event_label = {0, 1, 0};
  note_event_labels(events, graph.provenance);
  const std::string message = refusal("vertex-classification", graph);
  EXPECT_NE(message.find("labels are of events, not of vertices (1 of 3 are not 0)"), std::string::npos) << message;
  EXPECT_NE(message.find("event-classification"), std::string::npos) << message;
  EXPECT_EQ(message.find("has none"), std::string::npos) << message;
  EXPECT_NE(refusal("vertex-classification", with_gaps()).find("take task vertex-regression"), std::string::npos);
  SnapshotGraph labelled = hand_graph();
  labelled.vertex_label = {0, 1, 0, 1};
  EXPECT_NE(refusal("vertex-regression", labelled, {{"target", "workload"}}).find("but classes"), std::string::npos);
}

}  // namespace
}  // namespace strobe
