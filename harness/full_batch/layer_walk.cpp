#include "harness/full_batch/layer_walk.hpp"

#include <algorithm>

#include "harness/full_batch/inputs/packed_timelines.hpp"
#include "models/ops/ops.hpp"

namespace strobe {
namespace {

/// A layer's input, followed by the neighbours' rows. The input of the first layer is constant on every rank. In later
/// layers all ranks take part in the backward exchange, even ranks without cells, whose rows depend on nothing.
Var with_neighbours(const Exchange& halo, Tape& tape, Communicator& communicator, int layer, const Var& x) {
  return layer == 0 ? halo.apply(tape, communicator, x) : halo.apply_everywhere(tape, communicator, x);
}

/// `remembered_steps`: the last steps whose rows a window or an attention of the next block reads.
PackedStage packed_stage(Device& device, const PackedPlan& plan, std::int64_t first_step, const LayerShape& layer,
                         bool ids, std::int64_t remembered_steps, bool last) {
  const PartScope part(device, MemoryPart::graph);
  const Placement& placement = plan.placement;
  if (layer.need == TemporalNeed::recurrent && plan.units != nullptr)
    return pad_rounds(device, placement, plan.rounds, layer.recurrent_state.rows_per_vertex, !last);
  if (layer.need == TemporalNeed::recurrent)
    return pack_rounds(device, placement, plan.rounds, layer.recurrent_state.rows_per_vertex, !last);
  const EarlierSteps steps{first_step - plan.earlier, plan.earlier};
  UnitCells units;
  if (plan.units != nullptr) units = {&plan.unit_cells, &plan.unit_needs, plan.units->of(device.rank())};
  PackedStage stage = layer.need == TemporalNeed::all
                          ? pack_pasts(device, placement, plan.needs, steps, ids, layer.spatial_width, units)
                          : window_products(device, placement, plan.needs, steps,
                                            {layer.window, layer.fades, layer.spatial_width}, units);
  for (std::int64_t t = placement.steps() - remembered_steps; !last && t < placement.steps(); ++t)
    stage.remembered_rows += placement.step_rows(device.rank(), static_cast<Step>(t));
  return stage;
}

}  // namespace

class LayerWalk::BlockStages final : public LayerStages {
 public:
  BlockStages(const LayerWalk& walk, const ModelCall& call, Communicator& communicator, const BlockInputs& inputs,
              std::vector<LayerMemory>& memory)
      : walk_(walk), call_(call), communicator_(communicator), inputs_(inputs), memory_(memory) {}

  SpatialInput spatial_input(int layer, const Var& x) override {
    const LocalGraph& graph = inputs_.graph;
    SpatialInput input{x, &graph.a, &inputs_.cells, &call_.pass, Tape::constant(graph.features)};
    if (call_.layers[layer].need == TemporalNeed::weights_only) {
      input.weights_state = memory(layer)->before;
      if (!last()) input.next_weights_state = &memory(layer)->after;
    }
    return input;
  }
  Var with_halo(int layer, const Var& x) override {
    if (StaleExchange* const stale = stale_in_training(walk_.block_.spatial_halo, layer))
      return stale->apply(call_.tape, communicator_, x, call_.pass.epoch);
    return with_neighbours(*walk_.spatial_halo_, call_.tape, communicator_, layer, x);
  }
  bool own_neighbours() const override { return walk_.spatial_halo_->identity(); }
  const std::vector<RowUnit>* units() const override { return inputs_.units.empty() ? nullptr : &inputs_.units; }
  bool reruns_units() const override { return walk_.plan_.fusion->reruns; }
  UnitMeter* unit_meter() override { return walk_.unit_meter_; }

