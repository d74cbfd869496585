#include "harness/block_inputs.hpp"

#include <algorithm>
#include <limits>

namespace strobe {
namespace {

constexpr std::int64_t any_width = std::numeric_limits<std::int64_t>::max() / 64;

Products layer_products(const PlannedCase& plan, bool lasting) {
  Products products{0, 0, lasting};
  for (const LayerShape& layer : plan.layers) {
    if (!layer.reads_neighbours) continue;
    products.least = products.least == 0 ? layer.input_width : std::min(products.least, layer.input_width);
    products.most = std::max(products.most, layer.input_width);
  }
  // Forms that serve products only would be of no use.
  if (products.most > 0 && plan.model->reads_entries()) products.least = products.most = any_width;
  return products;
}

Products step_products(const PlannedCase& plan, bool lasting) {
  std::int64_t width = any_width;
  for (std::size_t l = 0; l < plan.layers.size(); ++l) {
    for (const StepProduct& product : plan.model->step_products(static_cast<int>(l), plan.graph->feature_width)) {
      width = std::min(width, product.width);
    }
  }
  return {width, width, lasting};
}

}  // namespace

std::uint64_t BlockInputs::bytes() const {
  std::uint64_t sum = graph.a.bytes() + graph.features.bytes();
  for (const ChunkInputs& chunk : chunks) sum += chunk.graph.a.bytes() + chunk.graph.features.bytes();
  for (const std::vector<SparseMatrix>& support : supports) {
    for (const SparseMatrix& step : support) sum += step.bytes();
  }
  return sum;
}

BlockInputs bring_inputs(Device& device, const PlannedCase& plan, const BlockPlan& block, bool lasting) {
  BlockInputs inputs;
  const BlockSteps steps{block.first_step, plan.graph->steps};
  for (const ChunkPlan& chunk : block.chunks) {
    inputs.chunks.push_back({build_local_graph(device, *plan.graph, block.first_step, chunk.spatial, chunk.needs,
                                               layer_products(plan, lasting)),
                             make_cell_rows(device, chunk.spatial, steps, plan.model->reads_ids())});
  }
  if (!block.chunks.empty()) return inputs;
  inputs.graph = build_local_graph(device, *plan.graph, block.first_step, block.spatial, block.spatial_needs,
                                   layer_products(plan, lasting));
  inputs.supports = step_matrices(device, block.supports, step_products(plan, lasting));
  inputs.cells = make_cell_rows(device, block.spatial, steps, plan.model->reads_ids());
  return inputs;
}

}  // namespace strobe
