#include "harness/full_batch/inputs/cell_rows.hpp"

namespace strobe {

CellRows make_cell_rows(Device& device, const Placement& placement, const BlockSteps& block, bool ids, Rank rank) {
  const PartScope part(device, MemoryPart::graph);
  CellRows cells;
  cells.vertices = placement.vertices;
  cells.all_steps = block.all_steps;
  cells.trained_steps = block.trained_steps;
  cells.first_step = block.first_step;
  cells.steps = placement.steps();
  const std::vector<std::int64_t> first_rows = placement.row_offsets(rank);
  cells.step_rows = first_rows;
  cells.step_rows_on_device = device.move_in(first_rows.data(), cells.steps + 1, 1, ElementType::i64);
  if (block.presence != nullptr) {
    std::vector<std::int64_t> existing;
    for (Step t = 0; t < placement.steps(); ++t)
      existing.push_back(block.presence->count(static_cast<Step>(block.first_step) + t));
    cells.existing = device.move_in(existing.data(), cells.steps, 1, ElementType::i64);
  }
  if (!ids) return cells;
  std::vector<std::int64_t> numbers;
  for (Step t = 0; device.has_values() && t < placement.steps(); ++t) {
    for (const Run& run : placement.map(t).runs_of(rank)) {
      const std::int64_t first = (block.first_step + t) * placement.vertices + run.first;
      for (std::int64_t i = 0; i < run.count; ++i) numbers.push_back(first + i);
    }
  }
  cells.ids = device.move_in(numbers.data(), cells.step_rows.back(), 1, ElementType::i64);
  return cells;
}

CellRows make_spatial_rows(Device& device, const Placement& placement, const BlockSteps& block, const HaloNeeds& needs,
                           const ModelTraits& traits, Rank rank) {
  const PartScope part(device, MemoryPart::graph);
  CellRows cells = make_cell_rows(device, placement, block, traits.reads_ids, rank);
  if (!traits.reads_column_ids) return cells;
  std::vector<std::int32_t> vertices;
  for (Step t = 0; device.has_values() && t < placement.steps(); ++t) {
    for (const Run& run : placement.map(t).runs_of(rank)) {
      for (std::int64_t i = 0; i < run.count; ++i) vertices.push_back(static_cast<std::int32_t>(run.first + i));
    }
  }
  for (Step t = 0; device.has_values() && t < placement.steps(); ++t) {
    const std::vector<VertexId>& halo = needs.of(rank, t);
    vertices.insert(vertices.end(), halo.begin(), halo.end());
  }
  const std::int64_t columns = cells.step_rows.back() + halo_offsets(needs, rank).back();
  cells.column_ids = device.move_in(vertices.data(), columns, 1, ElementType::i32);
  return cells;
}

CellRows make_cell_rows(Device& device, const Placement& placement, const BlockSteps& block, bool ids) {
  return make_cell_rows(device, placement, block, ids, device.rank());
}

CellRows make_spatial_rows(Device& device, const Placement& placement, const BlockSteps& block, const HaloNeeds& needs,
                           const ModelTraits& traits) {
  return make_spatial_rows(device, placement, block, needs, traits, device.rank());
}

}  // namespace strobe
