// The closed division: the cases of the bundled suites board/*, with only the way of training them left free.
#pragma once

#include <string>
#include <vector>

#include "harness/cli/submission/entry.hpp"

namespace strobe {

/// Why rows of the run do not belong to the closed division, one sentence each. The workload, the model, the task, the
/// target and all settings must be those of one benchmark, and the data must be the bundled data. Free are the
/// strategy, ranks, device, cluster, precision, epochs, the learning rate, and how a device is used.
std::vector<std::string> faults_in_closed_division(const EnteredRun& entered);

}  // namespace strobe
