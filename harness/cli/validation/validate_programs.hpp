// `strobe validate --programs`: measures public programs of others on this machine and predicts them.
#pragma once

#include "harness/cli/validation/validation_run.hpp"

namespace strobe {

/// Throws InvalidRequest for unknown names in --programs and for options that do not go with it, and Unavailable without
/// the source tree.
void check_programs(const ValidateCommand& command);

/// Measures the programs of --programs and predicts them, in turn. Returns the exit status. Throws Unavailable without
/// the source tree or the programs' Python packages.
int validate_programs(const ValidateCommand& command);

}  // namespace strobe
