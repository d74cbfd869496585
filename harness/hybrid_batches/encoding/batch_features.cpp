#include "harness/hybrid_batches/encoding/batch_features.hpp"

#include <algorithm>

namespace strobe {
namespace {

/// Appends the rows of `cells` from `values` [T * N, width] to `rows`.
template <class T>
void append(const Column<T>& values, std::int64_t width, const PreparedGraph& graph, const BatchWindow& window,
            const StepCells& cells, std::vector<T>& rows) {
  constexpr std::int64_t ahead = 16;
  const std::size_t begin = rows.size();
  rows.resize(begin + static_cast<std::size_t>(cells.count() * width));
  T* to = rows.data() + begin;
  for (std::int64_t t = 0; t < cells.steps(); ++t) {
    const T* const of_step = values.data() + (window.first + t) * graph.vertices * width;
    for (std::int64_t row = cells.begin(t); row < cells.end(t); ++row, to += width) {
      if (row + ahead < cells.end(t)) __builtin_prefetch(of_step + cells.vertex(row + ahead) * width);
      std::copy_n(of_step + cells.vertex(row) * width, width, to);
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
