// A hybrid batch on a rank's device: the inputs of each layer's stages.
#pragma once

#include <vector>

#include "harness/hybrid_batches/encoding/batch_features.hpp"
#include "models/tape/pass.hpp"

namespace strobe {

/// The inputs of one layer.
struct LayerInputs {
  SparseMatrix a;
  CellRows cells;
  Tensor rows;               // i64 [columns of a, 1] rows of the previous layer; undefined: rows in their order
  std::int64_t columns = 0;  // of a, or own cells of a layer without a matrix
  Tensor own_rows;           // i64 [own cells, 1]: the first of `rows`
  std::vector<std::vector<SparseMatrix>> steps;  // [supports][steps]
};

struct BatchInputs {
  std::vector<LayerInputs> layers;
  Tensor first_input;  // x of the first layer
  Tensor features;     // [own cells of the first layer, F]
};

/// Facts about cells that a model's stages need in addition to the rows.
struct BatchTraits {
  ModelTraits model;
  std::int64_t vertices = 0;       // N of the graph
  std::int64_t counted_cells = 0;  // cells of a step, on all ranks that share sums over vertices
};

/// Moves a batch to the device of its rank. Cost O(cells and entries of the batch).
BatchInputs bring_batch(Device& device, const LayerSource& source, const LayeredBatch& batch,
                        const BatchFeatures& features, const BatchTraits& traits);

}  // namespace strobe
