#include "models/snapshots/model.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace strobe {

StateShape state_shape(const LayerShape& layer, std::int64_t first_step) {
  switch (layer.need) {
    case TemporalNeed::recurrent:
      return layer.recurrent_state;
    case TemporalNeed::window:
      return {std::min(layer.window - 1, first_step), layer.spatial_width};
    case TemporalNeed::all:
      return {first_step, layer.spatial_width};
    case TemporalNeed::none:
    case TemporalNeed::weights_only:
      break;
  }
  return {};
}

void check_steps(const ModelTraits& traits, std::int64_t trained_steps) {
  if (!traits.step_vectors || trained_steps <= traits.step_vectors->count) return;
  const std::string& option = traits.step_vectors->option;
  throw InvalidRequest("/model/" + option, std::to_string(traits.step_vectors->count) + " " + option + ", but " +
                                               std::to_string(trained_steps) + " steps are trained on; set " + option +
                                               " to at least that");
}

std::string untrained_steps_note(const ModelTraits& traits, const std::string& name, std::int64_t trained_steps,
                                 std::int64_t steps) {
  if (!traits.step_vectors) return "";
  return name + " reads steps " + std::to_string(trained_steps) + " to " + std::to_string(steps - 1) +
         ", which are not trained on, with the " + traits.step_vectors->what + " of step " +
         std::to_string(trained_steps - 1);
}

std::string preset_of(const Json& model) {
  const std::string name = model.value("name", std::string());
  if (!ModelRegistry::instance().contains(name)) return "";
  const auto holds = [&model](const auto& named) {
    const Json wanted = std::visit([](const auto& held) { return Json(held); }, named.second);
    return model.contains(named.first) && model.at(named.first) == wanted;
  };
  for (const Preset& preset : ModelRegistry::instance().find(name).parameters.presets()) {
    if (std::all_of(preset.values.begin(), preset.values.end(), holds)) return preset.name;
  }
  return "";
}

}  // namespace strobe