  Timelines timelines() const override { return {&walk_.temporal_cells_, walk_.block_.segments}; }
  Var to_temporal(const Var& x) override { return walk_.to_temporal_->apply_everywhere(call_.tape, communicator_, x); }
  Var to_spatial(const Var& y) override { return walk_.to_spatial_.apply_everywhere(call_.tape, communicator_, y); }
  bool own_timelines() const override { return walk_.to_temporal_->identity(); }
  const PackedStage* packed(int layer) const override {
    return (call_.pass.training ? walk_.trained_ : walk_.packed_)[layer].get();
  }
  Var with_temporal_halo(int layer, const Var& x) override {
    const auto& halo = walk_.temporal_halo_[layer];
    return halo ? carried(*halo, walk_.block_.packed[layer]->halo, layer, x) : x;
  }
  bool brings_earlier_steps(int layer) const override { return walk_.earlier_steps_[layer].has_value(); }
  Var earlier_steps(int layer, const Var& x) override {
    const std::size_t l = layer;
    return carried(*walk_.earlier_steps_[l], *walk_.block_.earlier_steps[l], layer, x);
  }

  Timelines steps() const override { return {&inputs_.cells, walk_.block_.spatial_segments}; }
  const Neighbours& neighbours(std::int64_t step) override {
    return neighbours_.emplace(inputs_.supports, walk_.step_halos_, communicator_, static_cast<std::size_t>(step));
  }

  LayerMemory* memory(int layer) override {
    if (PreviousStates* const previous = previous_of(layer))
      memory_[layer].before = Tape::constant(previous->given(call_.tape.device()));
    return &memory_[layer];
  }
  bool last() const override { return walk_.last_; }
  void leave(int layer, const Var& state) override {
    if (PreviousStates* const previous = previous_of(layer))
      previous->hand_on(call_.tape.device(), communicator_, state->value);
  }
  Var hand_over(int layer, std::size_t segment, const Var& state) override {
    const std::size_t l = layer;
    const PackedPlan* const packed = walk_.block_.packed[l].get();
    const ExchangePlan& plan =
        packed != nullptr ? packed->handover[segment - 1] : walk_.block_.handover[l].plans[segment];
    return carried(walk_.handover_[l][segment - 1], plan, layer, state);
  }

 private:
  /// The stale exchange that replaces an exchange of `layer` in training. An evaluation reads current rows, and leaves
  /// the rows as sent last alone.
  StaleExchange* stale_in_training(const ExchangePlan& plan, int layer) const {
    return call_.pass.training ? walk_.stale_of(plan, static_cast<std::size_t>(layer)) : nullptr;
  }
  PreviousStates* previous_of(int layer) const { return call_.pass.training ? walk_.previous_[layer].get() : nullptr; }
  Var carried(const Exchange& exchange, const ExchangePlan& plan, int layer, const Var& x) {
    if (StaleExchange* const stale = stale_in_training(plan, layer))
      return stale->apply(call_.tape, communicator_, x, call_.pass.epoch);
    return exchange.apply_everywhere(call_.tape, communicator_, x);
  }

  const LayerWalk& walk_;
  const ModelCall& call_;
  Communicator& communicator_;
  const BlockInputs& inputs_;
  std::vector<LayerMemory>& memory_;
  std::optional<StepNeighbours> neighbours_;
};

class LayerWalk::SliceStages final : public LayerStages {
 public:
  SliceStages(const ModelCall& call, Communicator& communicator, const SliceInputs& inputs, const Exchange& halo)
      : call_(call), communicator_(communicator), inputs_(inputs), halo_(halo) {}

  SpatialInput spatial_input(int, const Var& x) override {
    const LocalGraph& graph = inputs_.graph;
    return {x, &graph.a, &inputs_.cells, &call_.pass, Tape::constant(graph.features)};
  }
  Var with_halo(int layer, const Var& x) override {
    return with_neighbours(halo_, call_.tape, communicator_, layer, x);
  }
  bool own_neighbours() const override { return halo_.identity(); }
  /// A slice has no timelines of its own: they are walked after the outputs of all slices have arrived.
  Timelines timelines() const override { return {&inputs_.cells, {}}; }

