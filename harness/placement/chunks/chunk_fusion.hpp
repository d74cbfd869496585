// Spatial fusion of chunks (DGC, SIGMOD'23, section 5.1.1, Fig. 8): chunks of one rank that read the same cells are
// walked together, so that these are loaded once. The pair that saves most is merged first, while what is merged keeps
// within a limit of memory.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/preparation/preprocess.hpp"

namespace strobe {

/// What chunks load.
struct ChunkLoads {
  /// [C] the cells that each chunk's rows of A read and those that it has, by any number that cells have, ascending.
  std::vector<std::vector<std::int64_t>> cells;
  std::vector<std::int64_t> own;      // [C] cells that it has
  std::vector<std::int64_t> entries;  // [C] non-zeros of its rows of A
  /// [C] bytes that each was measured to take beyond UnitBytes, which may be negative; empty: nothing was measured.
  std::vector<std::int64_t> beyond = {};
};

/// What each of the chunks [0, count) loads, from the chunk of each existing cell, vertex by vertex, a vertex's in
/// order of time. Cost O(non-zeros, log).
ChunkLoads loads_of_chunks(const PreparedGraph& graph, const std::vector<std::uint32_t>& of_cell, std::size_t count);

/// Bytes that a unit of chunks takes: of each cell that it loads, of each that it has, of each non-zero of its rows.
struct UnitBytes {
  std::uint64_t loaded = 0, own = 0, entry = 0;
  std::uint64_t of(std::int64_t loaded_cells, std::int64_t own_cells, std::int64_t entries) const {
    return loaded * static_cast<std::uint64_t>(loaded_cells) + own * static_cast<std::uint64_t>(own_cells) +
           entry * static_cast<std::uint64_t>(entries);
  }
};

/// The unit of each chunk, [C]. Each chunk begins as a unit. As long as there is one, the pair of units is merged that
/// shares most loaded cells among those that would take at most `limit_bytes` together (0: any amount), where what
/// chunks take beyond UnitBytes adds up; of ties the smaller first unit, then the smaller second one, a unit being
/// called by its first chunk. Units are then numbered in the order of their first chunks. Cost O(loaded cells of merged
/// units * units that share them, log) for pairs that share cells, O(C^2) at most for those that share none.
std::vector<std::uint32_t> fuse_chunks(const ChunkLoads& chunks, const UnitBytes& bytes, std::uint64_t limit_bytes);

}  // namespace strobe
