// Weights of a case's model and task on one rank, and how they are updated and kept.
#pragma once

#include <memory>
#include <vector>

#include "harness/events/event_case.hpp"
#include "harness/files/checkpoint.hpp"
#include "models/optimizers/optimizer.hpp"

namespace strobe {

class EventWeights {
 public:
  /// `global_batch` events are trained on in an update: the learning rate is scaled by it (decisions 7.5).
  EventWeights(const EventCase& c, std::int64_t global_batch, Device& device);

  const Parameters& parameters() const { return parameters_; }
  void clear_gradients();
  void update();
  std::vector<double> values();
  /// Weights and the optimiser's vectors and steps.
  TrainingState state();
  void restore(const TrainingState& state);

 private:
  void overwrite(const Tensor& vector, const std::vector<double>& values);

  Device& device_;
  Parameters parameters_;
  std::unique_ptr<Optimizer> optimizer_;
};

}  // namespace strobe
