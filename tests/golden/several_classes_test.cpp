// Golden fixtures of event-classification with several classes per event: the task's classifier and its loss, from the
// same embeddings and weights as a PyTorch form (events/generate/several_classes.py), down to every gradient.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "backends/device.hpp"
#include "harness/files/model_files.hpp"
#include "harness/schedule/host_values.hpp"
#include "models/tasks/event_task.hpp"
#include "models/tasks/metrics.hpp"

namespace strobe {
namespace {

struct Precision {
  ElementType type;
  double tolerance;
};

class SeveralClassesGolden : public ::testing::TestWithParam<int> {
 protected:
  SeveralClassesGolden() {
    const std::string path =
        fmt::format("{}/golden/events/several-classes-{}.safetensors", STROBE_TEST_DIR, GetParam());
    for (SavedMatrix& matrix : read_safetensors(path)) fixture_[matrix.name] = std::move(matrix);
    const SavedMatrix& truth = fixture_.at("truth");
    for (std::int64_t e = 0; e < truth.rows; ++e) {
      std::uint64_t bits = 0;
      for (std::int64_t c = 0; c < truth.columns; ++c) {
        if (truth.values[e * truth.columns + c] > 0) bits |= std::uint64_t{1} << c;
      }
      sets_.push_back(static_cast<std::int64_t>(bits));
    }
    graph_.event_class_source.classes = truth.columns;
  }

  /// A leaf with the fixture's values and a gradient of zeros.
  Var leaf(Device& device, const std::string& name) {
    const SavedMatrix& matrix = fixture_.at(name);
    const Tensor gradient = device.allocate(matrix.rows, matrix.columns);
    device.run(Fill{gradient, 0.0});
    return Tape::leaf(vector_on(device, matrix.values).view(0, matrix.rows, matrix.columns), gradient);
  }

  void expect_close(const std::vector<double>& values, const std::string& name, double tolerance) {
    const std::vector<double>& wanted = fixture_.at(name).values;
    ASSERT_EQ(values.size(), wanted.size()) << name;
    double largest = 1;
    for (const double value : wanted) largest = std::max(largest, std::abs(value));
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_NEAR(values[i], wanted[i], tolerance * largest) << name << " at " << i;
  }

  void check(const Precision& precision) {
    const auto device = DeviceRegistry::instance().find("cpu").value(DeviceRequest{.precision = precision.type});
    const auto task = EventTaskRegistry::instance().find("event-classification").value({{"labels", "several"}});
    const std::int64_t events = sets_.size();
    const std::vector<ParameterShape> shapes = task->parameters(graph_, fixture_.at("sources").columns);
    std::vector<double> start;
    for (const ParameterShape& shape : shapes) {
      const std::vector<double>& values = fixture_.at(shape.name).values;
      ASSERT_EQ(values.size(), static_cast<std::size_t>(shape.rows * shape.columns)) << shape.name;
      start.insert(start.end(), values.begin(), values.end());
    }
    const Parameters parameters(*device, shapes, 1, start);
    device->run(Fill{parameters.gradients(), 0.0});
    const Tensor loss = device->allocate(1, 1, ElementType::f64);
    device->run(Fill{loss, 0.0});
    Tape tape(*device);
    const Var sources = leaf(*device, "sources"), destinations = leaf(*device, "destinations");
    const Var logits = task->head(tape, parameters, sources, destinations, {});
    task->add_loss(tape, logits, LinkLoss::cross_entropy, device->move_in(sets_.data(), events, 1, ElementType::i64),
                   1.0 / static_cast<double>(events), loss);
    tape.backward();
    expect_close(host_values(*device, logits->value), "logits", precision.tolerance);
    expect_close(host_values(*device, loss), "loss", precision.tolerance);
    expect_close(host_values(*device, sources->gradient), "gradient.sources", precision.tolerance);
    expect_close(host_values(*device, destinations->gradient), "gradient.destinations", precision.tolerance);
    for (const ParameterShape& shape : shapes) {
      const std::string& name = shape.name;
      expect_close(host_values(*device, parameters.at(name)->gradient), "gradient." + name, precision.tolerance);
    }
    const double f1 = micro_f1(host_values(*device, logits->value), sets_, graph_.event_class_source.classes);
    EXPECT_NEAR(f1, fixture_.at("f1_micro").values[0], 1e-12);
  }

  std::map<std::string, SavedMatrix> fixture_;
  std::vector<std::int64_t> sets_;
  EventGraph graph_;  // holds only the number of classes
};

TEST_P(SeveralClassesGolden, ClassifierAndLossAreThoseOfPyTorch) {
  for (const Precision& precision : {Precision{ElementType::f64, 1e-10}, Precision{ElementType::f32, 1e-5}}) {
    check(precision);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Fixtures, SeveralClassesGolden, ::testing::Values(1, 5, 64));

}  // namespace
}  // namespace strobe
