// The share of a workload's events that node memory captures with batches of several sizes (DistTGL, Fig. 8).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/fields.hpp"

namespace strobe {

/// Reads sizes of batches from "300,600,...": at least one number, all above 0, none twice. Throws InvalidRequest.
std::vector<std::int64_t> batches_to_capture(const std::string& text);

/// For each size of batch {"batch", "missing_share", "hub_missing_share"} over all events of `workload`.
/// Also writes the CSV file `csv`, unless it is "". It has a line for each vertex with events, sorted by most events
/// and then by number: position from 1, vertex, events, and the events that memory captures with each size. Throws
/// InvalidRequest for a workload without events, SystemError.
Json inspect_captured(const std::vector<std::int64_t>& batches, const std::string& csv, const std::string& workload,
                      const Json& parameters, std::uint64_t seed);

}  // namespace strobe
