// Who owns which cell, as a file: for whoever wants to judge a partition, or to draw it.
#pragma once

#include <string>

#include "harness/placement/placement.hpp"

namespace strobe {

/// Writes `step,vertex,rank,temporal_rank` as CSV, atomically: the owner of a cell in the spatial stages and in the
/// temporal ones. The step is empty where a line holds for all steps of its vertex. Vertices are rows of the embeddings
/// (`ids_path` of sample_file.hpp lists the file's own). Throws SystemError.
void write_placement_file(const std::string& path, const Placement& spatial, const Placement& temporal);

}  // namespace strobe
