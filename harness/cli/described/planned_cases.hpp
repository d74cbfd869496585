// The plans that `strobe run --dry-run` prints.
#pragma once

#include "harness/measure/run_request.hpp"
#include "harness/process/world.hpp"

namespace strobe {

/// Prints the plans of the suite's cases and runs nothing. Returns the exit status. Every process plans, because a
/// partitioner may call MPI collectively; only the first one prints.
int dry_run(const RunRequest& request, Suite& suite, const World& world);

}  // namespace strobe
