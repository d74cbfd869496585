#include "harness/full_batch/inputs/visible_cells.hpp"

namespace strobe {

VisibleSequences sequences_of(const VisibleCells& cells) {
  VisibleSequences sequences{
      std::vector<std::size_t>(cells.row.size()), std::vector<std::int32_t>(cells.row.size(), 0), {}};
  for (std::size_t c = 0; c < cells.row.size(); ++c) {
    if (cells.before[c] < 0) {
      sequences.of_cell[c] = sequences.lengths.size();
      sequences.lengths.push_back(1);
      continue;
    }
    const std::size_t before = cells.before[c];
    sequences.of_cell[c] = sequences.of_cell[before];
    sequences.position[c] = sequences.position[before] + 1;
    ++sequences.lengths[sequences.of_cell[c]];
  }
  return sequences;
}

VisibleCells visible_cells(const Placement& placement, const HaloNeeds& needs, Rank rank) {
  VisibleCells cells;
  const std::vector<std::int64_t> halo = halo_offsets(needs, rank);
  cells.own_rows = placement.rows(rank);
  cells.halo_rows = halo.back();
  std::vector<std::int64_t> last(placement.vertices, -1);  // visible cell of each vertex
  const auto add = [&](VertexId v, Step t, std::int64_t row) {
    std::int64_t& latest = last[v];
    const bool goes_on = latest >= 0 && cells.step[latest] == t - 1;
    cells.before.push_back(goes_on ? latest : -1);
    latest = static_cast<std::int64_t>(cells.row.size());
    cells.row.push_back(row);
    cells.vertex.push_back(v);
    cells.step.push_back(t);
  };
  std::int64_t row = 0;
  for (Step t = 0; t < static_cast<Step>(placement.steps()); ++t) {
    for (const Run& run : placement.map(t).runs_of(rank)) {
      for (std::int64_t i = 0; i < run.count; ++i) add(static_cast<VertexId>(run.first + i), t, row++);
    }
    std::int64_t behind = cells.own_rows + halo[t];
    for (const VertexId v : needs.of(rank, t)) add(v, t, behind++);
  }
  return cells;
}

}  // namespace strobe
