// From the ids of a file to dense vertex numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/ids.hpp"
#include "workloads/reading/events/event_block.hpp"
#include "workloads/storage/column.hpp"

namespace strobe {

/// Replaces the ids in `blocks` by vertex numbers 0, 1, ... in ascending order of the ids, 4 bytes each, and returns
/// the ids [vertices]. Throws InvalidInput about `path` when there are more than 2^31 - 1 distinct ids.
std::vector<std::int64_t> number_vertices(std::vector<EventBlock>& blocks, const std::string& path);

/// All ids of several parts of a file.
struct MergedIds {
  Column<std::int64_t> ids;               // [vertices] ascending
  std::vector<Column<VertexId>> numbers;  // of each part: the vertices of its ids
};

/// Merges the ids of parts, each ascending and distinct, into new pages. Throws as `number_vertices` does. Cost: O(n
/// log parts), twice.
MergedIds merge_ids(const std::vector<Column<std::int64_t>>& parts, const std::string& path);

}  // namespace strobe
