// Weights of a case's model and task on one rank with their optimiser, and how they are kept.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/files/checkpoint.hpp"
#include "models/optimizers/optimizer.hpp"
#include "models/tape/parameters.hpp"

namespace strobe {

class TrainedWeights {
 public:
  /// `start` [parameter count], or empty: drawn by `seed`. Throws InvalidRequest("/optimizer", ...).
  TrainedWeights(Device& device, const std::vector<ParameterShape>& shapes, std::uint64_t seed,
                 const std::vector<double>& start, const Json& optimizer);

  const Parameters& parameters() const { return parameters_; }
  void clear_gradients() { device_.run(Fill{parameters_.gradients(), 0.0}); }
  void update() { optimizer_->step(device_, parameters_); }
  std::vector<double> values();
  /// Weights and the optimiser's vectors and steps.
  TrainingState state();
  void restore(const TrainingState& state);

  /// What the optimiser keeps, by name.
  std::vector<OptimizerVector> vectors() { return optimizer_->vectors(device_, parameters_); }
  /// Stores host values into a vector of the device.
  void overwrite(const Tensor& vector, const std::vector<double>& values);

 private:
  Device& device_;
  Parameters parameters_;
  std::unique_ptr<Optimizer> optimizer_;
};

}  // namespace strobe
