// A hybrid batch on a rank's device: the inputs of each layer's stages.
#pragma once

#include <optional>
#include <vector>

#include "harness/hybrid_batches/encoding/batch_features.hpp"
#include "models/snapshots/layer_protocol.hpp"
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
  /// Only where some cells do not exist: the stage of a layer that walks timelines; and the runs of steps with the same
  /// vertices of a layer that goes step by step, with the states that pass from run to run.
  std::optional<PackedStage> packed;
  std::vector<TemporalSegment> segments;
  std::vector<PackedRows> states_that_stay;
};

struct BatchInputs {
  std::vector<LayerInputs> layers;
  Tensor first_input;  // x of the first layer
  Tensor features;     // [own cells of the first layer, F]
};

/// Facts about cells that a model's stages need in addition to the rows.
struct BatchTraits {
  ModelTraits model;
  std::int64_t vertices = 0;                // N of the graph
  std::vector<std::int64_t> counted_cells;  // [steps] cells of a step, on all ranks that share sums over vertices
};

/// Moves a batch to the device of its rank. Cost O(cells and entries of the batch).
BatchInputs bring_batch(Device& device, const LayerSource& source, const LayeredBatch& batch,
                        const BatchFeatures& features, const BatchTraits& traits);

}  // namespace strobe
