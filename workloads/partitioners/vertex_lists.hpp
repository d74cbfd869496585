// The graph merged over its steps, as lists of neighbours of a run of vertices.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ids.hpp"
#include "workloads/partitioners/row_share.hpp"
#include "workloads/preparation/preprocess.hpp"

namespace strobe {

/// Neighbours at either end of the edges of some vertices, without the vertices themselves. A list ascends. The weight
/// of a neighbour is the number of entries of all steps between the two, in both directions.
struct VertexLists {
  Run vertices;                       // those that have lists here
  std::vector<std::int64_t> offsets;  // [vertices.count + 1]
  std::vector<VertexId> neighbours;   // [offsets.back()]
  std::vector<std::int32_t> weights;  // [offsets.back()]
  std::vector<std::int64_t> work;     // [vertices.count], of vertex_work()
};

/// Lists of `vertices`. Cost O(nnz) to read all entries, and O(d log d) to sort the d entries of each vertex of the
/// run. Memory: 4 bytes for each entry at one of these vertices, and the lists.
VertexLists merged_lists(const PreparedGraph& graph, Run vertices);
/// The same of own vertices of a share, from its entries alone.
VertexLists merged_lists(const RowShare& rows, Run vertices);

}  // namespace strobe
