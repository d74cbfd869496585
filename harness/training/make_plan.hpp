// Plans a case: what the command line, the planner and tests call.
#pragma once

#include <memory>

#include "core/data_cache.hpp"
#include "harness/schedule/planned_case.hpp"

namespace strobe {

/// Plans the case as its strategy's kind of training does. Where the case leaves something open (nb=auto), the first
/// choice that keeps every rank within the case's memory limit is taken, and a note says which. Throws InvalidRequest
/// or InvalidInput, and Unavailable where a plan to run meets a world of another size; nothing is measured. Plans that
/// are made with one cache share their data; without one, a plan shares nothing.
std::shared_ptr<const PlannedCase> make_plan(const Case& request, PlanUse use = PlanUse::run,
                                             const DataCache& cache = {});

}  // namespace strobe
