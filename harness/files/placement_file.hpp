// Who owns which cell, as a file: for whoever wants to judge a partition, or to draw it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/placement/placement.hpp"
#include "workloads/partitioners/load_aware.hpp"

namespace strobe {

/// Writes `step,vertex,rank,temporal_rank` as CSV, atomically: the owner of a cell in the spatial stages and in the
/// temporal ones; behind them `chunk` where there are chunks, `chunk_of_cell` [existing cells] vertex by vertex, or
/// `load,group` of the vertex where they were shared out by `loads`. The step is empty where a line holds for all steps
/// of its vertex. Vertices are rows of the embeddings (`ids_path` of vertex_ids.hpp lists the file's own). Throws
/// SystemError.
void write_placement_file(const std::string& path, const Placement& spatial, const Placement& temporal,
                          const std::vector<std::uint32_t>* chunk_of_cell = nullptr,
                          const VertexLoads* loads = nullptr);

}  // namespace strobe
