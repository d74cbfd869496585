// Golden fixtures: embeddings, loss and gradients of an independent PyTorch implementation (generate/), from the same
// weights on the same graph. Each case of cases.json goes through the whole program: file, windows, preprocessing,
// model, task, one epoch. Gradients are computed from one step of gradient descent. Its rate is so high that the start
// weights vanish in rounding. A case of an optimiser compares the weights after several of its steps instead.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/registry_names.hpp"
#include "harness/files/model_files.hpp"
#include "harness/request/case.hpp"
#include "harness/request/json_text.hpp"
#include "harness/run/run_case.hpp"
#include "models/snapshots/model.hpp"
#include "models/tasks/task.hpp"
#include "tests/golden/fixtures_agree.hpp"
#include "workloads/reading/text/npy.hpp"

namespace strobe {
namespace {

const std::string folder = std::string(STROBE_TEST_DIR) + "/golden/";
constexpr double rate = 4096;  // a power of two: scaling by it rounds nothing

/// Link prediction on the pairs of samples.csv. Only the choice of pairs differs from the registered task.
class GoldenPairs final : public Task {
 public:
  explicit GoldenPairs(bool weighted)
      : weighted_(weighted), task_(TaskRegistry::instance().find("link-prediction").value(Json::object())) {}

  TaskData draw(const SnapshotGraph&, std::uint64_t) const override {
    std::ifstream file(folder + "samples.csv");
    std::string line;
    std::getline(file, line);
    TaskData data;
    data.train.arity = 2;
    while (std::getline(file, line)) {
      long u = 0, v = 0, step = 0, label = 0;
      double weight = 0;
      EXPECT_EQ(std::sscanf(line.c_str(), "%ld,%ld,%ld,%ld,%lf", &u, &v, &step, &label, &weight), 5) << line;
      data.train.vertices.push_back(static_cast<VertexId>(u));
      data.train.vertices.push_back(static_cast<VertexId>(v));
      data.train.step.push_back(static_cast<Step>(step));
      data.train.label.push_back(static_cast<std::int32_t>(label));
      if (weighted_) data.train.weight.push_back(weight);
      data.steps = std::max<std::int64_t>(data.steps, step + 1);
    }
    data.test = data.train;
    data.test.candidate_of.assign(data.test.step.size(), -1);
    data.test.baseline.assign(data.test.step.size(), 0.0);
    data.test.memory.assign(data.test.step.size(), 0.0);
    return data;
  }

  std::vector<ParameterShape> parameters(std::int64_t width) const override { return task_->parameters(width); }
  Var head(Tape& tape, const Parameters& parameters, const Var& embeddings, const std::vector<Tensor>& lists,
           std::int64_t count) const override {
    return task_->head(tape, parameters, embeddings, lists, count);
  }
  std::int64_t classes() const override { return task_->classes(); }
  std::map<std::string, double> metrics(const std::vector<double>& outputs, const Samples& test) const override {
    return task_->metrics(outputs, test);
  }
  std::vector<std::string> metric_names() const override { return task_->metric_names(); }
  std::map<std::string, std::int64_t> metric_samples(const Samples& test) const override {
    return task_->metric_samples(test);
  }

