// The profiling epoch of chunk fusion (DGC, SIGMOD'23, section 5.1.1): one epoch walks the chunks one by one and
// measures the memory of each. Chunks are then fused by these sizes.
#pragma once

#include <memory>

#include "harness/run/launch_request.hpp"
#include "harness/schedule/planned_case.hpp"

namespace strobe {

/// The case of that epoch, in which chunks are walked one by one; null unless `plan` is to be measured. All processes
/// must call it.
std::shared_ptr<const PlannedCase> measuring_case(const PlannedCase& plan);

/// Returns `plan` itself, unless its chunks are to be measured (FusionPlan::to_measure).
/// In that case it trains one epoch as `launch` says, from the initial weights, on devices of its own and without
/// memory_limit_gib. The updates of this epoch are dropped.
/// All processes must call it. All plan the same, and each keeps its own part. Throws as launching does.
std::shared_ptr<const PlannedCase> with_measured_fusion(const std::shared_ptr<const PlannedCase>& plan,
                                                        const LaunchRequest& launch);

}  // namespace strobe
