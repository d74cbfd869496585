// Files with the owner of each cell: written for readers who want to judge or draw a partition, and read to train with
// the partition of somebody else.
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

/// A line of such a file. `number` counts the file's lines from 1. `step` is -1 where the line holds for all steps.
struct OwnerLine {
  std::int64_t number = 0, step = -1, vertex = 0, rank = 0, temporal_rank = 0;
};

struct CellOwners {
  std::string path;
  std::vector<OwnerLine> lines;
};

/// Reads the columns `step,vertex,rank` and, where the header has it next, `temporal_rank`, which is the rank itself
/// without that column. Further columns are ignored. Throws InvalidRequest for "/strategy/owners" with the file's line.
CellOwners read_placement_file(const std::string& path);

}  // namespace strobe
