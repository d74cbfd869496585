// A prepared graph as a file that several processes map.
#pragma once

#include <memory>
#include <string>

#include "workloads/preparation/feature_scale.hpp"
#include "workloads/preparation/preprocess.hpp"
#include "workloads/storage/shared_parts.hpp"

namespace strobe {

/// Writes the graph that `prepare_scaled` would return, step by step. Processes that call this with the same arguments
/// at the same time share the steps; the file is the same, byte for byte, for any number of them. Memory: one step a
/// thread, and at most two a processor for all processes together. The file has no checksums and is not flushed to the
/// disk, because it only lives as long as the processes that share it. JointFile says which files lie next to it.
/// Throws what `prepare_scaled` throws, the same in every process, and SystemError when the file cannot be written.
void prepare_into(const FeatureScale& scale, const Preprocessing& what, std::int64_t steps, bool fp64,
                  const std::string& path, const BeginWait& begin_wait);

/// Maps a file of `prepare_into`; `keeper` lives as long as the mapping. `presence` is what was prepared with.
PreparedGraph read_prepared(const std::string& path, std::shared_ptr<const void> keeper,
                            std::shared_ptr<const Presence> presence);

}  // namespace strobe
