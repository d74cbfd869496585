// The rows of X and A~ X that the first layer of a batch reads, gathered on the host.
#pragma once

#include "harness/full_batch/inputs/local_graph.hpp"
#include "harness/hybrid_batches/encoding/layered_batch.hpp"

namespace strobe {

/// Values of the first layer's own cells. If they are its input, also of the cells that only neighbours read.
struct BatchFeatures {
  HostRows features, product;  // `product` only if X is kept in addition to A~ X
};

/// Cost O(cells F).
BatchFeatures gather_features(const LayerSource& source, const LayeredBatch& batch);

}  // namespace strobe
