// What the layers of a model read of other cells: all that the cells of a batch, and the vertices that a rank keeps of
// others, follow from.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "models/snapshots/model.hpp"

namespace strobe {

/// What one layer reads for its output at (v, t). Its input at (v, t) itself always counts as read.
struct LayerReads {
  static constexpr std::int64_t all_earlier = std::numeric_limits<std::int64_t>::max();

  bool neighbours = false;  // the spatial stage reads the columns of row v of A~ at t
  /// [stages] supports of the products of a layer that goes step by step; those of a stage read at most what earlier
  /// stages gave. Read from the last stage to the first they lead from a state to the states and inputs that it follows
  /// from: never less than is read, and more where a product reads only some of what came before.
  std::vector<std::vector<int>> products = {};
  std::int64_t earlier = 0;      // the temporal stage reads so many steps of its own vertex before t
  std::int64_t reset_every = 0;  // n > 0: nothing before a step that n divides is read from there on
};

/// What each of `layers` reads. With `product_in_batch` the first layer's aggregation A~ X is made of the batch's own
/// matrix, so it is read like any other.
std::vector<LayerReads> layer_reads(const std::vector<LayerShape>& layers, bool product_in_batch = false);

}  // namespace strobe
