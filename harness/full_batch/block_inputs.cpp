#include "harness/full_batch/block_inputs.hpp"

#include "harness/full_batch/inputs/device_lists.hpp"
#include "harness/full_batch/inputs/unit_rows.hpp"

namespace strobe {
namespace {

/// The use of the matrices that layers multiply step by step.
MatrixUse use_by_steps(const FullBatchPlan& plan, Visit visit) {
  MatrixUse use;
  use.lasting = visit == Visit::lasting;
  for (const LayerShape& layer : plan.model.layers) {
    for (const StepProduct& product : layer.products)
      use.products.push_back({product.width, visit != Visit::forward, {}});
  }
  return use;
}

/// Copies of listed rows of a constant.
Tensor rows_of(Device& device, const Tensor& from, const PackedRows& list) {
  const PartScope part(device, MemoryPart::features);
  const Tensor rows = device.allocate(list.count, from.columns(), from.type());
  device.run(CopyRows{from, rows, list.rows, {}, list.count, 0, 0, from.columns(), false});
  return rows;
}

/// Adds the units of this rank, each with its rows of A and the positions of the rows that it reads.
void add_units(Device& device, const FullBatchPlan& plan, const BlockPlan& block, Visit visit, HostParts* parts,
               BlockInputs& inputs) {
  const BlockUnits& units = *block.units;
  const PreparedGraph& graph = *plan.data.graph;
  const ModelTraits traits = plan.model.equations->traits();
  const BlockSteps steps{block.first_step, graph.steps, plan.data.trained_steps, graph.presence.get()};
  const MatrixUse use = use_by_layers(plan, visit, false);
  inputs.graph = build_local_graph(device, graph, steps.first_step, block.spatial, block.spatial_needs, {}, parts);
  if (traits.before_rows_reads_a)
    inputs.graph.a = build_local_matrix(device, graph, steps.first_step, block.spatial, block.spatial_needs, {}, parts);
  const UnitCells cells{&units.cells, &units.reads, units.of(device.rank())};
  auto number = static_cast<Rank>(cells.own.first);
  for (const UnitRows& rows : unit_rows(block.spatial, block.spatial_needs, cells, device.rank())) {
    const std::uint64_t before = device.live_bytes();
    RowUnit& unit = inputs.units.emplace_back();
    if (!use.products.empty()) {
      unit.a = build_local_matrix(device, graph, steps.first_step, units.cells, units.reads, use, number, parts);
      prepare_passing(device, units.cells, use, number, unit.a);
    }
    unit.cells = make_spatial_rows(device, units.cells, steps, units.reads, traits, number);
    unit.own = rows_on_device(device, rows.own());
    unit.read = rows_on_device(device, rows.read);
    if (inputs.graph.first_product.defined()) unit.features = rows_of(device, inputs.graph.features, unit.own);
    inputs.unit_memory.push_back(device.live_bytes() - before);
    // Each unit loads the rows that it reads of this rank's features by itself, even if other units read them too.
    const std::int64_t moved =
        plan.model.layers.front().reads_neighbours ? rows.of_rank(block.spatial.rows(device.rank())) : rows.own_count;
    inputs.unit_bytes.push_back(unit.a.bytes() +
                                static_cast<std::uint64_t>(moved) * inputs.graph.first_input().row_bytes() +
                                (inputs.graph.first_product.defined() ? unit.features.bytes() : 0));
    ++number;
  }
}

}  // namespace

MatrixUse use_by_layers(const FullBatchPlan& plan, Visit visit, bool own) {
  MatrixUse use;
  use.reads_entries = plan.model.equations->traits().reads_entries;
  use.lasting = visit == Visit::lasting;
  for (std::size_t l = 0; l < plan.model.layers.size(); ++l) {
    const LayerShape& here = plan.model.layers[l];
    if (!here.reads_neighbours) continue;
    MatrixProduct& product = use.products.emplace_back();
    product.columns = here.input_width;
    product.backward = visit != Visit::forward;
    if (!here.joins_previous || !(own || plan.model.layers[l - 1].sends_input)) continue;
    const LayerShape& before = plan.model.layers[l - 1];
    product.columns = before.spatial_width;
    product.backward = false;  // the layers before it read constants
    product.repeated = {before.input_width, here.spatial_width, here.need == TemporalNeed::weights_only};
  }
  return use;
}

std::vector<std::uint64_t> BlockInputs::bytes() const {
  if (!units.empty()) return unit_bytes;
  std::uint64_t sum = graph.bytes();
  for (const SliceInputs& slice : slices) sum += slice.graph.bytes();
  for (const std::vector<SparseMatrix>& support : supports) {
    for (const SparseMatrix& step : support) sum += step.bytes();
  }
  return {sum};
}

BlockInputs bring_inputs(Device& device, const FullBatchPlan& plan, const BlockPlan& block, Visit visit,
                         HostParts* parts) {
  const PartScope part(device, MemoryPart::graph);
  if (parts != nullptr) parts->rewind();
  BlockInputs inputs;
  const BlockSteps steps{block.first_step, plan.data.graph->steps, plan.data.trained_steps,
                         plan.data.graph->presence.get()};
  for (const SlicePlan& slice : block.slices) {
    inputs.slices.push_back(
        {build_local_graph(device, *plan.data.graph, block.first_step, slice.spatial, slice.needs,
                           use_by_layers(plan, visit, slice.halo.identity), parts),
         make_spatial_rows(device, slice.spatial, steps, slice.needs, plan.model.equations->traits())});
  }
  for (std::size_t c = 0; c < inputs.slices.size(); ++c) {
    const SlicePlan& slice = block.slices[c];
    prepare_passing(device, slice.spatial, use_by_layers(plan, visit, slice.halo.identity), inputs.slices[c].graph.a);
  }
  if (!block.slices.empty()) return inputs;
  if (block.units != nullptr && block.units->of(device.rank()).count > 0) {
    add_units(device, plan, block, visit, parts, inputs);
    inputs.cells = make_spatial_rows(device, block.spatial, steps, block.spatial_needs, plan.model.equations->traits());
    return inputs;
  }
  const MatrixUse use = use_by_layers(plan, visit, block.spatial_halo.identity);
  inputs.graph =
      build_local_graph(device, *plan.data.graph, block.first_step, block.spatial, block.spatial_needs, use, parts);
  prepare_passing(device, block.spatial, use, inputs.graph.a);
  inputs.supports = step_matrices(device, block.supports, use_by_steps(plan, visit), parts);
  inputs.cells = make_spatial_rows(device, block.spatial, steps, block.spatial_needs, plan.model.equations->traits());
  return inputs;
}

}  // namespace strobe
