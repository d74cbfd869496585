// The number of threads for the kernels of each rank.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/request/case.hpp"

namespace strobe {

/// [ranks]: the number that the case requests, or else the rank's share of the cores that it may use, at least 1. Ranks
/// of an externally launched world share the cores of their node. Ranks that are threads share this process's cores.
/// All processes of a launched world must call this.
std::vector<std::int64_t> kernel_threads(const Case& c);

}  // namespace strobe
