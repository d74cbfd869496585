// Every registered model, and what its options change, on a small graph: gradients against finite differences in fp64,
// and whole timelines against timelines in parts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tests/models/every_model.hpp"
#include "tests/models/model_with_head.hpp"

namespace strobe {
namespace {

TEST(ModelGradients, EveryModelWithItsHeadAndItsOptions) {
  const auto device = cpu();
  const auto task = TaskRegistry::instance().find("link-prediction").value(Json::object());
  for (const auto& [model, name] : every_model()) {
    const ModelWithHead subject(*device, *model, *task);
    const Parameters& parameters = subject.parameters();
    device->run(Fill{parameters.gradients(), 0.0});
    Tape tape(*device);
    const Var logits = subject.logits(tape, StageWalk::joint);
    logits->gradient = device->allocate(4, 2);
    for (std::int64_t i = 0; i < 8; ++i) logits->gradient.data<double>()[i] = static_cast<double>(i + 1);
    tape.backward();
    std::vector<bool> live(parameters.count(), false);
    for (std::int64_t i = 0; i < parameters.count(); ++i) {
      double& value = parameters.values().data<double>()[i];
      const double saved = value;
      value = saved + 1e-6;
      const double above = subject.total();
      value = saved - 1e-6;
      const double below = subject.total();
      value = saved;
      const double expected = (above - below) / 2e-6, actual = parameters.gradients().data<double>()[i];
      EXPECT_NEAR(actual, expected, 1e-6 * std::max(1.0, std::abs(expected))) << name << " parameter " << i;
      live[i] = std::abs(expected) > 1e-6;
    }
    // Not every element: a table of positions is longer than two steps.
    auto next = live.begin();
    for (const ParameterShape& shape : subject.shapes()) {
      const auto end = next + shape.rows * shape.columns;
      EXPECT_NE(std::find(next, end, true), end) << name << ": all gradients of " << shape.name << " vanish";
      next = end;
    }
  }
}

TEST(ModelSegments, EveryModelGivesTheSameFromPartsAndJointForms) {
  const auto device = cpu();
  std::set<std::string> joining;
  const auto task = TaskRegistry::instance().find("link-prediction").value(Json::object());
  for (const auto& [model, name] : every_model()) {
    const ModelWithHead subject(*device, *model, *task);
    std::vector<std::vector<double>> results;
    for (const StageWalk walk : {StageWalk::stages, StageWalk::cut, StageWalk::joint}) {
      device->run(Fill{subject.parameters().gradients(), 0.0});
      Tape tape(*device);
      const Var logits = subject.logits(tape, walk);
      logits->gradient = device->allocate(4, 2);
      device->run(Fill{logits->gradient, 1.0});
      auto& values = results.emplace_back(logits->value.values<double>().begin(), logits->value.values<double>().end());
      tape.backward();
      const auto gradients = subject.parameters().gradients().values<double>();
      values.insert(values.end(), gradients.begin(), gradients.end());
    }
    for (const std::size_t other : {1, 2}) {
      for (std::size_t i = 0; i < results[0].size(); ++i) {
        EXPECT_NEAR(results[other][i], results[0][i], 1e-12 * std::max(1.0, std::abs(results[0][i])))
            << name << (other == 1 ? " in segments, value " : " in joint forms, value ") << i;
      }
    }
    if (subject.joint_forms() > 0) joining.insert(name);
  }
  for (const std::string name : {"evolve-gcn-h", "evolve-gcn-o", "mpnn-lstm", "t-gcn", "tm-gcn"})
    EXPECT_TRUE(joining.contains(name)) << name << " has no joint form";
}

}  // namespace
}  // namespace strobe
