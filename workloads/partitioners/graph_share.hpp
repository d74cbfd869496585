// The seam of partitioners that run in parts: several processes partition one graph, and each sees its share alone.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/ids.hpp"
#include "workloads/partitioners/hypergraph.hpp"
#include "workloads/partitioners/share_holders.hpp"
#include "workloads/partitioners/vertex_lists.hpp"
#include "workloads/preparation/preprocess.hpp"

namespace strobe {

/// The part of a graph that one process reads. Shares are runs of vertices that ascend by rank and cover the graph.
struct GraphShare {
  std::int64_t vertices = 0;  // of the whole graph
  Run own;                    // vertices of this share
  std::int64_t work = 0;      // of the own vertices
  std::int64_t edges = 0;     // entries of own rows between two different vertices
  /// The merged lists of some own vertices.
  std::function<VertexLists(Run)> lists;
  /// The nets of own vertices, and the work of these vertices.
  std::function<Hypergraph()> nets;
  const ShareHolders& holders;
};

/// The share of one of `holders`; all call it. It reads its own rows of `graph`, which memory or a mapped file may
/// hold. `graph` and `holders` must outlive it.
GraphShare share_of(const PreparedGraph& graph, const ShareHolders& holders);

}  // namespace strobe
