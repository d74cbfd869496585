// The profiling epoch of chunk fusion (DGC, SIGMOD'23, section 5.1.1: what a chunk takes is found by a single
// execution): chunks are walked one by one, what each takes is measured, and they are merged by that.
#pragma once

#include <memory>

#include "harness/run/launch_request.hpp"
#include "harness/schedule/planned_case.hpp"

namespace strobe {

/// `plan` itself, unless its chunks are to be measured (FusionPlan::to_measure): then one epoch is trained as `launch`
/// says, from the weights that training begins with, on devices of its own, without memory_limit_gib; its updates are
/// dropped with them. Of several processes all must call it, and all get the same plan. Throws as launching does.
std::shared_ptr<const PlannedCase> with_measured_fusion(const std::shared_ptr<const PlannedCase>& plan,
                                                        const LaunchRequest& launch);

}  // namespace strobe
