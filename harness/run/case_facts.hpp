// The facts of a case that are known before it runs.
#pragma once

#include "backends/communicator.hpp"
#include "harness/schedule/planned_case.hpp"
#include "results/row/sample.hpp"

namespace strobe {

/// The case's result with every fact that does not depend on the run: work, planned bytes, approximations and notes.
/// On a simulated cluster it also has peaks, prices and the band of its predictions.
CaseResult empty_result(const PlannedCase& plan, const LaunchRequest& launch);

}  // namespace strobe
