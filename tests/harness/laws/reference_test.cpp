// Every registered model, compared with its serial reference in the losses of two epochs. For the second epoch, the
// reference takes one step of gradient descent along finite differences.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/registry_names.hpp"
#include "harness/full_batch/plan/full_batch_plan.hpp"
#include "harness/request/case.hpp"
#include "harness/run/run_case.hpp"
#include "models/snapshots/model.hpp"
#include "models/tasks/task.hpp"
#include "tests/harness/references/references.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

using reference::Matrix;
using reference::Weights;

constexpr double learning_rate = 0.5;

const Json reference_workload = {
    {"name", "uniform"}, {"vertices", 14}, {"steps", 8}, {"density", 2.0}, {"feature_scale", "none"}};
const Json task_options = {{"name", "link-prediction"}, {"theta", 0.5}};

Weights initial_weights(const std::vector<ParameterShape>& shapes, std::uint64_t seed) {
  DeviceRequest request;
  request.precision = ElementType::f64;
  const auto device = DeviceRegistry::instance().find("cpu").value(request);
  const Parameters parameters(*device, shapes, seed);
  Weights weights;
  for (const ParameterShape& shape : shapes) {
    const double* values = parameters.at(shape.name)->value.data<double>();
    Matrix matrix;
    for (std::int64_t i = 0; i < shape.rows; ++i) {
      matrix.emplace_back(values + i * shape.columns, values + (i + 1) * shape.columns);
    }
    weights[shape.name] = matrix;
  }
  return weights;
}

/// Mean cross-entropy of the link-prediction head over all training pairs.
double loss(const std::vector<Matrix>& z, const Samples& samples, const Weights& weights) {
  double total = 0;
  for (std::size_t i = 0; i < samples.step.size(); ++i) {
    const Matrix& step = z[samples.step[i]];
    std::vector<double> pair = step[samples.vertices[2 * i]];
    const std::vector<double>& other = step[samples.vertices[2 * i + 1]];
    pair.insert(pair.end(), other.begin(), other.end());
    std::vector<double> logits = weights.at("head.bias")[0];
    for (std::size_t c = 0; c < 2; ++c) {
      for (std::size_t j = 0; j < pair.size(); ++j) logits[c] += pair[j] * weights.at("head.weight")[j][c];
    }
    total += std::log(std::exp(logits[0]) + std::exp(logits[1])) - logits[samples.label[i]];
  }
  return total / static_cast<double>(samples.step.size());
}

/// One step of gradient descent, gradients by central differences.
Weights descend(const Weights& from, const std::function<double(const Weights&)>& loss_of) {
  Weights to = from;
  for (const auto& [name, matrix] : from) {
    for (std::size_t i = 0; i < matrix.size(); ++i) {
      for (std::size_t j = 0; j < matrix[i].size(); ++j) {
        Weights above = from, below = from;
        above[name][i][j] += 1e-6;
        below[name][i][j] -= 1e-6;
        to[name][i][j] -= learning_rate * (loss_of(above) - loss_of(below)) / 2e-6;
      }
    }
  }
  return to;
}

/// The samples whose vertices exist at their step.
Samples existing(const Samples& samples, const reference::Cells& cells) {
  Samples kept;
  kept.arity = 2;
  for (std::size_t i = 0; i < samples.step.size(); ++i) {
    const VertexId u = samples.vertices[2 * i], v = samples.vertices[2 * i + 1];
    const std::size_t t = samples.step[i];
    if (!cells.exists(static_cast<std::size_t>(u), t) || !cells.exists(static_cast<std::size_t>(v), t)) continue;
    kept.vertices.push_back(u);
    kept.vertices.push_back(v);
    kept.step.push_back(samples.step[i]);
    kept.label.push_back(samples.label[i]);
  }
  return kept;
}

/// Cuts sequences where the case's temporal placement passes them to another rank.
void cut_at_owners(const Json& request, reference::Cells& cells) {
  const FullBatchCase begun = begin_full_batch(case_from_json(request, ""), PlanUse::report);
  const Placement owners = lay_out(begun, 1)->strategy.temporal;
  cells.cut([&](std::size_t v, std::size_t t) {
    const auto step = static_cast<Step>(t);
    return step < static_cast<Step>(owners.steps()) ? owners.owner(static_cast<VertexId>(v), step) : 0;
  });
}

