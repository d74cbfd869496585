// Spatial fusion of chunks (DGC, SIGMOD'23, section 5.1.1, Fig. 8). Chunks of one rank that read the same cells are
// walked together, so these cells are loaded once.
// The pair that saves most is merged first, as long as the merged unit stays within a memory limit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "workloads/preparation/preprocess.hpp"

namespace strobe {

/// The cells and entries that chunks load.
struct ChunkLoads {
  /// [C] the cells of each chunk and the cells that its rows of A read, ascending, in any numbering of cells.
  std::vector<std::vector<std::int64_t>> cells;
  std::vector<std::int64_t> own;      // [C] number of the chunk's own cells
  std::vector<std::int64_t> entries;  // [C] non-zeros of its rows of A
  /// [C] bytes that each chunk was measured to take beyond UnitBytes. They may be negative. Empty when nothing was
  /// measured.
  std::vector<std::int64_t> beyond = {};
};

/// Returns the loads of the chunks [0, count). `of_cell` holds the chunk of each existing cell: vertex by vertex, each
/// vertex in order of time. Chunks that are not `wanted`, if any are named, load nothing. Cost O(non-zeros, log).
ChunkLoads loads_of_chunks(const PreparedGraph& graph, std::span<const std::uint32_t> of_cell, std::size_t count,
                           const std::vector<bool>& wanted = {});

/// Chunks cut at the borders of blocks of steps: a part is the cells of one chunk in one block.
struct CutChunks {
  Column<std::uint32_t> of_cell;     // [existing cells] part of each, vertex by vertex, each vertex in order of time
  std::vector<std::uint32_t> chunk;  // [parts] the chunk of each; block by block, in the order of chunks
  std::vector<std::size_t> first;    // [blocks + 1] first part of each block, and the number of parts
};

/// Cuts the chunks [0, count) at the borders of `blocks`, which follow each other and have all steps. A part has at
/// least one cell. If none is cut, `of_cell` is shared. Under a bound of memory (reading_bound.hpp) a large `of_cell`
/// lies in a temporary file. Cost O(cells + blocks * count).
CutChunks cut_chunks(const PreparedGraph& graph, const Column<std::uint32_t>& of_cell, std::size_t count,
                     std::span<const Run> blocks);

/// Bytes that a unit of chunks takes: for each cell that it loads, for each cell of its own, for each non-zero of its
/// rows.
struct UnitBytes {
  std::uint64_t loaded = 0, own = 0, entry = 0;
  std::uint64_t of(std::int64_t loaded_cells, std::int64_t own_cells, std::int64_t entries) const {
    return loaded * static_cast<std::uint64_t>(loaded_cells) + own * static_cast<std::uint64_t>(own_cells) +
           entry * static_cast<std::uint64_t>(entries);
  }
};

/// Returns the unit of each chunk, [C].
/// Each chunk begins as its own unit. Then the pair of units that shares most loaded cells is merged, again and again.
/// Only pairs that together take at most `limit_bytes` (0: any amount) are merged. The bytes of chunks beyond
/// UnitBytes add up. Ties go to the smaller first unit, then the smaller second one; a unit is named after its first
/// chunk. At the end units are numbered in the order of their first chunks.
/// Cost for pairs that share cells: O(loaded cells of merged units * units that share them, log). For pairs that share
/// none: at most O(C^2).
std::vector<std::uint32_t> fuse_chunks(const ChunkLoads& chunks, const UnitBytes& bytes, std::uint64_t limit_bytes);

}  // namespace strobe
