#include "harness/event_batches/trainer/event_weights.hpp"

#include <fmt/format.h>

#include <algorithm>
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

bool trains_frequencies(const EventCase& c) {
  return !c.model->traits().fixed_time_encoding &&
         std::any_of(c.parameters.begin(), c.parameters.end(),
                     [](const ParameterShape& shape) { return shape.name.ends_with(".frequency"); });
}

}  // namespace

std::string note_on_rounding(const EventCase& c, std::int64_t global_batch) {
  const Json optimizer = scaled_optimizer(c, global_batch);
  if (!optimizer.contains("rate") || c.request.numerics == "none" || !trains_frequencies(c)) return "";
  const double seconds = c.training.time(c.training_events() - 1);
  const double angle = optimizer["rate"].get<double>() * seconds;
  if (angle < 0.1) return "";
  return fmt::format(
      "trained time encodings enlarge rounding: an update turns the encoding of {:.0e} s by up to about {:.0e} "
      "radians, so losses of other rank counts may differ visibly; the model's time_encoding=fixed keeps them equal",
      seconds, angle);
}

EventWeights::EventWeights(const EventCase& c, std::int64_t global_batch, Device& device)
    : TrainedWeights(device, c.parameters, static_cast<std::uint64_t>(c.request.seed), c.start_values,
                     scaled_optimizer(c, global_batch)) {}

}  // namespace strobe
