#include "harness/cell_rows.hpp"

namespace strobe {

CellRows make_cell_rows(Device& device, const Placement& placement) {
  CellRows cells;
  cells.vertices = placement.vertices;
  cells.steps = placement.steps();
  cells.step_rows = placement.row_offsets(device.rank());
  std::vector<std::int64_t> ids;
  for (Step t = 0; device.has_values() && t < placement.steps(); ++t) {
    for (const Run& run : placement.map(t).owned[static_cast<std::size_t>(device.rank())]) {
      for (std::int64_t v = run.first; v < run.first + run.count; ++v) ids.push_back(t * placement.vertices + v);
    }
  }
  cells.step_rows_on_device = device.move_in(cells.step_rows.data(), cells.steps + 1, 1, ElementType::i64);
  cells.ids = device.move_in(ids.data(), cells.step_rows.back(), 1, ElementType::i64);
  return cells;
}

}  // namespace strobe
