// Conformance of what a rank has beside its program: work of its host, transfers ahead, helpers. One list of cases for
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

/// Of a device whose clock is the wall's: work of the host runs while the device computes, as its spans show.
void check_overlap(Device& device);

/// Work of the host and transfers ahead: values, order, spans, failures. Devices are made anew for each case.
std::span<const DeviceCase> host_cases();

/// Helpers beside ranks: values, order, and how a launch ends when one of both sides does not do its part.
std::span<const FailureCase> helper_cases();

}  // namespace strobe::conformance