/// Losses of two epochs of the model, and of its reference. With a strategy, sequences also end at its cuts.
void expect_agreement(const Json& of, const Json& on, const std::string& presence, int seed,
                      const std::string& strategy = "") {
  const std::string name = of.at("name");
  SCOPED_TRACE(name + " presence " + presence + " seed " + std::to_string(seed));
  const SnapshotGraph graph = load_workload("uniform", on, static_cast<std::uint64_t>(seed));
  reference::Cells cells(graph, presence);
  const auto task = TaskRegistry::instance().find("link-prediction").value(task_options);
  const TaskData data = task->draw(graph, static_cast<std::uint64_t>(seed));
  const Samples samples = existing(data.train, cells);
  const auto model = ModelRegistry::instance().find(name).value(of);
  std::vector<ParameterShape> shapes = model->parameters(graph.feature_width);
  const std::int64_t width = model->layers(graph.feature_width).back().temporal_width;
  for (const ParameterShape& shape : task->parameters(width)) shapes.push_back(shape);
  const auto loss_of = [&](const Weights& weights) {
    return loss(reference::models().at(name)(graph, data.steps, weights, cells), samples, weights);
  };
  const Weights start = initial_weights(shapes, static_cast<std::uint64_t>(seed));
  Json request = {{"workload", on},
                  {"model", of},
                  {"task", task_options},
                  {"precision", "fp64"},
                  {"presence", presence},
                  {"seed", seed},
                  {"optimizer", {{"name", "sgd"}, {"rate", learning_rate}}},
                  {"epochs", 2},
                  {"warmup", 0}};
  if (!strategy.empty()) {
    request["strategy"] = {{"name", strategy}, {"states", "zero"}};
    request["ranks"] = 3;
    cut_at_owners(request, cells);
  }
  const CaseResult result = run_case(case_from_json(request, ""));
  ASSERT_EQ(result.status, "ok") << result.reason;
  EXPECT_EQ(result.exact, strategy.empty());
  EXPECT_NEAR(result.loss.per_epoch[0], loss_of(start), 1e-12);
  const double descended = loss_of(descend(start, loss_of));
  // Finite differences are good to about nine digits.
  EXPECT_NEAR(result.loss.per_epoch[1], descended, 1e-8 * std::max(1.0, descended));
  EXPECT_GT(std::abs(result.loss.per_epoch[1] - result.loss.per_epoch[0]), 1e-5) << "nothing was learnt";
}

std::vector<std::string> models_of_snapshots() { return names_with<ModelTag>(&ModelTag::Value::family, "snapshots"); }

TEST(References, EveryModelAgreesWithItsOwn) {
  for (const std::string& name : models_of_snapshots()) {
    ASSERT_TRUE(reference::models().count(name)) << "model " << name << " has no serial reference in tests/harness";
    expect_agreement({{"name", name}}, reference_workload, "all", 1);
  }
}

/// Each step has two edges for five vertices, so that a vertex has an edge at about half of the steps.
TEST(References, EveryModelAgreesWithItsOwnOnCellsThatExist) {
  for (const std::string& name : models_of_snapshots()) {
    Json model = {{"name", name}};
    if (name == "dysat") model["positions"] = 8;  // for each position, the reference runs two epochs for every feature
    for (const auto& [presence, seed] : {std::pair{"seen", 2}, {"lifetime", 3}, {"active", 4}}) {
      Json sparse = reference_workload;
      sparse["density"] = 0.4;
      expect_agreement(model, sparse, presence, seed);
    }
  }
}

TEST(References, SequencesBeginAnewWhereStatesAreZero) {
  int seed = 100;  // at some seeds a relu turns within a finite difference, with or without cuts
  for (const char* model : {"t-gcn", "cd-gcn", "mpnn-lstm"}) {
    for (const char* strategy : {"scattered", "pss", "chunk"})
      expect_agreement({{"name", model}}, reference_workload, "all", ++seed, strategy);
    for (const char* presence : {"seen", "active"})
      expect_agreement({{"name", model}}, reference_workload, presence, ++seed, "scattered");
  }
}

}  // namespace
}  // namespace strobe
