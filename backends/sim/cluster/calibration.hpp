// The `calibration` object of a cluster file: fitted times of a measured machine.
#pragma once

#include <memory>
#include <string>

#include "backends/cluster.hpp"

namespace strobe::sim {

/// Reads the object; throws InvalidRequest with the JSON pointer under `pointer`.
std::shared_ptr<const Calibration> read_calibration(const Json& json, const std::string& pointer);

}  // namespace strobe::sim
