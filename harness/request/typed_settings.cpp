#include "harness/request/typed_settings.hpp"

#include <algorithm>

#include "harness/request/case_slots.hpp"
#include "harness/request/option_text.hpp"
#include "models/snapshots/model.hpp"

namespace strobe {

std::vector<Setting> set_settings(const std::vector<std::string>& sets) {
  std::vector<Setting> settings;
  for (const std::string& assignment : sets) {
    const auto [path, text] = split_assignment(assignment, "--set");
    settings.push_back({path, text, "--set " + path});
  }
  return settings;
}

std::vector<Setting> typed_settings(const std::map<std::string, std::string>& plugins,
                                    const std::map<std::string, std::string>& scalars,
                                    const std::vector<std::string>& sets) {
  std::vector<Setting> settings;
  for (const CaseSlot& slot : case_slots()) {
    const auto typed = plugins.find(slot.name);
    if (typed == plugins.end()) continue;
    const std::string origin = "--" + slot.name;
    const NamedParameters named = split_named_parameters(typed->second, slot.names(), origin);
    settings.push_back({slot.name, named.name, origin});
    for (const auto& [key, text] : named.parameters) {
      settings.push_back({slot.name + "." + key, text, origin + " " + key});
    }
  }
  for (const auto& [name, text] : scalars) {
    std::string origin = "--" + name;
    std::replace(origin.begin(), origin.end(), '_', '-');
    settings.push_back({name, text, origin});
  }
  for (Setting& setting : set_settings(sets)) settings.push_back(std::move(setting));
  return settings;
}

void add_paper_sizes(std::vector<Setting>& settings) {
  const auto find = [&settings](const std::string& path) {
    return std::find_if(settings.begin(), settings.end(), [&](const Setting& one) { return one.path == path; });
  };
  const auto typed = find("model");
  const std::string name = typed == settings.end() ? find_case_slot("model")->default_plugin : typed->text;
  if (!ModelRegistry::instance().contains(name)) return;
  const Preset* paper = ModelRegistry::instance().find(name).parameters.preset("paper");
  if (paper == nullptr || find(std::string("model.") + preset_key) != settings.end()) return;
  for (const auto& [key, value] : paper->values) {
    const bool width = std::find(model_widths.begin(), model_widths.end(), key) != model_widths.end();
    if (width && find("model." + key) != settings.end()) return;
  }
  settings.push_back({std::string("model.") + preset_key, paper->name, "--model"});
}

}  // namespace strobe
