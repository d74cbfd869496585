// The hypergraph whose cut is the communication of a vertex partition (ESDG section 4.1).
#pragma once

#include <cstdint>
#include <vector>

#include "core/ids.hpp"
#include "workloads/partitioners/row_share.hpp"
#include "workloads/preparation/preprocess.hpp"

namespace strobe {

/// Weighted vertices and weighted nets; a net is the ascending list of its vertices (pins), which may be any.
struct Hypergraph {
  Run vertices;                              // those that have weights here
  std::vector<std::int64_t> vertex_weights;  // [vertices.count]
  std::vector<std::int64_t> net_offsets;     // [nets + 1]
  std::vector<VertexId> pins;                // [net_offsets.back()]
  std::vector<std::int64_t> net_weights;     // [nets]

  std::int64_t nets() const { return static_cast<std::int64_t>(net_weights.size()); }
};

/// One net per vertex and step: the vertex and its readers at that step, which need its row of features. Nets with the
/// same pins are merged into one whose weight is their number. Nets of one pin are never cut and are left out. The
/// weight of a vertex is its work (`vertex_work`). For every partition, the sum over nets of weight (parts that it
/// touches - 1) is `connectivity_minus_one` of the graph. Cost O(nnz + T N) expected, memory O(N + distinct pins).
Hypergraph communication_hypergraph(const PreparedGraph& graph);
/// The weights of own vertices and the nets of the rows of these vertices.
Hypergraph communication_hypergraph(const RowShare& rows);

}  // namespace strobe
