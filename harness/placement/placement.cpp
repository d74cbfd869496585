#include "harness/placement/placement.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "core/errors.hpp"

namespace strobe {

const std::vector<Run>& VertexMap::runs_of(Rank rank) const {
  static const std::vector<Run> none;
  if (single >= 0) return rank == single ? owned[0] : none;
  return owned.empty() ? none : owned[rank];
}

std::int64_t VertexMap::count_of(Rank rank) const {
  if (single >= 0) return rank == single ? owned_count[0] : 0;
  return owned_count.empty() ? 0 : owned_count[rank];
}

std::shared_ptr<const VertexMap> single_owner_map(std::int64_t vertices, Rank rank) {
  auto map = std::make_shared<VertexMap>();
  map->single = rank;
  map->owned.resize(1);
  if (vertices > 0) map->owned[0] = {{0, vertices}};
  map->owned_count = {vertices};
  return map;
}

std::shared_ptr<const VertexMap> vertex_map(std::vector<Rank> owner, int ranks, const Run& listed) {
  if (std::any_of(owner.begin(), owner.end(), [](Rank rank) { return rank < 0; }))
    throw Error("placement: a vertex has no rank");
  return partial_vertex_map(std::move(owner), ranks, listed);
}

std::shared_ptr<const VertexMap> partial_vertex_map(Column<Rank> owner, int ranks, const Run& listed) {
  auto map = std::make_shared<VertexMap>();
  map->owned.resize(ranks);
  map->owned_count.assign(ranks, 0);
  for (std::size_t v = 0; v < owner.size(); ++v) {
    if (owner[v] < 0) continue;
    if (owner[v] >= ranks) throw Error("placement: a vertex has no rank");
    ++map->owned_count[owner[v]];
    if (owner[v] < listed.first || owner[v] >= listed.first + listed.count) continue;
    std::vector<Run>& runs = map->owned[owner[v]];
    const std::int64_t vertex = v;
    if (!runs.empty() && runs.back().first + runs.back().count == vertex) {
      ++runs.back().count;
    } else {
      runs.push_back({vertex, 1});
    }
  }
  map->owner = std::move(owner);
  return map;
}

std::vector<std::int64_t> Placement::row_offsets(Rank rank) const {
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(steps()) + 1, 0);
  for (Step t = 0; t < steps(); ++t) {
    offsets[static_cast<std::size_t>(t) + 1] = offsets[t] + step_rows(rank, t);
  }
  return offsets;
}

std::int64_t Placement::rows(Rank rank) const {
  std::int64_t rows = 0;
  for (Step t = 0; t < steps(); ++t) rows += step_rows(rank, t);
  return rows;
}

bool Placement::has_all_cells() const {
  for (const auto& map : maps) {
    std::int64_t owned = 0;
    map->for_owners([&owned](Rank, std::int64_t count) { owned += count; });
    if (owned != vertices) return false;
  }
  return true;
}

namespace {

bool has_owners_as_cells_exist(const Presence& presence, const VertexMap& map, Step t) {
  if (map.single >= 0) return false;
  for (std::size_t v = 0; v < map.owner.size(); ++v)
    if (map.owner[v] >= 0 && !presence.exists(static_cast<VertexId>(v), t)) return false;
  return true;
}

/// `map` without the vertices that do not exist at step t.
std::shared_ptr<const VertexMap> existing_only(const Presence& presence, const std::shared_ptr<const VertexMap>& map,
                                               Step t, int ranks, const Run& listed) {
  if (presence.count(t) == presence.vertices() || has_owners_as_cells_exist(presence, *map, t)) return map;
  std::vector<Rank> owner(presence.vertices(), -1);
  for (std::size_t v = 0; v < owner.size(); ++v) {
    if (presence.exists(static_cast<VertexId>(v), t)) owner[v] = map->owner_of(static_cast<VertexId>(v));
  }
  return partial_vertex_map(std::move(owner), ranks, listed);
}

/// A placement of one map per step. Consecutive steps with the same map share it.
Placement of_maps(const Placement& like, const std::vector<std::shared_ptr<const VertexMap>>& map_of_step) {
  Placement placement{like.ranks, like.vertices, {}, {}};
  std::map<const VertexMap*, std::int32_t> number;
  for (const auto& map : map_of_step) {
    const auto [at, fresh] = number.try_emplace(map.get(), static_cast<std::int32_t>(placement.maps.size()));
    if (fresh) placement.maps.push_back(map);
    placement.map_of_step.push_back(at->second);
  }
  return placement;
}

}  // namespace

