#include "workloads/generators/event_generation.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/joined_fields.hpp"

namespace strobe {
namespace {

/// The options of files that say nothing of a file.
const std::vector<std::string>& step_option_names() {
  static const std::vector<std::string> names = {"window",      "window_events", "window_count", "partial", "weights",
                                                 "orientation", "features",      "cumulative",   "stride",  "lags",
                                                 "edge_life",   "min_edges",     "steps"};
  return names;
}

/// The entries of `parameters` that are options for steps, or those that are not.
Json part_of(const Json& parameters, bool of_steps) {
  Json part = Json::object();
  for (const auto& [key, value] : parameters.items())
    if (is_step_option(key) == of_steps) part[key] = value;
  return part;
}

}  // namespace

bool is_step_option(const std::string& name) {
  const std::vector<std::string>& names = step_option_names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

FieldTable event_workload_fields(const std::string& generator, const std::string& where) {
  const FieldTable& own = EventGeneratorRegistry::instance().find(generator, where).parameters;
  return joined_fields({own, chosen_fields(file_option_fields(), step_option_names())});
}

Json with_presets(const std::string& generator, const Json& given) {
  const auto& value = EventGeneratorRegistry::instance().find(generator).value;
  return value.preset != nullptr && given.is_object() ? value.preset(given) : given;
}

Json complete_event_parameters(const std::string& generator, const Json& given, const std::string& pointer) {
  return event_workload_fields(generator).complete(with_presets(generator, given), pointer);
}

FileOptions step_options(const Json& complete) {
  return from_json<FileOptions>(file_option_fields(), part_of(complete, true), "");
}

EventGraph generate_events(const std::string& generator, const Json& parameters, std::uint64_t seed) {
  const Json complete = complete_event_parameters(generator, parameters, "/workload");
  return EventGeneratorRegistry::instance().find(generator).value.generate(part_of(complete, false), seed);
}

}  // namespace strobe
