#include "harness/placement/local_rows.hpp"

#include <algorithm>
#include <utility>

namespace strobe {

LocalRows::LocalRows(const Placement& placement)
    : placement_(placement), steps_(static_cast<std::size_t>(placement.ranks)), position_of_(placement.maps.size()) {}

LocalRows::LocalRows(const Placement& placement, Rank only) : LocalRows(placement) { only_ = only; }

const StepRows& LocalRows::of_steps(Rank rank) {
  std::optional<StepRows>& steps = steps_[rank];
  if (!steps) steps = placement_.row_offsets(rank);
  return *steps;
}

std::int64_t LocalRows::row(VertexId v, Step t) {
  const auto step = static_cast<std::size_t>(t), vertex = static_cast<std::size_t>(v);
  const VertexMap& map = placement_.map(t);
  if (only_ >= 0 && map.owner_of(v) != only_) return 0;
  const std::int64_t first = of_steps(map.owner_of(v))[step];
  if (map.single >= 0) return first + v;
  if (only_ >= 0) return first + position_in_runs(v, t);
  std::vector<std::int64_t>& position = position_of_[placement_.map_of_step[step]];
  if (position.empty()) position = positions_in_owner(map, placement_.vertices);
  return first + position[vertex];
}

std::int64_t LocalRows::position_in_runs(VertexId v, Step t) {
  const std::vector<Run>& runs = placement_.map(t).runs_of(only_);
  std::vector<std::int64_t>& position = position_of_[placement_.map_of_step[t]];
  if (position.empty()) {
    position.reserve(runs.size());
    std::int64_t next = 0;
    for (const Run& run : runs) position.push_back(std::exchange(next, next + run.count));
  }
  const auto after = std::upper_bound(runs.begin(), runs.end(), std::int64_t{v},
                                      [](std::int64_t vertex, const Run& run) { return vertex < run.first; });
  const std::size_t run = static_cast<std::size_t>(after - runs.begin()) - 1;
  return position[run] + v - runs[run].first;
}

std::vector<std::int64_t> rows_of_ranks(const Placement& placement) {
  std::vector<std::int64_t> rows(placement.ranks, 0);
  for (Step t = 0; t < placement.steps(); ++t) {
    placement.map(t).for_owners([&rows](Rank rank, std::int64_t own) { rows[rank] += own; });
  }
  return rows;
}

}  // namespace strobe
