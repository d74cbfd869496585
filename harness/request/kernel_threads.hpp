// How many threads the kernels of each rank compute with.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/request/case.hpp"

namespace strobe {

/// [ranks]: what the case asks for, or else the rank's share of the cores that it may use: of an externally launched
/// world among the ranks of its node, of threads this process's cores divided by the ranks; at least 1. All processes
/// of such a world must ask.
std::vector<std::int64_t> kernel_threads(const Case& c);

}  // namespace strobe
