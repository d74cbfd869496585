// The trained weights of a case on one rank: those of its model and task, with their optimiser.
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
  /// `start` has shape [parameter count]. When it is empty, `seed` draws the weights. Throws
  /// InvalidRequest("/optimizer", ...).
  TrainedWeights(Device& device, const std::vector<ParameterShape>& shapes, std::uint64_t seed,
                 const std::vector<double>& start, const Json& optimizer);

  const Parameters& parameters() const { return parameters_; }
  void clear_gradients() { device_.run(Fill{parameters_.gradients(), 0.0}); }
  void update() { optimizer_->step(device_, parameters_); }
  std::vector<double> values();
  /// The weights, and the optimiser's vectors and step count.
  TrainingState state();
  void restore(const TrainingState& state);

  /// The vectors that the optimiser keeps, by name.
  std::vector<OptimizerVector> vectors() { return optimizer_->vectors(device_, parameters_); }
  /// Copies host values into a vector on the device.
  void overwrite(const Tensor& vector, const std::vector<double>& values);

 private:
  Device& device_;
  Parameters parameters_;
  std::unique_ptr<Optimizer> optimizer_;
};

}  // namespace strobe
