// Writes the owner of each cell to a file, for readers who want to judge or draw a partition.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/placement/placement.hpp"
#include "workloads/partitioners/load_aware.hpp"

namespace strobe {

/// Writes `step,vertex,rank,temporal_rank` as CSV, atomically: the owner of a cell in the spatial stages and in the
/// temporal ones. Chunks add the column `chunk` from `chunk_of_cell`, which lists the existing cells vertex by vertex.
/// `loads` add the vertex's `load,group`. A line with an empty step holds for all steps of its vertex. Vertices are
/// rows of the embeddings; the file of `ids_path` (vertex_ids.hpp) maps them to the input's vertices. Throws
/// SystemError.
void write_placement_file(const std::string& path, const Placement& spatial, const Placement& temporal,
                          const Column<std::uint32_t>* chunk_of_cell = nullptr, const VertexLoads* loads = nullptr);

}  // namespace strobe
