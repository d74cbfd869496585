#include "harness/placement/local_rows.hpp"

namespace strobe {

LocalRows::LocalRows(const Placement& placement)
    : placement_(placement), steps_(static_cast<std::size_t>(placement.ranks)), position_of_(placement.maps.size()) {}

const StepRows& LocalRows::of_steps(Rank rank) {
  std::optional<StepRows>& steps = steps_[rank];
  if (!steps) steps = placement_.row_offsets(rank);
  return *steps;
}

std::int64_t LocalRows::row(VertexId v, Step t) {
  const auto step = static_cast<std::size_t>(t), vertex = static_cast<std::size_t>(v);
  const VertexMap& map = placement_.map(t);
  const std::int64_t first = of_steps(map.owner_of(v))[step];
  if (map.single >= 0) return first + v;
  std::vector<std::int64_t>& position = position_of_[placement_.map_of_step[step]];
  if (position.empty()) position = positions_in_owner(map, placement_.vertices);
  return first + position[vertex];
}

std::vector<std::int64_t> rows_of_ranks(const Placement& placement) {
  std::vector<std::int64_t> rows(placement.ranks, 0);
  for (Step t = 0; t < placement.steps(); ++t) {
    placement.map(t).for_owners([&rows](Rank rank, std::int64_t own) { rows[rank] += own; });
  }
  return rows;
}

}  // namespace strobe
