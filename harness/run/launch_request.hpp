// How a case's ranks are started.
#pragma once

#include "backends/communicator.hpp"
#include "harness/request/case.hpp"

namespace strobe {

/// Ranks, device, precision, threads (kernel_threads), memory limit and cluster of the case.
/// `host_bytes`: of a node in training, under a limit of host memory. Throws as the registries and `load_cluster` do.
LaunchRequest launch_request(const Case& c, double host_bytes = 0);

}  // namespace strobe
