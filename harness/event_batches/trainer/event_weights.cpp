#include "harness/event_batches/trainer/event_weights.hpp"

#include <nlohmann/json.hpp>

namespace strobe {
namespace {

Json scaled_optimizer(const EventCase& c, std::int64_t global_batch) {
  Json settings = c.request.optimizer;
  if (c.options.learning_rate_scaling == "linear" && settings.contains("rate")) {
    settings["rate"] = settings["rate"].get<double>() * static_cast<double>(global_batch) /
                       static_cast<double>(c.options.learning_rate_batch);
  }
  return settings;
}

}  // namespace

EventWeights::EventWeights(const EventCase& c, std::int64_t global_batch, Device& device)
    : TrainedWeights(device, c.parameters, static_cast<std::uint64_t>(c.request.seed), c.start_values,
                     scaled_optimizer(c, global_batch)) {}

}  // namespace strobe
