// Sizes of hybrid batches of graphs that are known by their shape only, for simulations.
#pragma once

#include "harness/hybrid_batches/encoding/layered_batch.hpp"

namespace strobe {

/// A batch (LayeredBatch::counted_only) of `targets` targets. Model: every row of a step has the step's mean number of
/// entries. One of them is the vertex's own if A~ has self-loops. The others fall on all vertices evenly and
/// independently. Sets have their expected sizes. The model ignores hubs and communities, which both shrink frontiers.
/// Cost O(layers x steps).
LayeredBatch count_batch(const BatchSource& source, const LayerSource& layers, const BatchWindow& window,
                         std::int64_t targets);

}  // namespace strobe