void leave_out_missing(const Presence& presence, Placement& spatial, Placement& temporal, const Run& listed) {
  std::vector<std::shared_ptr<const VertexMap>> of_spatial, of_temporal;
  const auto at = [](const Placement& placement, Step t) { return placement.maps[placement.map_of_step[t]]; };
  for (Step t = 0; t < spatial.steps(); ++t) {
    of_spatial.push_back(existing_only(presence, at(spatial, t), t, spatial.ranks, listed));
    const bool same = at(spatial, t) == at(temporal, t);
    of_temporal.push_back(same ? of_spatial.back()
                               : existing_only(presence, at(temporal, t), t, temporal.ranks, listed));
  }
  spatial = of_maps(spatial, of_spatial);
  temporal = of_maps(temporal, of_temporal);
}

Placement by_time(std::int64_t vertices, const std::vector<Rank>& owner_of_step, int ranks) {
  Placement placement;
  placement.ranks = ranks;
  placement.vertices = vertices;
  std::vector<std::int32_t> map_of_rank(ranks, -1);
  for (const Rank rank : owner_of_step) {
    std::int32_t& map = map_of_rank.at(rank);
    if (map < 0) {
      map = static_cast<std::int32_t>(placement.maps.size());
      placement.maps.push_back(single_owner_map(vertices, rank));
    }
    placement.map_of_step.push_back(map);
  }
  return placement;
}

Placement by_vertex(std::vector<Rank> owner_of_vertex, std::int64_t steps, int ranks, const Run& listed) {
  Placement placement;
  placement.ranks = ranks;
  placement.vertices = static_cast<std::int64_t>(owner_of_vertex.size());
  placement.maps.push_back(vertex_map(std::move(owner_of_vertex), ranks, listed));
  placement.map_of_step.assign(steps, 0);
  return placement;
}

Placement of_steps(const Placement& placement, const std::vector<Step>& steps) {
  Placement part;
  part.ranks = placement.ranks;
  part.vertices = placement.vertices;
  std::vector<std::int32_t> new_map(placement.maps.size(), -1);
  for (const Step t : steps) {
    const std::size_t old_map = placement.map_of_step[t];
    if (new_map[old_map] < 0) {
      new_map[old_map] = static_cast<std::int32_t>(part.maps.size());
      part.maps.push_back(placement.maps[old_map]);
    }
    part.map_of_step.push_back(new_map[old_map]);
  }
  return part;
}

std::vector<Step> step_range(std::int64_t first, std::int64_t count) {
  std::vector<Step> steps(count);
  std::iota(steps.begin(), steps.end(), static_cast<Step>(first));
  return steps;
}

std::vector<Rank> contiguous_owners(std::int64_t count, int ranks) {
  std::vector<Rank> owners;
  owners.reserve(count);
  for (Rank rank = 0; rank < ranks; ++rank) {
    owners.insert(owners.end(), static_cast<std::size_t>(even_share(count, ranks, rank).count), rank);
  }
  return owners;
}

std::vector<std::int64_t> positions_in_owner(const VertexMap& map, std::int64_t vertices) {
  std::vector<std::int64_t> positions(vertices);
  if (map.single >= 0) {
    std::iota(positions.begin(), positions.end(), std::int64_t{0});
    return positions;
  }
  std::vector<std::int64_t> next(map.owned.size(), 0);
  for (std::size_t v = 0; v < map.owner.size(); ++v) {
    if (map.owner[v] >= 0) positions[v] = next[map.owner[v]]++;
  }
  return positions;
}

}  // namespace strobe
