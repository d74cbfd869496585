// From the ids of a file to dense vertex numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/reading/events/event_block.hpp"

namespace strobe {

/// Replaces the ids in `blocks` by vertex numbers 0, 1, ... in ascending order of the ids, 4 bytes each, and returns
/// the ids [vertices]. Throws InvalidInput about `path` when there are more than 2^31 - 1 distinct ids.
std::vector<std::int64_t> number_vertices(std::vector<EventBlock>& blocks, const std::string& path);

}  // namespace strobe