 private:
  const ModelCall& call_;
  Communicator& communicator_;
  const SliceInputs& inputs_;
  const Exchange& halo_;
};

LayerWalk::LayerWalk(const FullBatchPlan& plan, const BlockPlan& block, bool last, Device& device,
                     const StaleThreshold* threshold)
    : plan_(plan),
      block_(block),
      last_(last),
      temporal_cells_(make_cell_rows(
          device, block.temporal,
          {block.first_step, plan.data.graph->steps, plan.data.trained_steps, plan.data.graph->presence.get()},
          plan.model.equations->traits().reads_ids)),
      to_spatial_(device, block.to_spatial, Traffic::redistribute),
      step_halos_(step_halos(device, block.supports)) {
  if (block.slices.empty()) {
    spatial_halo_.emplace(device, block.spatial_halo, Traffic::halo);
    to_temporal_.emplace(device, block.to_temporal, Traffic::redistribute);
  }
  if (threshold != nullptr && plan.stale.active) add_stale(device, *threshold);
  for (const SlicePlan& slice : block.slices) {
    slice_halos_.emplace_back(device, slice.halo, Traffic::halo);
    slices_to_temporal_.emplace_back(device, slice.to_temporal, Traffic::redistribute);
    if (plan.model.layers.size() > 1) slices_to_spatial_.emplace_back(device, slice.to_spatial, Traffic::redistribute);
  }
  for (const StateHandover& layer : block.handover) {
    auto& exchanges = handover_.emplace_back();
    for (std::size_t s = 1; s < layer.plans.size(); ++s) exchanges.emplace_back(device, layer.plans[s], Traffic::state);
    auto& border = adopt_.emplace_back();
    if (block.first_step > 0 && !layer.plans.empty()) border.emplace(device, layer.plans[0], Traffic::state);
  }
  for (const auto& steps : block.earlier_steps) {
    auto& exchange = earlier_steps_.emplace_back();
    if (steps) exchange.emplace(device, *steps, Traffic::halo);
  }
  for (std::size_t l = 0; l < block.packed.size(); ++l) add_packed(device, l);
}

void LayerWalk::add_stale(Device& device, const StaleThreshold& threshold) {
  const double assumed = plan_.request.numerics == "none" ? threshold.policy().sent_share : 1;  // at most all
  for (const CoveredExchange& covers : covered_exchanges(plan_.model, block_)) {
    stale_.push_back({covers, std::make_unique<StaleExchange>(device, *covers.plan, covers.traffic, threshold,
                                                              StaleExchange::Input{covers.constant, assumed})});
  }
}

StaleExchange* LayerWalk::stale_of(const ExchangePlan& plan, std::size_t layer) const {
  for (const StaleCarrier& carrier : stale_) {
    if (carrier.covers.plan == &plan && carrier.covers.layer == layer) return carrier.exchange.get();
  }
  return nullptr;
}

void LayerWalk::add_packed(Device& device, std::size_t layer) {
  auto& halo = temporal_halo_.emplace_back();
  previous_.emplace_back();
  packed_.push_back(stage_of(device, block_.packed, packed_, layer));
  trained_.push_back(block_.trains_at_once(layer) ? stage_of(device, block_.trained, trained_, layer) : packed_[layer]);
  if (block_.packed[layer] == nullptr) return;
  const PackedPlan& plan = *block_.packed[layer];
  for (const ExchangePlan& handover : plan.handover) handover_[layer].emplace_back(device, handover, Traffic::state);
  if (plan.rounds.empty() && !plan.halo.identity) halo.emplace(device, plan.halo, Traffic::halo);
  if (const PackedPlan& trained = *block_.trained[layer]; block_.trains_at_once(layer) && !trained.handover.empty())
    previous_[layer] = std::make_unique<PreviousStates>(device, trained.handover[0], trained.state.width);
}

std::shared_ptr<const PackedStage> LayerWalk::stage_of(Device& device,
                                                       const std::vector<std::shared_ptr<const PackedPlan>>& plans,
                                                       const std::vector<std::shared_ptr<const PackedStage>>& stages,
                                                       std::size_t layer) const {
  if (plans[layer] == nullptr) return nullptr;
  for (std::size_t l = 0; l < layer; ++l) {
    if (plans[l] == plans[layer]) return stages[l];
  }
  const LayerShape& shape = plan_.model.layers[layer];
  const std::int64_t behind = block_.first_step + block_.steps();
  return std::make_shared<const PackedStage>(packed_stage(device, *plans[layer], block_.first_step, shape,
                                                          plan_.model.equations->traits().reads_ids,
                                                          state_shape(shape, behind).rows_per_vertex, last_));
}

Tensor LayerWalk::adopt(Device& device, Communicator& communicator, std::size_t layer, const Tensor& state) const {
  const auto& exchange = adopt_[layer];
  if (exchange && !exchange->identity()) {
    Tape tape(device, false);
    return exchange->apply_everywhere(tape, communicator, Tape::constant(state))->value;
  }
  // A view would keep the whole block alive.
  const Tensor copy = device.allocate(state.rows(), state.columns(), state.type());
  device.run(CopyRows{state, copy, {}, {}, state.rows(), 0, 0, state.columns(), false});
  return copy;
}

Tensor LayerWalk::return_gradient(Device& device, Communicator& communicator, std::size_t layer,
                                  const Tensor& gradient) const {
  const auto& exchange = adopt_[layer];
  return exchange ? exchange->return_gradient(device, communicator, gradient) : gradient;
}

Var LayerWalk::forward(Tape& tape, Communicator& communicator, const Parameters& parameters, const Pass& pass,
                       const BlockInputs& inputs, std::vector<LayerMemory>& memory) const {
  const Range range(pass.ranges, "forward");
  const ModelCall call{tape, *plan_.model.equations, plan_.model.layers, parameters, pass};
  BlockStages stages(*this, call, communicator, inputs, memory);
  if (unit_meter_ != nullptr) unit_meter_->begin_pass(block_.first_step, inputs.unit_memory);
  if (!inputs.slices.empty()) return in_slices(call, communicator, inputs, stages);
  return walk_layers(call, stages, Tape::constant(inputs.graph.first_input()));
}

Var LayerWalk::in_slices(const ModelCall& call, Communicator& communicator, const BlockInputs& inputs,
                         BlockStages& stages) const {
  std::vector<SliceStages> slices;
  for (std::size_t c = 0; c < inputs.slices.size(); ++c) {
    slices.emplace_back(call, communicator, inputs.slices[c], slice_halos_[c]);
  }
  std::optional<SplittingExchange> to_spatial;  // from the previous temporal stage
  std::size_t first = 0, layer = 0;
  const auto spatial = [&](std::size_t c) {
    Var x = to_spatial ? to_spatial->finish(c) : Tape::constant(inputs.slices[c].graph.first_input());
    layer = spatial_stages(call, slices[c], first, x);
    return x;
  };
  while (std::any_of(call.layers.begin() + static_cast<std::ptrdiff_t>(first), call.layers.end(), walks_timelines)) {
    JoiningExchange to_temporal(slices_to_temporal_, call.tape, communicator);
    for (std::size_t c = 0; c < slices.size(); ++c) to_temporal.start(c, spatial(c));
    const Var y = temporal_stage(call, stages, layer, to_temporal.finish());
    if (layer + 1 == call.layers.size()) return stages.to_spatial(y);
    to_spatial.emplace(slices_to_spatial_, call.tape, communicator, y);
    first = layer + 1;
  }
  std::vector<Var> parts;
  for (std::size_t c = 0; c < slices.size(); ++c) parts.push_back(spatial(c));
  return concat_rows(call.tape, parts);
}

}  // namespace strobe
