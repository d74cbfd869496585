// Files of facts over all steps that processes of a node share before they prepare a graph: which cells exist, and the
// mean and deviation of features.
#pragma once

#include <memory>
#include <string>

#include "workloads/graph/presence.hpp"
#include "workloads/preparation/feature_scale.hpp"
#include "workloads/storage/shared_parts.hpp"

namespace strobe {

/// Writes the presence that `presence_of` returns, step by step. `kind` is not `all`. Memory O(N). JointFile says which
/// files lie next to it.
void write_presence(const SnapshotGraph& graph, const std::string& kind, const std::string& path,
                    const BeginWait& begin_wait);

/// Maps a file of `write_presence`; `keeper` lives as long as the mapping.
std::shared_ptr<const Presence> read_presence(const std::string& path, std::shared_ptr<const void> keeper);

void write_measures(const FeatureMeasures& measures, const std::string& path);
FeatureMeasures read_measures(const std::string& path);

}  // namespace strobe
