// Placements: which rank owns which cell (v, t) of a dynamic graph. Everything that ranks exchange is derived from two
// of them, the spatial and the temporal one.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "core/ids.hpp"
#include "workloads/graph/presence.hpp"
#include "workloads/storage/column.hpp"

namespace strobe {

/// The owners of the vertices of one step: a single rank, one rank per vertex, or none. A vertex without an existing
/// cell has no owner. Each rank's vertices are kept as ascending runs. A single owner stores one rank's data only;
/// otherwise P maps would take O(P^2) memory.
struct VertexMap {
  Rank single = -1;                       // >= 0: this rank owns every vertex
  Column<Rank> owner;                     // [N] when single < 0, with -1: no owner; [0] when no vertex has an owner
  std::vector<std::vector<Run>> owned;    // [P] vertex runs of each rank; [1] of a single owner, [0] without owners;
                                          // in the plan of one rank those of others may be missing
  std::vector<std::int64_t> owned_count;  // [P] vertices of each rank; [1] of a single owner, [0] without owners
  Rank owner_of(VertexId v) const { return single >= 0 ? single : owner[v]; }
  /// The vertices of one rank.
  const std::vector<Run>& runs_of(Rank rank) const;
  std::int64_t count_of(Rank rank) const;
  /// visit(rank, its number of vertices) of the ranks that own some, ascending.
  template <class Visit>
  void for_owners(const Visit& visit) const {
    for (std::size_t i = 0; i < owned_count.size(); ++i) {
      if (owned_count[i] > 0) visit(single >= 0 ? single : static_cast<Rank>(i), owned_count[i]);
    }
  }
};

/// Owners whose vertices a map lists: all of them, or only one.
inline constexpr Run all_owners{0, std::numeric_limits<std::int32_t>::max()};
inline Run listed_owners(std::optional<Rank> only) { return only ? Run{*only, 1} : all_owners; }

/// A map in which `rank` owns all vertices.
std::shared_ptr<const VertexMap> single_owner_map(std::int64_t vertices, Rank rank);
/// From one owner per vertex, each in [0, ranks). Lists the runs of `listed` owners.
std::shared_ptr<const VertexMap> vertex_map(std::vector<Rank> owner, int ranks, const Run& listed = all_owners);
/// The same when vertices may lack an owner (-1).
std::shared_ptr<const VertexMap> partial_vertex_map(Column<Rank> owner, int ranks, const Run& listed = all_owners);

/// A placement: one vertex map per step; steps share maps. Local order on a rank is time-major, vertices ascending:
/// the rows of step t are the owned vertices of that step, in order.
struct Placement {
  int ranks = 1;
  std::int64_t vertices = 0;
  std::vector<std::shared_ptr<const VertexMap>> maps;  // distinct maps
  std::vector<std::int32_t> map_of_step;               // [T]

  std::int64_t steps() const { return static_cast<std::int64_t>(map_of_step.size()); }
  const VertexMap& map(Step t) const { return *maps[map_of_step[t]]; }
  Rank owner(VertexId v, Step t) const { return map(t).owner_of(v); }
  /// Rows that `rank` holds of step t.
  std::int64_t step_rows(Rank rank, Step t) const { return map(t).count_of(rank); }
  /// First local row of each step on `rank`, and the total number of rows at the end: [T + 1].
  std::vector<std::int64_t> row_offsets(Rank rank) const;
  std::int64_t rows(Rank rank) const;
  /// Whether every vertex keeps its owner over all steps, so that timelines lie whole on one rank.
  bool keeps_timelines() const { return maps.size() == 1; }
  /// Whether every cell has an owner.
  bool has_all_cells() const;
};

/// Steps to ranks: owner[t] owns all vertices of step t.
Placement by_time(std::int64_t vertices, const std::vector<Rank>& owner_of_step, int ranks);
/// Vertices to ranks, the same at every step. A redistribution from or to whole steps needs the runs of all owners.
Placement by_vertex(std::vector<Rank> owner_of_vertex, std::int64_t steps, int ranks, const Run& listed = all_owners);

/// Removes the owners of cells that do not exist, from both placements of a strategy. If both share a map at a step,
/// they still share it afterwards. New maps list the runs of `listed` owners. Cost O(T N).
void leave_out_missing(const Presence& presence, Placement& spatial, Placement& temporal,
                       const Run& listed = all_owners);

/// The placement of `steps` alone: its step i is steps[i] of `placement`.
Placement of_steps(const Placement& placement, const std::vector<Step>& steps);

/// first, first + 1, ... (`count` of them).
std::vector<Step> step_range(std::int64_t first, std::int64_t count);

/// Owner of each of `count` items when ranks get even contiguous shares.
std::vector<Rank> contiguous_owners(std::int64_t count, int ranks);

/// Position of every vertex among the vertices that its owner holds under `map`: [N]; 0 for vertices without an owner.
std::vector<std::int64_t> positions_in_owner(const VertexMap& map, std::int64_t vertices);

}  // namespace strobe
