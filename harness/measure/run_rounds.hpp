// `strobe run --rounds N`: runs every case in fresh processes, with all cases in turn.
#pragma once

#include <string>

#include "harness/measure/run_request.hpp"
#include "harness/process/world.hpp"
#include "harness/request/suite.hpp"
#include "results/run/run_directory.hpp"

namespace strobe {

/// Whether the request asks for more than one round. Throws InvalidRequest.
bool asks_for_rounds(const RunRequest& request);

/// Checks the request before the first case is measured, then runs the rounds. Returns the exit status.
int run_in_rounds(RunRequest& request, Suite& suite, const World& world);

/// The table of a run's rows, as wide as the terminal, and the answer to the question that they pose.
std::string table_on_terminal(const RunDirectory& directory);

}  // namespace strobe
