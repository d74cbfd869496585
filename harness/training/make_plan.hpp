// Plans a case. The command line, the planner and tests call this.
#pragma once

#include <memory>

#include "core/data_cache.hpp"
#include "harness/schedule/planned_case.hpp"

namespace strobe {

/// Plans the case as its strategy's kind of training does. When the case leaves something open (nb=auto), this takes
/// the first choice that keeps every rank within the case's memory limit. A note names that choice. Nothing is
/// measured. Plans that are made with one cache share their data; without a cache, a plan shares nothing. Throws
/// InvalidRequest or InvalidInput. Throws Unavailable when the plan is to run in a world of another size.
std::shared_ptr<const PlannedCase> make_plan(const Case& request, PlanUse use = PlanUse::run,
                                             const DataCache& cache = {});

}  // namespace strobe
