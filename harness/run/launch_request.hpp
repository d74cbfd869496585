// How a case's ranks are started.
#pragma once

#include "backends/communicator.hpp"
#include "harness/request/case.hpp"

namespace strobe {

/// Ranks, device, precision, threads (kernel_threads), memory limit and cluster of the case.
/// Throws as the registries and `load_cluster` do.
LaunchRequest launch_request(const Case& c);

}  // namespace strobe
