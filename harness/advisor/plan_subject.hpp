// The first lines of a plan: what was priced.
#pragma once

#include <string>

#include "harness/advisor/plan_report.hpp"

namespace strobe {

/// The workload, each model with its sizes, task, precision and memory limit, one line each. A width that nobody asked
/// for is marked, because the defaults are those of tests. Also says when points of several models do not compare.
std::string subject_text(const PlanReport& report);

}  // namespace strobe
