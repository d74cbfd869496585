// Partitioners: which part each vertex of a prepared graph belongs to.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ids.hpp"
#include "core/registry.hpp"
#include "workloads/preparation/preprocess.hpp"

namespace strobe {

struct PartitionerTag {
  static constexpr const char* kind = "partitioner";
  /// One part in [0, parts) per vertex [N], the same for all steps; every part is used when N >= parts. Depends on the
  /// graph's structure, `parts` and `seed` only.
  using Value = std::vector<Rank> (*)(const PreparedGraph& graph, int parts, std::uint64_t seed);
};
using PartitionerRegistry = Registry<PartitionerTag>;

}  // namespace strobe
