#include "harness/full_batch/inputs/unit_rows.hpp"

namespace strobe {

std::vector<UnitRows> unit_rows(const Placement& placement, const HaloNeeds& needs, const UnitCells& units, Rank rank) {
  const std::vector<std::int64_t> halo = halo_offsets(needs, rank);
  const std::int64_t own_rows = placement.rows(rank);
  std::vector<UnitRows> rows(units.own.count);
  std::vector<std::vector<std::int64_t>> read(rows.size());
  std::vector<std::int64_t> row_of(placement.vertices, -1);  // at the current step
  std::int64_t next = 0;
  for (Step t = 0; t < static_cast<Step>(placement.steps()); ++t) {
    for (const Run& run : placement.map(t).runs_of(rank)) {
      for (std::int64_t v = run.first; v < run.first + run.count; ++v) row_of[v] = next++;
    }
    std::int64_t behind = own_rows + halo[t];
    for (const VertexId v : needs.of(rank, t)) row_of[v] = behind++;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto unit = static_cast<Rank>(units.own.first + static_cast<std::int64_t>(i));
      for (const Run& run : units.placement->map(t).runs_of(unit)) {
        for (std::int64_t v = run.first; v < run.first + run.count; ++v) rows[i].read.push_back(row_of[v]);
      }
      for (const VertexId v : units.reads->of(unit, t)) read[i].push_back(row_of[v]);
    }
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].own_count = static_cast<std::int64_t>(rows[i].read.size());
    rows[i].read.insert(rows[i].read.end(), read[i].begin(), read[i].end());
  }
  return rows;
}

}  // namespace strobe
