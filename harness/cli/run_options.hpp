// The options of `strobe run`.
#pragma once

#include "harness/cli/command.hpp"
#include "harness/measure/run_request.hpp"

namespace strobe {

/// Declares the options of `strobe run`. Parsing stores their values in `request`.
void define_run_options(CommandOptions& options, RunRequest& request);

}  // namespace strobe
