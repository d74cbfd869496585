#include "harness/batches/batch_inputs.hpp"

namespace strobe {
namespace {

Tensor list_on(Device& device, const std::vector<std::int64_t>& list) {
  return device.move_in(list.data(), static_cast<std::int64_t>(list.size()), 1, ElementType::i64);
}

SparseMatrix matrix_on(Device& device, const HostCsr& csr, std::int64_t columns,
                       const std::vector<std::int64_t>& step_halo, const MatrixUse& use) {
  SparseMatrix a;
  a.rows = csr.step_rows.back();
  a.columns = columns;
  a.halo_begin = a.rows;
  a.steps = static_cast<std::int64_t>(csr.step_rows.size()) - 1;
  a.nonzeros = csr.offsets.back();
  a.row_offsets = list_on(device, csr.offsets);
  a.column_indices = device.move_in(csr.columns.data(), a.nonzeros, 1, ElementType::i32);
  a.values = device.move_in(csr.values(device.precision()), a.nonzeros, 1, device.precision());
  a.step_rows = list_on(device, csr.step_rows);
  a.step_halo = list_on(device, step_halo);
  HostCsr outline;
  outline.step_rows = csr.step_rows;
  device.prepare(a, outline, use);
  return a;
}

/// Step * N + vertex of every cell, steps counted from the window's first.
std::vector<std::int64_t> numbers_of(const StepCells& cells, std::int64_t vertices) {
  std::vector<std::int64_t> ids;
  ids.reserve(cells.vertices.size());
  for (std::int64_t t = 0; t < cells.steps(); ++t) {
    for (std::int64_t row = cells.begin(t); row < cells.end(t); ++row) ids.push_back(t * vertices + cells.vertex(row));
  }
  return ids;
}

CellRows cells_on(Device& device, const BatchLayer& layer, const std::vector<std::int64_t>& counted,
                  const BatchTraits& traits) {
  CellRows cells;
  cells.vertices = traits.vertices;
  cells.all_steps = cells.steps = cells.trained_steps = layer.cells.steps();
  cells.step_rows = layer.cells.offsets;
  cells.step_rows_on_device = list_on(device, layer.cells.offsets);
  const std::vector<std::int64_t> ids = numbers_of(layer.cells, traits.vertices);
  if (traits.model.reads_ids) cells.ids = list_on(device, ids);
  if (traits.model.reads_column_ids) {
    std::vector<std::int32_t> vertices(layer.cells.vertices.begin(), layer.cells.vertices.end());
    vertices.insert(vertices.end(), layer.halo.vertices.begin(), layer.halo.vertices.end());
    cells.column_ids = device.move_in(vertices.data(), layer.columns(), 1, ElementType::i32);
  }
  if (static_cast<std::int64_t>(counted.size()) == layer.cells.count() && traits.counted_cells == traits.vertices)
    return cells;
  const std::int64_t each = static_cast<std::int64_t>(counted.size()) / std::max<std::int64_t>(1, cells.steps);
  std::vector<std::int64_t> first_rows, spans(static_cast<std::size_t>(cells.steps), traits.counted_cells);
  for (std::int64_t t = 0; t <= cells.steps; ++t) first_rows.push_back(t * each);
  cells.counted = list_on(device, counted);
  cells.counted_step_rows = list_on(device, first_rows);
  cells.existing = list_on(device, spans);
  std::vector<std::int64_t> candidates(ids.size(), -1);
  for (const std::int64_t row : counted) candidates[static_cast<std::size_t>(row)] = ids[static_cast<std::size_t>(row)];
  if (traits.model.reads_ids) cells.counted_ids = list_on(device, candidates);
  return cells;
}

const void* values_of(const HostRows& rows, ElementType type) {
  return type == ElementType::f64 ? static_cast<const void*>(rows.values64.data()) : rows.values32.data();
}

/// Of the matrix of one layer, for a forward and a backward pass.
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

LayerInputs layer_on(Device& device, const LayerShape& shape, const BatchLayer& layer,
                     const std::vector<std::int64_t>& counted, const BatchTraits& traits, bool first) {
  LayerInputs inputs;
  inputs.columns = layer.columns();
  if (shape.reads_neighbours)
    inputs.a = matrix_on(device, layer.a, layer.columns(), layer.halo.offsets, use_of(shape, traits.model, first));
  inputs.cells = cells_on(device, layer, counted, traits);
  if (!layer.input.empty()) {
    inputs.rows = list_on(device, layer.input);
    inputs.own_rows = inputs.rows.slice_rows(0, layer.cells.count());
  }
  for (const std::vector<HostCsr>& support : layer.steps) {
    std::vector<SparseMatrix>& steps = inputs.steps.emplace_back();
    for (const HostCsr& csr : support)
      steps.push_back(matrix_on(device, csr, csr.step_rows.back(), {0, 0}, use_of_steps(shape)));
  }
  if (!shape.reads_neighbours && layer.a.has_entries)
    inputs.a = matrix_on(device, layer.a, layer.columns() + 1, layer.halo.offsets, use_of(shape, traits.model, true));
  inputs.a.rows = layer.cells.count();  // of layers without a matrix, too
  return inputs;
}

}  // namespace

BatchInputs bring_batch(Device& device, const LayerSource& source, const LayeredBatch& batch,
                        const BatchFeatures& features, const BatchTraits& traits) {
  BatchInputs inputs;
  for (std::size_t l = 0; l < batch.layers.size(); ++l) {
    inputs.layers.push_back(layer_on(device, source.layers[l], batch.layers[l], batch.counted[l], traits, l == 0));
  }
  const BatchLayer& first = batch.layers.front();
  const std::int64_t width = source.graph.feature_width, own = first.cells.count();
  const ElementType type = device.precision();
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