 private:
  bool weighted_;
  std::unique_ptr<Task> task_;
};

const Register<TaskTag> plain{
    {"golden-pairs",
     "the pairs of the golden fixtures",
     "",
     {},
     [](const Json&) -> std::unique_ptr<Task> { return std::make_unique<GoldenPairs>(false); },
     {}}};
const Register<TaskTag> weighted{
    {"golden-weighted-pairs",
     "the same, weighted",
     "",
     {},
     [](const Json&) -> std::unique_ptr<Task> { return std::make_unique<GoldenPairs>(true); },
     {}}};

using Named = std::map<std::string, SavedMatrix>;

/// The results of one run of a case.
struct Left {
  double loss = 0;
  Named weights;
  std::vector<double> embeddings;
};

class Golden : public testing::TestWithParam<Json> {
 protected:
  Golden() {
    std::string pattern = (std::filesystem::temp_directory_path() / "strobe-golden-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw SystemError("no temporary folder");
    scratch_ = pattern;
  }
  ~Golden() override { std::filesystem::remove_all(scratch_); }

  Named fixture() const {
    Named tensors;
    for (SavedMatrix& matrix : read_safetensors(folder + GetParam().at("name").get<std::string>() + ".safetensors")) {
      tensors[matrix.name] = std::move(matrix);
    }
    return tensors;
  }

  /// The embeddings of the case's start weights: a run with learning rate 0 leaves them.
  static void dump_embeddings(Json request, const std::string& path) {
    request["optimizer"] = {{"name", "sgd"}, {"rate", 0.0}};
    request["epochs"] = 1;
    ModelOutputs outputs;
    outputs.files["embeddings"] = path;
    const CaseResult result = run_case(case_from_json(request, ""), nullptr, outputs);
    EXPECT_EQ(result.status, "ok") << result.reason;
  }

  Left run(const Named& fixture, const std::string& precision, const Json& strategy, int ranks,
           const Json& options = Json::object()) const {
    std::vector<SavedMatrix> start;
    for (const auto& [name, matrix] : fixture) {
      if (name.rfind("weight.", 0) != 0) continue;
      start.push_back(matrix);
      start.back().name = name.substr(7);
    }
    const std::string before = (scratch_ / "before").string(), after = (scratch_ / "after").string();
    const std::string embeddings = (scratch_ / "embeddings.npy").string();
    write_safetensors(before, start, true);
    Json request = {{"workload", {{"name", folder + GetParam().value("graph", "graph.csv")}}},
                    {"model", GetParam().at("model")},
                    {"task", GetParam().at("task")},
                    {"optimizer", GetParam().value("optimizer", Json{{"name", "sgd"}, {"rate", rate}})},
                    {"strategy", strategy},
                    {"ranks", ranks},
                    {"precision", precision},
                    {"epochs", GetParam().value("steps", 1)},
                    {"warmup", 0},
                    {"load_model", before},
                    {"presence", GetParam().value("presence", "all")}};
    request["workload"]["feature_scale"] = "none";  // the PyTorch models read degrees as they are
    request["workload"]["orientation"] = GetParam().value("orientation", "in");
    request["model"].update(options);
    ModelOutputs outputs;
    outputs.weights = after;
    const CaseResult result = run_case(case_from_json(request, ""), nullptr, outputs);
    EXPECT_EQ(result.status, "ok") << result.reason;
    dump_embeddings(request, embeddings);
    Left left;
    if (!result.loss.per_epoch.empty()) left.loss = result.loss.per_epoch[0];
    for (SavedMatrix& matrix : read_safetensors(after)) left.weights[matrix.name] = std::move(matrix);
    const NpyArray array = read_npy(embeddings);
    for (std::int64_t i = 0; i < array.size(); ++i) left.embeddings.push_back(array.at(i));
    return left;
  }

  std::filesystem::path scratch_;
};

/// Largest difference over largest value.
void expect_close(const std::vector<double>& got, const std::vector<double>& expected, double tolerance,
                  const std::string& what) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  double largest = 0, apart = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    largest = std::max(largest, std::abs(expected[i]));
    apart = std::isnan(got[i]) ? INFINITY : std::max(apart, std::abs(got[i] - expected[i]));
  }
  EXPECT_GT(largest, 0.0) << what;
  EXPECT_LE(apart, tolerance * largest) << what << ": relative difference " << apart / largest;
}

/// The gradient of one step of gradient descent at `rate`.
std::vector<double> gradient_between(const std::vector<double>& before, const std::vector<double>& after) {
  std::vector<double> gradient;
  for (std::size_t i = 0; i < before.size(); ++i) gradient.push_back((before[i] - after[i]) / rate);
  return gradient;
}

/// The embeddings of existing cells, when the fixture lists them. The embeddings of other cells have no meaning.
std::vector<double> of_existing(const std::vector<double>& embeddings, const Named& golden) {
  const auto exists = golden.find("exists");
  if (exists == golden.end()) return embeddings;
  const std::vector<double>& cells = exists->second.values;
  std::vector<double> kept;
  for (std::size_t i = 0; i < embeddings.size(); ++i) {
    if (cells[i * cells.size() / embeddings.size()] == 1) kept.push_back(embeddings[i]);
  }
  return kept;
}

/// Loss, embeddings and gradients of one epoch. `idle` parameters have no gradient and do not change.
void expect_epoch(const Left& left, const Named& golden, const Json& idle, double tolerance, const std::string& where) {
  expect_close({left.loss}, golden.at("loss").values, tolerance, where + "loss");
  // The golden task trains on all steps that have embeddings.
  const std::vector<double>& embeddings = golden.at("embeddings").values;
  ASSERT_EQ(left.embeddings.size(), embeddings.size()) << where;
  expect_close(of_existing(left.embeddings, golden), of_existing(embeddings, golden), tolerance, where + "embeddings");
  for (const auto& [name, matrix] : left.weights) {
    ASSERT_TRUE(golden.count("gradient." + name)) << name;
    const std::vector<double>& before = golden.at("weight." + name).values;
    if (std::find(idle.begin(), idle.end(), name) != idle.end()) {
      EXPECT_EQ(matrix.values, before) << where << name;
      continue;
    }
    expect_close(gradient_between(before, matrix.values), golden.at("gradient." + name).values, tolerance,
                 where + "gradient of " + name);
  }
}

TEST_P(Golden, AgreesWithPyTorch) {
  ASSERT_TRUE(ModelRegistry::instance().contains(GetParam().at("model").at("name"))) << "a golden without its model";
  const Named golden = fixture();
  const Json sequential = {{"name", "sequential"}}, snapshot = {{"name", "snapshot"}}, vertex = {{"name", "vertex"}};
  struct Setting {
    std::string precision;
    double tolerance;
    Json strategy;
    int ranks;
    Json options = Json::object();
  };
  std::vector<Setting> settings = {{"fp64", 1e-10, sequential, 1},
                                   {"fp32", GetParam().value("fp32_tolerance", 1e-5), sequential, 1},
                                   {"fp64", 1e-10, snapshot, 3},
                                   {"fp64", 1e-10, vertex, 3}};
  const Json batches = {{"name", "hybrid_batch"}, {"vertices", "100%"}, {"snapshots", "100%"}};
  if (GetParam().contains("presence")) settings.push_back({"fp64", 1e-10, batches, 2});
  for (const Json& same : GetParam().value("same", Json::array())) settings.push_back({"fp64", 1e-10, vertex, 2, same});
  for (const Setting& s : settings) {
    const std::string where = s.precision + " " + s.strategy.dump() + s.options.dump() + " ";
    const Left left = run(golden, s.precision, s.strategy, s.ranks, s.options);
    if (!GetParam().contains("optimizer")) {
      expect_epoch(left, golden, GetParam().value("idle", Json::array()), s.tolerance, where);
      continue;
    }
    for (const auto& [name, matrix] : left.weights)
      expect_close(matrix.values, golden.at("after." + name).values, s.tolerance, where + name);
  }
}

std::vector<Json> cases() {
  const Json all = read_json_file(folder + "cases.json");
  return all.at("cases").get<std::vector<Json>>();
}

INSTANTIATE_TEST_SUITE_P(All, Golden, testing::ValuesIn(cases()), [](const auto& parameter) {
  std::string name = parameter.param.at("name").template get<std::string>();
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
});

TEST(GoldenCases, EveryModelHasAFixture) {
  for (const std::string& model : names_with<ModelTag>(&ModelTag::Value::family, "snapshots")) {
    bool found = false;
    for (const Json& one : cases()) found = found || one.at("model").at("name") == model;
    EXPECT_TRUE(found) << model << ": add a case to tests/golden/cases.json and its equations to tests/golden/generate";
  }
}

TEST(GoldenCases, AreWhatTheirGeneratorComputes) { test::expect_fixtures_agree("generate.py"); }

}  // namespace
}  // namespace strobe
