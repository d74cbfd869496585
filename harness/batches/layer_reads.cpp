#include "harness/batches/layer_reads.hpp"

#include <algorithm>
#include <map>

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

int most_with_one_support(const std::vector<StepProduct>& products) {
  std::map<int, int> with;
  int most = 0;
  for (const StepProduct& product : products) most = std::max(most, ++with[product.support]);
  return most;
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

int hops_of(const std::vector<LayerShape>* layers, const PreparedGraph& graph) {
  constexpr int of_example = 2;
  if (layers == nullptr) return of_example;
  int hops = graph.first_product_done ? 1 : 0;
  for (const LayerShape& layer : *layers)
    hops += layer.step_by_step ? most_with_one_support(layer.products) : static_cast<int>(layer.reads_neighbours);
  return std::max(hops, 1);
}

}  // namespace strobe
