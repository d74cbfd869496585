// Gradients with missing cells: the step of training is compared with central differences of its loss in random
// directions, for every model and value of `presence`, on one rank and under scattered owners.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "core/registry_names.hpp"
#include "harness/files/model_files.hpp"
#include "harness/full_batch/full_batch_schedule.hpp"
#include "harness/full_batch/plan/full_batch_plan.hpp"
#include "harness/request/case.hpp"
#include "harness/run/run_case.hpp"
#include "models/snapshots/model.hpp"
#include "tests/harness/laws/comings_and_goings.hpp"

namespace strobe {
namespace {

constexpr double step_rate = 0.25;

/// One case whose weights a test chooses.
class OneStep {
 public:
  explicit OneStep(const Json& request)
      : case_(case_from_json(request, "")), begun_(begin_full_batch(case_, PlanUse::run)) {}

  std::size_t weights() const { return static_cast<std::size_t>(begun_.model.parameter_count); }

  /// The loss of these weights. `after`, if given, gets the weights after one step of SGD.
  double loss(const std::vector<double>& weights, std::vector<double>* after = nullptr) {
    begun_.model.start_values = weights;
    const auto plan = lay_out(begun_, 1);
    ModelOutputs outputs;
    const auto path = std::filesystem::temp_directory_path() / ("strobe-step-" + std::to_string(getpid()));
    if (after != nullptr) outputs.weights = path.string();
    const auto planned =
        std::make_shared<const PlannedCase>(PlannedCase{case_, full_batch_schedule(plan), plan->notes});
    const CaseResult result = run_planned(planned, case_, nullptr, outputs);
    EXPECT_EQ(result.status, "ok") << result.reason;
    if (after != nullptr) {
      after->clear();
      for (const SavedMatrix& matrix : read_safetensors(path.string()))
        after->insert(after->end(), matrix.values.begin(), matrix.values.end());
      std::filesystem::remove(path);
    }
    return result.loss.per_epoch.at(0);
  }

 private:
  Case case_;
  FullBatchCase begun_;
};

std::vector<double> drawn(std::size_t count, unsigned seed, double scale) {
  std::mt19937 draw(seed);
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(scale * (static_cast<double>(draw()) / 0x1.0p31 - 1));
  return values;
}

void expect_gradient(const Json& request, unsigned seed) {
  OneStep step(request);
  const std::vector<double> weights = drawn(step.weights(), seed, 0.4);
  std::vector<double> after;
  step.loss(weights, &after);
  ASSERT_EQ(after.size(), weights.size()) << request.dump();
  for (unsigned direction = 1; direction <= 2; ++direction) {
    const std::vector<double> along = drawn(weights.size(), 100 * seed + direction, 1);
    constexpr double h = 2e-6;
    std::vector<double> up = weights, down = weights;
    double expected = 0, size = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      up[i] += h * along[i];
      down[i] -= h * along[i];
      const double gradient = (weights[i] - after[i]) / step_rate;
      expected += gradient * along[i];
      size += std::abs(gradient * along[i]);
    }
    EXPECT_NEAR((step.loss(up) - step.loss(down)) / (2 * h), expected, 2e-6 * size) << request.dump();
  }
}

class PresenceGradients : public testing::TestWithParam<std::string> {};

TEST_P(PresenceGradients, AreThoseOfTheLoss) {
  unsigned seed = 60;
  for (const std::string& model : names_with<ModelTag>(&ModelTag::Value::family, "snapshots")) {
    const test::ComingsAndGoings graph(++seed);
    Json request = graph.request({{"name", model}}, GetParam());
    request["epochs"] = 1;
    request["warmup"] = 0;
    request["optimizer"] = {{"name", "sgd"}, {"rate", step_rate}};
    request["strategy"] = {{"name", "sequential"}};
    expect_gradient(request, seed);
    request["strategy"] = {{"name", "scattered"}};
    request["ranks"] = 3;
    expect_gradient(request, seed);
  }
}

INSTANTIATE_TEST_SUITE_P(Values, PresenceGradients, testing::Values("all", "seen", "lifetime", "active"),
                         [](const auto& parameter) { return parameter.param; });

}  // namespace
}  // namespace strobe
