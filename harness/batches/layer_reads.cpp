#include "harness/batches/layer_reads.hpp"

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

}  // namespace

std::vector<LayerReads> layer_reads(const std::vector<LayerShape>& layers, bool product_in_batch) {
  std::vector<LayerReads> reads;
  for (const LayerShape& layer : layers) {
    LayerReads& read = reads.emplace_back();
    read.neighbours = layer.reads_neighbours;
    for (const StepProduct& product : layer.products) read.products.push_back(product.support);
    read.earlier = earlier_steps(layer);
    read.reset_every = layer.reset_every;
  }
  if (product_in_batch && !reads.empty()) reads.front().neighbours = true;
  return reads;
}

}  // namespace strobe
