// What node memory captures of a workload's events in batches of several sizes (DistTGL, Fig. 8).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/fields.hpp"

namespace strobe {

/// Batches "300,600,...": at least one, each a whole number of at least 1, none twice. Throws InvalidRequest.
std::vector<std::int64_t> batches_to_capture(const std::string& text);

/// Of all events of `workload`: for each batch {"batch", "missing_share", "hub_missing_share"}, and in the CSV file
/// `csv`, unless it is "", a line for each vertex with events, of most events first (equal ones by number): position
/// from 1, vertex, events, and the events that memory captures with each batch. Throws InvalidRequest for a workload
/// without events, SystemError.
Json inspect_captured(const std::vector<std::int64_t>& batches, const std::string& csv, const std::string& workload,
                      const Json& parameters, std::uint64_t seed);

}  // namespace strobe
