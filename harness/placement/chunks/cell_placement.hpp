// Placements that name the owner of every single cell.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "harness/placement/chunks/super_graph.hpp"
#include "harness/placement/placement.hpp"
#include "workloads/storage/growing_column.hpp"

namespace strobe {

/// From the owner of each vertex at each step. Consecutive steps with the same owners share one map. Lists the vertices
/// of `listed` owners.
Placement place_by_step(std::vector<Column<Rank>> owner_of_step, std::int64_t vertices, int owners,
                        const Run& listed = all_owners);

/// The owner of each vertex at each step: owner_of(node) of a cell, -1 where it does not exist. Cost O(T N). Under a
/// bound of memory (reading_bound.hpp) many cells lie in one temporary file.
template <class OwnerOf>
std::vector<Column<Rank>> owners_by_step(const PreparedGraph& graph, const OwnerOf& owner_of) {
  const auto vertices = static_cast<std::size_t>(graph.vertices), steps = static_cast<std::size_t>(graph.steps);
  std::vector<Column<Rank>> of_step;
  if (GrowingColumn<Rank>::leaves_memory(steps * vertices, reading_bound())) {
    GrowingColumn<Rank> owner(steps * vertices, reading_bound());
    std::fill(owner.begin(), owner.end(), -1);
    for_cells(graph, [&](NodeId node, VertexId v, Step t) {
      owner[static_cast<std::size_t>(t) * vertices + static_cast<std::size_t>(v)] = owner_of(node);
    });
    const Column<Rank> whole = owner.finish();
    for (std::size_t t = 0; t < steps; ++t) of_step.push_back(whole.part(t * vertices, vertices));
    return of_step;
  }
  std::vector<std::vector<Rank>> owner(steps, std::vector<Rank>(vertices, -1));
  for_cells(graph, [&](NodeId node, VertexId v, Step t) { owner[t][v] = owner_of(node); });
  for (std::vector<Rank>& step : owner) of_step.emplace_back(std::move(step));
  return of_step;
}

/// Places each existing cell on owner_of(its node), one of `owners`.
template <class OwnerOf>
Placement place_cells(const PreparedGraph& graph, int owners, const OwnerOf& owner_of, const Run& listed = all_owners) {
  return place_by_step(owners_by_step(graph, owner_of), graph.vertices, owners, listed);
}

}  // namespace strobe
