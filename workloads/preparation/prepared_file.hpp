// A prepared graph as a file that several processes map.
#pragma once

#include <memory>
#include <string>

#include "workloads/preparation/feature_scale.hpp"
#include "workloads/preparation/preprocess.hpp"

namespace strobe {

/// Writes the graph that `prepare_scaled` would return, step by step. Memory: one block of steps. The file has no
/// checksums and is not flushed to the disk, because it only lives as long as the processes that share it. Throws what
/// `prepare_scaled` throws, and SystemError when the file cannot be written.
void prepare_into(const FeatureScale& scale, const Preprocessing& what, std::int64_t steps, bool fp64,
                  const std::string& path);

/// Maps a file of `prepare_into`; `keeper` lives as long as the mapping. `presence` is what was prepared with.
PreparedGraph read_prepared(const std::string& path, std::shared_ptr<const void> keeper,
                            std::shared_ptr<const Presence> presence);

}  // namespace strobe
