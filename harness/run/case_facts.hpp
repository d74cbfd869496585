// What is known of a case before it runs.
#pragma once

#include "backends/communicator.hpp"
#include "harness/schedule/planned_case.hpp"
#include "results/row/sample.hpp"

namespace strobe {

/// The case's result with every fact that does not depend on how it goes: its work, its bytes as planned, its
/// approximations and notes, and on a simulated cluster peaks, prices and the band of its predictions.
CaseResult empty_result(const PlannedCase& plan, const LaunchRequest& launch);

}  // namespace strobe
