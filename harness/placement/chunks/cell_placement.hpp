// Placements that name the owner of every single cell.
#pragma once

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "harness/placement/chunks/super_graph.hpp"
#include "harness/placement/placement.hpp"

namespace strobe {

/// Places each existing cell on owner_of(its node), one of `owners`. Cells that do not exist have no owner. Consecutive
/// steps with the same owners share one map. Cost O(T N).
template <class OwnerOf>
Placement place_cells(const PreparedGraph& graph, int owners, const OwnerOf& owner_of) {
  std::vector<std::vector<Rank>> owner(graph.steps, std::vector<Rank>(graph.vertices, -1));
  for_cells(graph, [&](NodeId node, VertexId v, Step t) { owner[t][v] = owner_of(node); });
  Placement placement{owners, graph.vertices, {}, {}};
  for (std::size_t t = 0; t < owner.size(); ++t) {
    if (t == 0 || owner[t] != owner[t - 1]) placement.maps.push_back(nullptr);
    placement.map_of_step.push_back(static_cast<std::int32_t>(placement.maps.size()) - 1);
  }
  for (std::size_t t = owner.size(); t-- > 0;) {
    auto& map = placement.maps[placement.map_of_step[t]];
    if (map != nullptr) continue;
    const bool alike = std::adjacent_find(owner[t].begin(), owner[t].end(), std::not_equal_to<>()) == owner[t].end();
    map = alike && owner[t].front() >= 0 ? single_owner_map(graph.vertices, owner[t].front())
                                         : partial_vertex_map(std::move(owner[t]), owners);
  }
  return placement;
}

}  // namespace strobe
