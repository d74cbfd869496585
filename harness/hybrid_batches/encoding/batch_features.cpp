#include "harness/hybrid_batches/encoding/batch_features.hpp"

namespace strobe {
namespace {

/// Appends the rows of `cells` from `values` [T * N, width] to `rows`.
template <class T>
void append(const Column<T>& values, std::int64_t width, const PreparedGraph& graph, const BatchWindow& window,
            const StepCells& cells, std::vector<T>& rows) {
  rows.reserve(rows.size() + static_cast<std::size_t>(cells.count() * width));
  for (std::int64_t t = 0; t < cells.steps(); ++t) {
    for (std::int64_t row = cells.begin(t); row < cells.end(t); ++row) {
      const auto from = values.begin() + ((window.first + t) * graph.vertices + cells.vertex(row)) * width;
      rows.insert(rows.end(), from, from + width);
    }
  }
}

}  // namespace

BatchFeatures gather_features(const LayerSource& source, const LayeredBatch& batch) {
  const PreparedGraph& graph = source.graph;
  const BatchLayer& first = batch.layers.front();
  BatchFeatures all;
  const auto add = [&](const StepCells& cells) {
    if (source.fp64) {
      append(graph.features64, graph.feature_width, graph, batch.window, cells, all.features.values64);
    } else {
      append(graph.features32, graph.feature_width, graph, batch.window, cells, all.features.values32);
    }
  };
  add(first.cells);
  if (!graph.features_kept) add(first.halo);
  if (!graph.features_kept) return all;
  if (source.fp64) {
    append(graph.products64, graph.feature_width, graph, batch.window, first.cells, all.product.values64);
  } else {
    append(graph.products32, graph.feature_width, graph, batch.window, first.cells, all.product.values32);
  }
  return all;
}

}  // namespace strobe
