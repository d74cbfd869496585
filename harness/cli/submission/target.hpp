// Whether a row reached its target as it says.
#pragma once

#include <string>

#include "results/run/loaded_run.hpp"

namespace strobe {

/// "" when the row reached its target: its validation metric (or loss) says so, and its time is the sum of its epochs'
/// samples, each with its slowest rank. Else what is wrong, as the end of a sentence about the case.
std::string fault_of_target(const LoadedRun& run, const Row& row);

}  // namespace strobe
