#include "harness/hybrid_batches/batch_inputs.hpp"

#include <algorithm>

#include "harness/full_batch/inputs/packed_timelines.hpp"
#include "harness/hybrid_batches/encoding/batch_timelines.hpp"

namespace strobe {
namespace {

/// A list of `count` values. Counted batches have no values to move, only space for them.
template <class T>
Tensor moved(Device& device, const std::vector<T>& list, std::int64_t count, ElementType type) {
  return device.move_in(static_cast<std::int64_t>(list.size()) == count ? list.data() : nullptr, count, 1, type);
}
Tensor list_on(Device& device, const std::vector<std::int64_t>& list) {
  return moved(device, list, static_cast<std::int64_t>(list.size()), ElementType::i64);
}

SparseMatrix matrix_on(Device& device, const HostCsr& csr, std::int64_t nonzeros, std::int64_t columns,
                       const std::vector<std::int64_t>& step_halo, const MatrixUse& use) {
  SparseMatrix a;
  a.rows = csr.step_rows.back();
  a.columns = columns;
  a.halo_begin = a.rows;
  a.steps = static_cast<std::int64_t>(csr.step_rows.size()) - 1;
  a.nonzeros = nonzeros;
  a.row_offsets = moved(device, csr.offsets, a.rows + 1, ElementType::i64);
  a.column_indices = moved(device, csr.columns, a.nonzeros, ElementType::i32);
  a.values = device.move_in(csr.values(device.precision()), a.nonzeros, 1, device.precision());
  a.step_rows = list_on(device, csr.step_rows);
  a.step_halo = list_on(device, step_halo);
  HostCsr outline;
  outline.step_rows = csr.step_rows;
  device.prepare(a, outline, use);
  return a;
}

/// Step * N + vertex of every cell. Steps count from the window's first.
std::vector<std::int64_t> numbers_of(const StepCells& cells, std::int64_t vertices) {
  std::vector<std::int64_t> ids;
  if (cells.vertices.empty()) return ids;  // a counted batch
  ids.reserve(cells.vertices.size());
  for (std::int64_t t = 0; t < cells.steps(); ++t) {
    for (std::int64_t row = cells.begin(t); row < cells.end(t); ++row) ids.push_back(t * vertices + cells.vertex(row));
  }
  return ids;
}

/// `counted` are the rows of targets, `first_rows` [steps + 1] the first of each step among them.
CellRows cells_on(Device& device, const BatchLayer& layer, const std::vector<std::int64_t>& counted,
                  const std::vector<std::int64_t>& first_rows, const BatchTraits& traits) {
  CellRows cells;
  cells.vertices = traits.vertices;
  cells.all_steps = cells.steps = cells.trained_steps = layer.cells.steps();
  cells.step_rows = layer.cells.offsets;
  cells.step_rows_on_device = list_on(device, layer.cells.offsets);
  const std::vector<std::int64_t> ids = numbers_of(layer.cells, traits.vertices);
  if (traits.model.reads_ids) cells.ids = moved(device, ids, layer.cells.count(), ElementType::i64);
  if (traits.model.reads_column_ids) {
    std::vector<std::int32_t> vertices(layer.cells.vertices.begin(), layer.cells.vertices.end());
    vertices.insert(vertices.end(), layer.halo.vertices.begin(), layer.halo.vertices.end());
    cells.column_ids = moved(device, vertices, layer.columns(), ElementType::i32);
  }
  const auto all_vertices = [&](std::int64_t count) { return count == traits.vertices; };
  if (first_rows.back() == layer.cells.count() &&
      std::all_of(traits.counted_cells.begin(), traits.counted_cells.end(), all_vertices))
    return cells;
  cells.counted = moved(device, counted, first_rows.back(), ElementType::i64);
  cells.counted_step_rows = list_on(device, first_rows);
  cells.existing = list_on(device, traits.counted_cells);
  std::vector<std::int64_t> candidates(ids.size(), -1);
  for (const std::int64_t row : counted) candidates[row] = ids[row];
  if (traits.model.reads_ids) cells.counted_ids = moved(device, candidates, layer.cells.count(), ElementType::i64);
  return cells;
}

const void* values_of(const HostRows& rows, ElementType type) {
  return type == ElementType::f64 ? static_cast<const void*>(rows.values64.data()) : rows.values32.data();
}

/// The use of one layer's matrix, for a forward and a backward pass.
MatrixUse use_of(const LayerShape& layer, const ModelTraits& traits, bool first) {
  MatrixUse use;
  use.reads_entries = traits.reads_entries;
  use.lasting = false;
  use.products.push_back({layer.input_width, !first, {}});
  return use;
}

MatrixUse use_of_steps(const LayerShape& layer) {
  MatrixUse use;
  use.lasting = false;
  for (const StepProduct& product : layer.products) use.products.push_back({product.width, true, {}});
  return use;
}

/// The steps of each support.
std::vector<std::vector<SparseMatrix>> steps_on(Device& device, const LayerShape& shape, const BatchLayer& layer) {
  std::vector<std::vector<SparseMatrix>> all;
  for (std::size_t s = 0; s < layer.steps.size(); ++s) {
    std::vector<SparseMatrix>& steps = all.emplace_back();
    for (std::size_t t = 0; t < layer.steps[s].size(); ++t) {
      const HostCsr& csr = layer.steps[s][t];
      const std::int64_t entries = layer.step_entries.empty() ? csr.offsets.back() : layer.step_entries[s][t];
      steps.push_back(matrix_on(device, csr, entries, csr.step_rows.back(), {0, 0}, use_of_steps(shape)));
    }
  }
  return all;
}

/// How a layer goes along timelines where some cells do not exist.
void add_timelines(Device& device, const LayerShape& shape, const StepCells& cells, const BatchTraits& traits,
                   LayerInputs& inputs) {
  if (walks_timelines(shape)) {
    const VisibleCells chain = chained(cells, shape.reset_every);
    inputs.packed = pack_alone(device, {chain, traits.vertices, cells.steps(), traits.model.reads_ids}, shape);
  }
  if (!shape.step_by_step) return;
  inputs.segments = steps_alike(cells);
  const std::int64_t state_rows = state_shape(shape, 0).rows_per_vertex;
  inputs.states_that_stay = states_that_stay(device, cells, inputs.segments, state_rows);
}

LayerInputs layer_on(Device& device, const LayerShape& shape, const LayeredBatch& batch, std::size_t l,
                     const BatchTraits& traits) {
  const BatchLayer& layer = batch.layers[l];
  const std::int64_t entries = batch.counted_only ? layer.entries : layer.a.offsets.back();
  const std::int64_t rows = batch.counted_only ? layer.input_rows : static_cast<std::int64_t>(layer.input.size());
  LayerInputs inputs;
  inputs.columns = layer.columns();
  if (shape.reads_neighbours) {
    const MatrixUse use = use_of(shape, traits.model, l == 0);
    inputs.a = matrix_on(device, layer.a, entries, layer.columns(), layer.halo.offsets, use);
  }
  inputs.cells = cells_on(device, layer, batch.counted[l], batch.target_offsets, traits);
  if (rows > 0) {
    inputs.rows = moved(device, layer.input, rows, ElementType::i64);
    inputs.own_rows = inputs.rows.slice_rows(0, layer.cells.count());
  }
  inputs.steps = steps_on(device, shape, layer);
  if (!shape.reads_neighbours && layer.a.has_entries) {
    const MatrixUse use = use_of(shape, traits.model, true);
    inputs.a = matrix_on(device, layer.a, entries, layer.columns() + 1, layer.halo.offsets, use);
  }
  inputs.a.rows = layer.cells.count();  // also for layers without a matrix
  return inputs;
}

}  // namespace

BatchInputs bring_batch(Device& device, const LayerSource& source, const LayeredBatch& batch,
                        const BatchFeatures& features, const BatchTraits& traits) {
  const PartScope part(device, MemoryPart::graph);
  BatchInputs inputs;
  for (std::size_t l = 0; l < batch.layers.size(); ++l) {
    LayerInputs& layer = inputs.layers.emplace_back(layer_on(device, source.layers[l], batch, l, traits));
    if (source.graph.presence != nullptr) add_timelines(device, source.layers[l], batch.layers[l].cells, traits, layer);
  }
  const BatchLayer& first = batch.layers.front();
  const std::int64_t width = source.graph.feature_width, own = first.cells.count();
  const ElementType type = device.precision();
  const PartScope features_part(device, MemoryPart::features);
  if (source.graph.features_kept) {
    inputs.features = device.move_in(values_of(features.features, type), own, width, type);
    inputs.first_input = device.move_in(values_of(features.product, type), own, width, type);
  } else {
    inputs.first_input = device.move_in(values_of(features.features, type), first.columns(), width, type);
    inputs.features = inputs.first_input.slice_rows(0, own);
  }
  return inputs;
}

}  // namespace strobe
