// The predictions of `strobe plan`, pledged before anybody measures.
#pragma once

#include <string>

#include "harness/advisor/plan_report.hpp"
#include "harness/cli/command.hpp"

namespace strobe {

/// Adds --pledge, whose file is stored in `path`.
void add_pledge_option(CommandOptions& options, std::string& path);

/// Refuses a file that exists, or cannot be written. An empty path passes.
void check_pledge_path(const std::string& path);

/// Writes the points with a prediction: those that are ok and those that do not fit the device. Says so on standard
/// error. Does nothing for an empty path. Throws like check_pledge_path, and SystemError.
void pledge_plan(const PlanReport& report, const std::string& path);

}  // namespace strobe
