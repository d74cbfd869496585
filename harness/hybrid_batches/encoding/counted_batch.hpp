// Sizes of hybrid batches of graphs that are known by their shape only: what a simulation of them needs.
#pragma once

#include "harness/hybrid_batches/encoding/layered_batch.hpp"

namespace strobe {

/// A batch (LayeredBatch::counted) of so many targets, as a stated model has it: every row of a step has as many
/// entries as the step's mean; one is the vertex's own where A~ has self-loops, the others fall on all vertices alike
/// and independently; sets have their expected sizes. Hubs, which shrink frontiers, and communities, which shrink them
/// too, are left out. Cost O(layers x steps).
LayeredBatch count_batch(const BatchSource& source, const LayerSource& layers, const BatchWindow& window,
                         std::int64_t targets);

}  // namespace strobe
