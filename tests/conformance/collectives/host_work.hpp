// Conformance of work that runs next to a rank's program: host work, transfers ahead, helpers. One list of cases for
// every device, and one for every communicator.
#pragma once

#include <span>
#include <string_view>

#include "backends/communicator.hpp"
#include "tests/conformance/collectives/collectives.hpp"

namespace strobe::conformance {

struct DeviceCase {
  std::string_view name;
  /// Throws ConformanceFailure. The device computes values.
  void (*program)(Device&) = nullptr;
};

/// For a device with the wall clock: host work runs while the device computes, as its spans show.
void check_overlap(Device& device);

/// Host work and transfers ahead: values, order, spans, failures. Each case makes its own device.
std::span<const DeviceCase> host_cases();

/// Helpers: values, order, and how a launch ends when a helper or its trainers fail to do their part.
std::span<const FailureCase> helper_cases();

}  // namespace strobe::conformance
