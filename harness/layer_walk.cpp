#include "harness/layer_walk.hpp"

#include <algorithm>
#include <limits>

#include "models/ops.hpp"

namespace strobe {

namespace {

constexpr std::int64_t any_width = std::numeric_limits<std::int64_t>::max() / 64;

ProductWidths product_widths(const PlannedCase& plan) {
  ProductWidths widths;
  for (const LayerShape& layer : plan.layers) {
    if (!layer.reads_neighbours) continue;
    widths.least = widths.least == 0 ? layer.input_width : std::min(widths.least, layer.input_width);
    widths.most = std::max(widths.most, layer.input_width);
  }
  // Forms that serve products only would be of no use.
  if (widths.most > 0 && plan.model->reads_entries()) widths.least = widths.most = any_width;
  return widths;
}

std::int64_t narrowest_step_product(const PlannedCase& plan) {
  std::int64_t width = any_width;
  for (std::size_t l = 0; l < plan.layers.size(); ++l) {
    for (const StepProduct& product : plan.model->step_products(static_cast<int>(l), plan.graph->feature_width)) {
      width = std::min(width, product.width);
    }
  }
  return width;
}

}  // namespace

LayerWalk::LayerWalk(const PlannedCase& plan, Device& device)
    : plan_(plan),
      local_(build_local_graph(device, *plan.graph, plan.strategy.spatial, plan.spatial_needs, product_widths(plan))),
      spatial_cells_(make_cell_rows(device, plan.strategy.spatial)),
      temporal_cells_(make_cell_rows(device, plan.strategy.temporal)),
      spatial_halo_(device, plan.spatial_halo, Traffic::halo),
      to_temporal_(device, plan.to_temporal, Traffic::redistribute),
      to_spatial_(device, plan.to_spatial, Traffic::redistribute),
      products_(device, plan.supports, narrowest_step_product(plan)) {
  for (const StateHandover& layer : plan.handover) {
    auto& exchanges = handover_.emplace_back();
    for (std::size_t s = 1; s < layer.plans.size(); ++s) exchanges.emplace_back(device, layer.plans[s], Traffic::state);
  }
}

Var LayerWalk::forward(Tape& tape, Communicator& communicator, const Parameters& parameters, const Pass& pass) const {
  const Var features = Tape::constant(local_.features);
  Var x = features;
  for (std::size_t l = 0; l < plan_.layers.size(); ++l) {
    const LayerShape& layer = plan_.layers[l];
    if (layer.reads_neighbours) x = spatial_halo_.apply(tape, communicator, x);
    x = plan_.model->spatial(tape, parameters, static_cast<int>(l), {x, &local_.a, &spatial_cells_, &pass, features});
    if (layer.step_by_step) x = step_by_step(tape, communicator, parameters, pass, l, x);
    if (!walks_timelines(layer)) continue;
    x = to_temporal_.apply(tape, communicator, x);
    x = temporal(tape, communicator, parameters, pass, l, x);
    x = to_spatial_.apply(tape, communicator, x);
  }
  return x;
}

Var LayerWalk::temporal(Tape& tape, Communicator& communicator, const Parameters& parameters, const Pass& pass,
                        std::size_t layer, const Var& x) const {
  const std::vector<TemporalSegment>& segments = plan_.segments;
  std::vector<Var> parts;
  Var state;
  for (std::size_t s = 0; s < segments.size(); ++s) {
    const auto begin = static_cast<std::size_t>(segments[s].first_step);
    const std::int64_t first = temporal_cells_.step_rows[begin];
    const std::int64_t rows = temporal_cells_.step_rows[begin + static_cast<std::size_t>(segments[s].steps)] - first;
    if (s > 0) state = handover_[layer][s - 1].apply_everywhere(tape, communicator, state);
    TemporalOutput output;
    const bool want_state = s + 1 < segments.size();
    if (rows > 0) {
      TemporalInput input{slice_rows(tape, x, first, rows),
                          segments[s].steps,
                          rows / segments[s].steps,
                          segments[s].first_step,
                          state,
                          want_state,
                          &temporal_cells_,
                          &pass};
      output = plan_.model->temporal(tape, parameters, static_cast<int>(layer), input);
      parts.push_back(output.y);
    }
    // A rank without rows of this segment hands nothing on, but takes part in the exchange.
    if (want_state && rows == 0) {
      output.state = Tape::constant(tape.device().allocate(0, plan_.handover[layer].shape[s + 1].width));
    }
    state = output.state;
  }
  if (parts.size() == 1) return parts[0];
  if (parts.empty()) return Tape::constant(tape.device().allocate(0, plan_.layers[layer].temporal_width));
  return concat_rows(tape, parts);
}

Var LayerWalk::zero_state(Tape& tape, std::size_t layer) const {
  const StateShape shape = plan_.model->state(static_cast<int>(layer), 0);
  const Tensor zero = tape.device().allocate(shape.rows_per_vertex * spatial_cells_.step_rows[1], shape.width);
  tape.device().run(Fill{zero, 0.0});
  return Tape::constant(zero);
}

Var LayerWalk::step_by_step(Tape& tape, Communicator& communicator, const Parameters& parameters, const Pass& pass,
                            std::size_t layer, const Var& x) const {
  std::vector<Var> parts;
  Var state = zero_state(tape, layer);
  for (std::size_t s = 0; s < plan_.spatial_segments.size(); ++s) {
    if (s > 0) state = handover_[layer][s - 1].apply_everywhere(tape, communicator, state);
    const std::int64_t begin = plan_.spatial_segments[s].first_step;
    for (std::int64_t t = begin; t < begin + plan_.spatial_segments[s].steps; ++t) {
      const std::int64_t first = spatial_cells_.step_rows[static_cast<std::size_t>(t)];
      const std::int64_t rows = spatial_cells_.step_rows[static_cast<std::size_t>(t) + 1] - first;
      const StepProducts::AtStep neighbours(products_, communicator, t);
      const TemporalOutput output = plan_.model->step(tape, parameters, static_cast<int>(layer),
                                                      {slice_rows(tape, x, first, rows), state, &neighbours, &pass});
      parts.push_back(output.y);
      state = output.state;
    }
  }
  return concat_rows(tape, parts);
}

}  // namespace strobe
