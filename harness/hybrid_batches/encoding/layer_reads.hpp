// The reads of a model's layers from other cells. They determine the cells of a batch, and the vertices of others that
// a rank keeps.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "models/snapshots/model.hpp"

namespace strobe {

/// The cells that one layer reads for its output at (v, t). Its input at (v, t) itself always counts as read.
struct LayerReads {
  static constexpr std::int64_t all_earlier = std::numeric_limits<std::int64_t>::max();

  bool neighbours = false;  // the spatial stage reads the columns of row v of A~ at t
  /// [stages] supports of the products of a layer that goes step by step. Products of a stage read at most the results
  /// of earlier stages. From the last stage to the first they lead from a state to the states and inputs on which it
  /// depends. No read is missed. Some are added if a product reads only a part of the earlier results.
  std::vector<std::vector<int>> products = {};
  std::int64_t earlier = 0;      // steps of its own vertex before t that the temporal stage reads
  std::int64_t reset_every = 0;  // n > 0: from a step that n divides on, nothing before it is read
};

/// The reads of each of `layers`. With `product_in_batch` the first layer's aggregation A~ X uses the batch's own
/// matrix, so it counts as a read too.
std::vector<LayerReads> layer_reads(const std::vector<LayerShape>& layers, bool product_in_batch = false);

}  // namespace strobe
