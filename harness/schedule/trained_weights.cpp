#include "harness/schedule/trained_weights.hpp"

#include <nlohmann/json.hpp>

#include "harness/schedule/host_values.hpp"

namespace strobe {

TrainedWeights::TrainedWeights(Device& device, const std::vector<ParameterShape>& shapes, std::uint64_t seed,
                               const std::vector<double>& start, const Json& optimizer)
    : device_(device),
      parameters_(device, shapes, seed, start),
      optimizer_(
          OptimizerRegistry::instance().find(optimizer.at("name").get<std::string>(), "/optimizer").value(optimizer)) {}

std::vector<double> TrainedWeights::values() { return host_values(device_, parameters_.values()); }

TrainingState TrainedWeights::state() {
  TrainingState now;
  now.weights = values();
  for (const auto& [name, vector] : vectors()) now.optimizer[name] = host_values(device_, vector);
  now.optimizer_steps = optimizer_->steps();
  return now;
}

void TrainedWeights::restore(const TrainingState& state) {
  overwrite(parameters_.values(), state.weights);
  for (const auto& [name, vector] : vectors()) overwrite(vector, state.optimizer.at(name));
  optimizer_->set_steps(state.optimizer_steps);
}

void TrainedWeights::overwrite(const Tensor& vector, const std::vector<double>& values) {
  device_.run(CopyRows{vector_on(device_, values), vector, {}, {}, vector.rows(), 0, 0, 1, false});
}

}  // namespace strobe
