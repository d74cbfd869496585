// Tables are joined once for each generator and kept: others hold references to them.
#include "workloads/generators/event_generation.hpp"

#include <algorithm>
#include <map>
#include <mutex>
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

const FieldTable& event_workload_fields(const std::string& generator, const std::string& where) {
  static std::mutex mutex;
  static std::map<std::string, FieldTable> made;
  const FieldTable& own = EventGeneratorRegistry::instance().find(generator, where).parameters;
  const std::lock_guard lock(mutex);
  const auto at = made.find(generator);
  if (at != made.end()) return at->second;
  return made.emplace(generator, joined_fields({own, chosen_fields(file_option_fields(), step_option_names())}))
      .first->second;
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
