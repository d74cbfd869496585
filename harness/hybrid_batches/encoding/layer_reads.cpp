#include "harness/hybrid_batches/encoding/layer_reads.hpp"

#include <algorithm>

namespace strobe {
namespace {

std::int64_t earlier_steps(const LayerShape& layer) {
  switch (layer.need) {
    case TemporalNeed::window:
      return layer.window - 1;
    case TemporalNeed::recurrent:
    case TemporalNeed::all:
      return LayerReads::all_earlier;
    case TemporalNeed::none:
    case TemporalNeed::weights_only:
      break;
  }
  return 0;
}

void add_product(const StepProduct& product, std::vector<std::vector<int>>& stages) {
  if (product.stage < 0) {
    stages.push_back({product.support});
    return;
  }
  const std::size_t stage = product.stage;
  if (stages.size() <= stage) stages.resize(stage + 1);
  std::vector<int>& supports = stages[stage];
  if (std::find(supports.begin(), supports.end(), product.support) == supports.end())
    supports.push_back(product.support);
}

}  // namespace

std::vector<LayerReads> layer_reads(const std::vector<LayerShape>& layers, bool product_in_batch) {
  std::vector<LayerReads> reads;
  for (const LayerShape& layer : layers) {
    LayerReads& read = reads.emplace_back();
    read.neighbours = layer.reads_neighbours;
    for (const StepProduct& product : layer.products) add_product(product, read.products);
    read.earlier = earlier_steps(layer);
    read.reset_every = layer.reset_every;
  }
  if (product_in_batch && !reads.empty()) reads.front().neighbours = true;
  return reads;
}

}  // namespace strobe
