// A task of events on a workload before training: the sizes of its parts, and the metrics of rules that learn nothing.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "core/fields.hpp"

namespace strobe {

/// {"name", parameters, "training_events", "validation_events", "test_events", "candidates", metrics by name} of the
/// task `text` ("NAME:key=value,...") on the events of `workload`. Throws InvalidRequest for a task of another family
/// and for a workload without events.
Json inspect_task(const std::string& text, const std::string& workload, const Json& parameters, std::uint64_t seed);

}  // namespace strobe
