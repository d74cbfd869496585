// Runs a tuned suite: first its trials, then its cases with the best settings.
#pragma once

#include <functional>

#include "harness/measure/tuning/tuning.hpp"
#include "harness/process/world.hpp"

namespace strobe {

/// Checks a suite and runs its cases into the request's directory. `prints`: the table goes to standard output.
/// Returns the exit status.
using RunSuite = std::function<int(RunRequest& request, Suite& suite, bool prints)>;

/// Whether the request tunes: by --tune, or by continuing a run whose trials are not over.
bool asks_for_tuning(const RunRequest& request);

/// Runs the trials of `suite` that have no row yet into trials/ of the run directory, and then the suite with the best
/// settings. All processes of `world` call this. Throws InvalidRequest when no trial of any family ended well.
int run_tuned(RunRequest& request, Suite& suite, const World& world, const RunSuite& run_suite);

/// The trials alone, for --dry-run.
Suite trials_to_show(const RunRequest& request, Suite& suite);

/// The request of the run in `folder` whose trials are not over, as trials/plan.json keeps it: {"tune", "cases",
/// "open", "outputs"}; null when there is none. Throws InvalidInput.
Json kept_tuning(const std::string& folder);

}  // namespace strobe
