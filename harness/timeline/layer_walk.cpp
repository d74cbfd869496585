#include "harness/timeline/layer_walk.hpp"

#include "models/ops/ops.hpp"

namespace strobe {

struct LayerWalk::Walk {
  Tape& tape;
  Communicator& communicator;
  const Parameters& parameters;
  const Pass& pass;
  const BlockInputs& inputs;
};

LayerWalk::LayerWalk(const FullBatchPlan& plan, const BlockPlan& block, bool last, Device& device)
    : plan_(plan),
      block_(block),
      last_(last),
      temporal_cells_(make_cell_rows(device, block.temporal,
                                     {block.first_step, plan.data.graph->steps, plan.data.trained_steps},
                                     plan.model.equations->reads_ids())),
      to_spatial_(device, block.to_spatial, Traffic::redistribute),
      step_halos_(step_halos(device, block.supports)) {
  if (block.slices.empty()) {
    spatial_halo_.emplace(device, block.spatial_halo, Traffic::halo);
    to_temporal_.emplace(device, block.to_temporal, Traffic::redistribute);
  }
  for (const SlicePlan& slice : block.slices) {
    slice_halos_.emplace_back(device, slice.halo, Traffic::halo);
    slices_to_temporal_.emplace_back(device, slice.to_temporal, Traffic::redistribute);
    if (plan.model.layers.size() > 1) slices_to_spatial_.emplace_back(device, slice.to_spatial, Traffic::redistribute);
  }
  for (const StateHandover& layer : block.handover) {
    auto& exchanges = handover_.emplace_back();
    for (std::size_t s = 1; s < layer.plans.size(); ++s) exchanges.emplace_back(device, layer.plans[s], Traffic::state);
    auto& border = take_over_.emplace_back();
    if (block.first_step > 0 && !layer.plans.empty()) border.emplace(device, layer.plans[0], Traffic::state);
  }
}

Tensor LayerWalk::take_over(Device& device, Communicator& communicator, std::size_t layer, const Tensor& state) const {
  const auto& exchange = take_over_[layer];
  if (exchange && !exchange->identity()) {
    Tape tape(device, false);
    return exchange->apply_everywhere(tape, communicator, Tape::constant(state))->value;
  }
  // A view would keep the whole block alive that it is a part of.
  const Tensor copy = device.allocate(state.rows(), state.columns(), state.type());
  device.run(CopyRows{state, copy, {}, {}, state.rows(), 0, 0, state.columns(), false});
  return copy;
}

Tensor LayerWalk::give_back(Device& device, Communicator& communicator, std::size_t layer,
                            const Tensor& gradient) const {
  const auto& exchange = take_over_[layer];
  return exchange ? exchange->give_back(device, communicator, gradient) : gradient;
}

Var LayerWalk::forward(Tape& tape, Communicator& communicator, const Parameters& parameters, const Pass& pass,
                       const BlockInputs& inputs, std::vector<LayerMemory>& memory) const {
  const Walk walk{tape, communicator, parameters, pass, inputs};
  if (!inputs.slices.empty()) return in_slices(walk, memory);
  Var x = Tape::constant(inputs.graph.first_input());
  for (std::size_t l = 0; l < plan_.model.layers.size(); ++l) {
    if (plan_.model.layers[l].reads_neighbours) x = spatial_halo_->apply(tape, communicator, x);
    const SpatialInput input = spatial_input(walk, l, x, memory);
    if (const JointOutput joint = whole_layers(walk, l, input); joint.y) {
      x = joint.y;
      l += static_cast<std::size_t>(joint.layers) - 1;
      continue;
    }
    if (repeated_by_next(l, *spatial_halo_)) {
      const SpatialInput second = spatial_input(walk, l + 1, nullptr, memory);
      x = plan_.model.equations->two_spatial(tape, parameters, static_cast<int>(l), input, second);
      ++l;
    } else {
      x = plan_.model.equations->spatial(tape, parameters, static_cast<int>(l), input);
    }
    const LayerShape& layer = plan_.model.layers[l];
    if (layer.step_by_step) x = step_by_step(walk, l, x, memory[l]);
    if (!walks_timelines(layer)) continue;
    x = to_temporal_->apply(tape, communicator, x);
    x = temporal(walk, l, x, memory[l]);
    x = to_spatial_.apply(tape, communicator, x);
  }
  return x;
}

SpatialInput LayerWalk::spatial_input(const Walk& walk, std::size_t layer, const Var& x,
                                      std::vector<LayerMemory>& memory) const {
  const LocalGraph& graph = walk.inputs.graph;
  SpatialInput input{x, &graph.a, &walk.inputs.cells, &walk.pass, Tape::constant(graph.features)};
  if (plan_.model.layers[layer].need == TemporalNeed::weights_only) {
    input.weights_state = memory[layer].before;
    if (!last_) input.next_weights_state = &memory[layer].after;
  }
  return input;
}

bool LayerWalk::repeated_by_next(std::size_t layer, const Exchange& halo) const {
  return layer + 1 < plan_.model.layers.size() && plan_.model.layers[layer + 1].repeats_input && halo.identity();
}

JointOutput LayerWalk::whole_layers(const Walk& walk, std::size_t layer, const SpatialInput& input) const {
  const bool whole_timelines = walks_timelines(plan_.model.layers[layer]) && to_temporal_->identity() &&
                               block_.segments.size() == 1 && block_.first_step == 0 && last_;
  if (!whole_timelines || input.cells->step_rows.back() == 0) return {};
  return plan_.model.equations->whole_layers(walk.tape, walk.parameters, static_cast<int>(layer), input);
}

Var LayerWalk::spatial_of_slice(const Walk& walk, std::size_t first_layer, std::size_t last_layer, std::size_t slice,
                                Var x) const {
  const SliceInputs& inputs = walk.inputs.slices[slice];
  const Var features = Tape::constant(inputs.graph.features);
  if (first_layer == 0) x = Tape::constant(inputs.graph.first_input());
  for (std::size_t l = first_layer; l <= last_layer; ++l) {
    if (plan_.model.layers[l].reads_neighbours) x = slice_halos_[slice].apply(walk.tape, walk.communicator, x);
    const SpatialInput input{x, &inputs.graph.a, &inputs.cells, &walk.pass, features};
    const int layer = static_cast<int>(l);
    if (repeated_by_next(l, slice_halos_[slice])) {
      const SpatialInput second{nullptr, input.a, input.cells, input.pass, features};
      x = plan_.model.equations->two_spatial(walk.tape, walk.parameters, layer, input, second);
      ++l;
    } else {
      x = plan_.model.equations->spatial(walk.tape, walk.parameters, layer, input);
    }
  }
  return x;
}

Var LayerWalk::last_stages(const Walk& walk, std::size_t first_layer, SplittingExchange& to_spatial) const {
  std::vector<Var> parts;
  for (std::size_t c = 0; c < slices_to_spatial_.size(); ++c) {
    parts.push_back(spatial_of_slice(walk, first_layer, plan_.model.layers.size() - 1, c, to_spatial.finish(c)));
  }
  return concat_rows(walk.tape, parts);
}

Var LayerWalk::in_slices(const Walk& walk, std::vector<LayerMemory>& memory) const {
  std::optional<SplittingExchange> to_spatial;
  for (std::size_t first = 0;;) {
    std::size_t last = first;  // the layer of the next temporal stage
    while (last < plan_.model.layers.size() && !walks_timelines(plan_.model.layers[last])) ++last;
    if (last == plan_.model.layers.size()) return last_stages(walk, first, *to_spatial);
    JoiningExchange to_temporal(slices_to_temporal_, walk.tape, walk.communicator);
    for (std::size_t c = 0; c < slices_to_temporal_.size(); ++c) {
      to_temporal.start(c, spatial_of_slice(walk, first, last, c, to_spatial ? to_spatial->finish(c) : nullptr));
    }
    const Var y = temporal(walk, last, to_temporal.finish(), memory[last]);
    if (last + 1 == plan_.model.layers.size()) return to_spatial_.apply(walk.tape, walk.communicator, y);
    to_spatial.emplace(slices_to_spatial_, walk.tape, walk.communicator, y);
    first = last + 1;
  }
}

Var LayerWalk::temporal(const Walk& walk, std::size_t layer, const Var& x, LayerMemory& memory) const {
  const std::vector<TemporalSegment>& segments = block_.segments;
  std::vector<Var> parts;
  Var state = memory.before;
  for (std::size_t s = 0; s < segments.size(); ++s) {
    const auto begin = static_cast<std::size_t>(segments[s].first_step);
    const std::int64_t first = temporal_cells_.step_rows[begin];
    const std::int64_t rows = temporal_cells_.step_rows[begin + static_cast<std::size_t>(segments[s].steps)] - first;
    if (s > 0) state = handover_[layer][s - 1].apply_everywhere(walk.tape, walk.communicator, state);
    TemporalOutput output;
    const bool want_state = s + 1 < segments.size() || !last_;
    if (rows > 0) {
      TemporalInput input{slice_rows(walk.tape, x, first, rows),
                          segments[s].steps,
                          rows / segments[s].steps,
                          block_.first_step + segments[s].first_step,
                          state,
                          want_state,
                          &temporal_cells_,
                          &walk.pass};
      output = plan_.model.equations->temporal(walk.tape, walk.parameters, static_cast<int>(layer), input);
      parts.push_back(output.y);
    }
    // A rank without rows of this segment hands nothing on, but takes part in the exchange.
    if (want_state && rows == 0) {
      output.state = Tape::constant(walk.tape.device().allocate(0, block_.handover[layer].shape[s + 1].width));
    }
    state = output.state;
  }
  memory.after = state;
  if (parts.size() == 1) return parts[0];
  if (parts.empty()) return Tape::constant(walk.tape.device().allocate(0, plan_.model.layers[layer].temporal_width));
  return concat_rows(walk.tape, parts);
}

Var LayerWalk::zero_state(Tape& tape, const CellRows& cells, std::size_t layer) const {
  const StateShape shape = plan_.model.equations->state(static_cast<int>(layer), 0);
  const Tensor zero = tape.device().allocate(shape.rows_per_vertex * cells.step_rows[1], shape.width);
  tape.device().run(Fill{zero, 0.0});
  return Tape::constant(zero);
}

Var LayerWalk::step_by_step(const Walk& walk, std::size_t layer, const Var& x, LayerMemory& memory) const {
  std::vector<Var> parts;
  const CellRows& cells = walk.inputs.cells;
  const bool has_state = remembers(plan_.model.layers[layer].need);
  Var state = memory.before || !has_state ? memory.before : zero_state(walk.tape, cells, layer);
  for (std::size_t s = 0; s < block_.spatial_segments.size(); ++s) {
    if (s > 0 && has_state) state = handover_[layer][s - 1].apply_everywhere(walk.tape, walk.communicator, state);
    const std::int64_t begin = block_.spatial_segments[s].first_step;
    for (std::int64_t t = begin; t < begin + block_.spatial_segments[s].steps; ++t) {
      const auto step = static_cast<std::size_t>(t);
      const std::int64_t first = cells.step_rows[step], rows = cells.step_rows[step + 1] - first;
      const StepNeighbours neighbours(walk.inputs.supports, step_halos_, walk.communicator, step);
      const TemporalOutput output =
          plan_.model.equations->step(walk.tape, walk.parameters, static_cast<int>(layer),
                                      {slice_rows(walk.tape, x, first, rows), state, &neighbours, &walk.pass});
      parts.push_back(output.y);
      state = output.state;
    }
  }
  memory.after = last_ ? nullptr : state;
  return concat_rows(walk.tape, parts);
}

}  // namespace strobe
