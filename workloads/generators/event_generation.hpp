// Generators of events as workloads: their own parameters together with the options that cut events into steps.
#pragma once

#include <cstdint>
#include <string>

#include "workloads/graph/file_options.hpp"
#include "workloads/graph/plugins.hpp"

namespace strobe {

/// The parameters of the generator of events called `generator` as a workload: its own, then those of FileOptions that
/// cut events into steps. Throws InvalidRequest(where, ...) for an unknown name.
FieldTable event_workload_fields(const std::string& generator, const std::string& where = "");

/// `given` with the additions of the generator's presets (EventGeneratorTag::preset). Anything but a JSON object is
/// returned unchanged.
Json with_presets(const std::string& generator, const Json& given);

/// `given` completed with the generator's presets and all defaults, and checked. Throws InvalidRequest.
Json complete_event_parameters(const std::string& generator, const Json& given, const std::string& pointer);

/// How complete parameters say that events become steps.
FileOptions step_options(const Json& complete);

/// Whether events of generators are cut by the option of this name.
bool is_step_option(const std::string& name);

/// The events of the generator for these parameters, complete or not. Throws InvalidRequest.
EventGraph generate_events(const std::string& generator, const Json& parameters, std::uint64_t seed);

}  // namespace strobe
