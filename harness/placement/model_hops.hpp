// The number of products with A that lead to an embedding. Partitioners use it to weigh neighbourhoods.
#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "models/snapshots/model.hpp"

namespace strobe {

/// Number of successive products with A~ that lead to an embedding: the L of DynaHB's Definition 2. At least 1.
/// A first layer whose aggregation was precomputed counts as one. For a layer that goes step by step, the products of
/// one step count, with the support that has most of them. For unknown layers (null) the result is 2, as in Example 2.
inline int model_hops(const std::vector<LayerShape>* layers, bool first_product_done) {
  if (layers == nullptr) return 2;
  int hops = first_product_done ? 1 : 0;
  for (const LayerShape& layer : *layers) {
    std::map<int, int> products;
    for (const StepProduct& product : layer.products) ++products[product.support];
    int most = layer.reads_neighbours ? 1 : 0;
    for (const auto& [support, count] : products) most = std::max(most, count);
    hops += most;
  }
  return std::max(hops, 1);
}

}  // namespace strobe
