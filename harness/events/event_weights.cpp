#include "harness/events/event_weights.hpp"

#include <nlohmann/json.hpp>

#include "harness/inputs/host_values.hpp"

namespace strobe {
namespace {

std::unique_ptr<Optimizer> scaled_optimizer(const EventCase& c, std::int64_t global_batch) {
  Json settings = c.request.optimizer;
  if (c.options.learning_rate_scaling == "linear" && settings.contains("rate")) {
    settings["rate"] = settings["rate"].get<double>() * static_cast<double>(global_batch) /
                       static_cast<double>(c.options.learning_rate_batch);
  }
  return OptimizerRegistry::instance().find(settings.at("name").get<std::string>(), "/optimizer").value(settings);
}

}  // namespace

EventWeights::EventWeights(const EventCase& c, std::int64_t global_batch, Device& device)
    : device_(device),
      parameters_(device, c.parameters, static_cast<std::uint64_t>(c.request.seed), c.start_values),
      optimizer_(scaled_optimizer(c, global_batch)) {}

void EventWeights::clear_gradients() { device_.run(Fill{parameters_.gradients(), 0.0}); }

void EventWeights::update() { optimizer_->step(device_, parameters_); }

std::vector<double> EventWeights::values() { return host_values(device_, parameters_.values()); }

TrainingState EventWeights::state() {
  TrainingState now;
  now.weights = values();
  for (const auto& [name, vector] : optimizer_->vectors(device_, parameters_))
    now.optimizer[name] = host_values(device_, vector);
  now.optimizer_steps = optimizer_->steps();
  return now;
}

void EventWeights::restore(const TrainingState& state) {
  overwrite(parameters_.values(), state.weights);
  for (const auto& [name, vector] : optimizer_->vectors(device_, parameters_))
    overwrite(vector, state.optimizer.at(name));
  optimizer_->set_steps(state.optimizer_steps);
}

void EventWeights::overwrite(const Tensor& vector, const std::vector<double>& values) {
  device_.run(CopyRows{vector_on(device_, values), vector, {}, {}, vector.rows(), 0, 0, 1, false});
}

}  // namespace strobe
