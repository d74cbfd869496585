// The vertices of other ranks that each rank keeps, so that no vertex crosses ranks while batches are trained (DynaHB,
// VLDB'24, section 4.1; reading D20 of the project's decisions).
#pragma once

#include <cstdint>
#include <vector>

#include "core/ids.hpp"
#include "harness/hybrid_batches/encoding/frontier.hpp"
#include "models/tasks/task.hpp"

namespace strobe {

/// The vertices that one rank holds. Bytes are those of the one distribution before training: row offsets, entries
/// (column and value) of the rows that a batch may read, and the features of all cells that exist.
struct CachedVertices {
  std::vector<VertexId> owned, cached;  // ascending; `cached` ones belong to other ranks
  std::uint64_t owned_structure_bytes = 0, owned_feature_bytes = 0;
  std::uint64_t cached_structure_bytes = 0, cached_feature_bytes = 0;
  std::uint64_t bytes() const {
    return owned_structure_bytes + owned_feature_bytes + cached_structure_bytes + cached_feature_bytes;
  }
};

/// The vertices that `rank` holds if it owns those with owner[v] == rank, and its samples also read `others` (in any
/// order). It holds every vertex within the model's hops of one of these, in the union of the graph's first `steps`
/// steps. Hops go in the directions that the model's products read, which `source.inputs` and its supports give. So any
/// batch of its own vertices, of up to `window` steps, finds all cells that it reads. Under FrontierKind::exact, a
/// layer that goes step by step makes its hops in every step of a window. A first product that was computed before
/// needs no hop. Cost O(N + entries of the rows reached). Throws InvalidRequest for a graph that is known by its shape
/// only.
CachedVertices cached_vertices(const BatchSource& source, const std::vector<Rank>& owner, Rank rank,
                               const std::vector<VertexId>& others, std::int64_t steps, std::int64_t window);

/// The vertices of other ranks that samples of `rank` read, ascending. A sample belongs to the owner of its first
/// vertex, a candidate to the owner of its edge's. Cost O(n log n).
std::vector<VertexId> others_of(const Samples& samples, const std::vector<Rank>& owner, Rank rank);

/// Vertices that all ranks hold, over the number of vertices: 1 if nothing is cached.
double duplication(const std::vector<CachedVertices>& ranks, std::int64_t vertices);

}  // namespace strobe
