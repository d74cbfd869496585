#include "harness/timeline/block_inputs.hpp"

#include <algorithm>
#include <limits>

namespace strobe {
namespace {

constexpr std::int64_t any_width = std::numeric_limits<std::int64_t>::max() / 64;

/// Columns that the product of layer `l` gathers where a joint form repeats the layer before for every entry: those of
/// its input where pairs of steps serve it, which they do while the outputs of both stay in three registers, or in one
/// with a weight per step (backends/cpu/kernels/sparse/pair_layer.hpp). Else those of its output, which say of rows by
/// length whether they do.
std::int64_t repeated_width(const FullBatchPlan& plan, std::size_t l, const Device& device) {
  const LayerShape &before = plan.model.layers[l - 1], &here = plan.model.layers[l];
  const bool weight_per_step = here.need == TemporalNeed::weights_only;
  const std::int64_t width =
      weight_per_step ? std::max(before.spatial_width, here.spatial_width) : before.spatial_width;
  const bool in_pairs = 2 * width * (plan.model.fp64 ? 8 : 4) <= (weight_per_step ? 1 : 3) * device.narrow_bytes();
  return in_pairs ? before.input_width : width;
}

/// `own` says that every neighbour is an own row.
Products layer_products(const FullBatchPlan& plan, const Device& device, bool lasting, bool own) {
  Products products{0, 0, lasting, false};
  for (std::size_t l = 0; l < plan.model.layers.size(); ++l) {
    if (!plan.model.layers[l].reads_neighbours) continue;
    const bool repeats = own && plan.model.layers[l].joins_previous;
    const std::int64_t width = repeats ? repeated_width(plan, l, device) : plan.model.layers[l].input_width;
    products.least = products.least == 0 ? width : std::min(products.least, width);
    products.most = std::max(products.most, width);
    products.backward = products.backward || !repeats;
  }
  // Forms that serve products only would be of no use.
  if (products.most > 0 && plan.model.equations->traits().reads_entries) products.least = products.most = any_width;
  return products;
}

Products step_products(const FullBatchPlan& plan, bool lasting) {
  Products products{any_width, 0, lasting};
  for (const LayerShape& layer : plan.model.layers) {
    for (const StepProduct& product : layer.products) {
      products.least = std::min(products.least, product.width);
      products.most = std::max(products.most, product.width);
    }
  }
  return products;
}

}  // namespace

std::uint64_t BlockInputs::bytes() const {
  std::uint64_t sum = graph.bytes();
  for (const SliceInputs& slice : slices) sum += slice.graph.bytes();
  for (const std::vector<SparseMatrix>& support : supports) {
    for (const SparseMatrix& step : support) sum += step.bytes();
  }
  return sum;
}

void transpose_snapshots(Device& device, const FullBatchPlan& plan, const Placement& placement, SparseMatrix& a) {
  // Making it costs about twice what a single narrow product gains by it; attention goes over the entries of each
  // column several times.
  if (!device.wants_transpose() || !plan.model.equations->traits().reads_entries || a.rows == 0) return;
  for (Step t = 0; t < placement.steps(); ++t) {
    const std::int64_t rows = placement.step_rows(device.rank(), t);
    if (rows != 0 && rows != placement.vertices) return;
  }
  add_transpose(device, a, placement.vertices);
}

BlockInputs bring_inputs(Device& device, const FullBatchPlan& plan, const BlockPlan& block, Visit visit,
                         HostParts* parts) {
  const bool lasting = visit == Visit::lasting;
  if (parts != nullptr) parts->rewind();
  BlockInputs inputs;
  const BlockSteps steps{block.first_step, plan.data.graph->steps, plan.data.trained_steps};
  for (const SlicePlan& slice : block.slices) {
    inputs.slices.push_back(
        {build_local_graph(device, *plan.data.graph, block.first_step, slice.spatial, slice.needs,
                           layer_products(plan, device, lasting, slice.halo.identity), parts),
         make_spatial_rows(device, slice.spatial, steps, slice.needs, plan.model.equations->traits())});
  }
  for (std::size_t c = 0; visit == Visit::differentiated && c < inputs.slices.size(); ++c) {
    transpose_snapshots(device, plan, block.slices[c].spatial, inputs.slices[c].graph.a);
  }
  if (!block.slices.empty()) return inputs;
  inputs.graph = build_local_graph(device, *plan.data.graph, block.first_step, block.spatial, block.spatial_needs,
                                   layer_products(plan, device, lasting, block.spatial_halo.identity), parts);
  if (visit == Visit::differentiated) transpose_snapshots(device, plan, block.spatial, inputs.graph.a);
  inputs.supports = step_matrices(device, block.supports, step_products(plan, lasting), parts);
  inputs.cells = make_spatial_rows(device, block.spatial, steps, block.spatial_needs, plan.model.equations->traits());
  return inputs;
}

}  // namespace strobe
