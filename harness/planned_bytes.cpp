// The bytes that a plan will send in one epoch: the sum over its exchanges, forward and backward (decisions E3, E22 for
// what is counted). The runner fails a case whose communicator counts others.
#include "harness/planned_case.hpp"

namespace strobe {
namespace {

/// Values that all ranks send in one forward pass of a layer that goes step by step, for its products.
std::uint64_t step_bytes(const PlannedCase& plan, int layer) {
  std::uint64_t values = 0;
  for (const StepProduct& product : plan.model->step_products(layer, plan.graph->feature_width)) {
    for (const StepSupport& step : plan.supports.at(static_cast<std::size_t>(product.support))) {
      values += static_cast<std::uint64_t>(step.halo.total_rows() * product.width);
    }
  }
  return values;
}

}  // namespace

void count_planned_bytes(PlannedCase& plan) {
  const std::uint64_t element = plan.fp64 ? 8 : 4;
  const auto ranks = static_cast<std::uint64_t>(plan.ranks());
  const auto bytes = [&](const ExchangePlan& exchange, std::int64_t width) {
    return static_cast<std::uint64_t>(exchange.total_rows()) * static_cast<std::uint64_t>(width) * element;
  };
  auto& planned = plan.planned_bytes;
  auto& redistributed = planned[static_cast<std::size_t>(Traffic::redistribute)];
  auto& halos = planned[static_cast<std::size_t>(Traffic::halo)];
  auto& states = planned[static_cast<std::size_t>(Traffic::state)];
  for (std::size_t l = 0; l < plan.layers.size(); ++l) {
    const LayerShape& layer = plan.layers[l];
    if (layer.reads_neighbours) halos += bytes(plan.spatial_halo, layer.input_width) * (l == 0 ? 1 : 2);
    states += 2 * 2 * (ranks - 1) * element *
              static_cast<std::uint64_t>(plan.model->summed_elements(static_cast<int>(l), plan.graph->steps));
    const SelectionSums selection = plan.model->selection_sums(layer, plan.graph->steps, plan.ranks());
    states += 2 * (ranks - 1) * element * static_cast<std::uint64_t>(selection.constants + 2 * selection.values);
    for (std::size_t s = 1; s < plan.handover[l].plans.size(); ++s) {
      states += 2 * bytes(plan.handover[l].plans[s], plan.handover[l].shape[s].width);
    }
    if (layer.step_by_step) halos += 2 * step_bytes(plan, static_cast<int>(l)) * element;
    if (!walks_timelines(layer)) continue;
    redistributed += 2 * (bytes(plan.to_temporal, layer.spatial_width) + bytes(plan.to_spatial, layer.temporal_width));
  }
  halos += 2 * bytes(plan.train.halo, plan.layers.back().temporal_width);
  planned[static_cast<std::size_t>(Traffic::gradient)] =
      2 * (ranks - 1) * static_cast<std::uint64_t>(plan.parameter_count) * element;
  planned[static_cast<std::size_t>(Traffic::other)] = 2 * (ranks - 1) * sizeof(double);  // the loss
}

}  // namespace strobe
