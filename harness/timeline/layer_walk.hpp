// The forward pass of one rank over one block of steps: per layer spatial stage, exchange, temporal stage, exchange. It
// knows neither the equations nor the links.
#pragma once

#include <optional>
#include <vector>

#include "harness/exchange/overlapped_exchange.hpp"
#include "harness/timeline/block_inputs.hpp"

namespace strobe {

/// What one layer remembers where a block begins and where it ends: temporal state on its owners at that step, evolving
/// weights on every rank. Null where there is nothing to remember, and in front of the first step.
struct LayerMemory {
  Var before, after;
};

/// What stays on a rank from pass to pass for one block: its exchanges.
class LayerWalk {
 public:
  /// `last` says that no block follows, so that nothing is remembered behind this one.
  LayerWalk(const FullBatchPlan& plan, const BlockPlan& block, bool last, Device& device);

  /// Embeddings of this rank's cells of the block [own rows, F], from what `memory` [layers] remembers in front of it;
  /// fills in what is remembered behind it. All ranks must call it.
  Var forward(Tape& tape, Communicator& communicator, const Parameters& parameters, const Pass& pass,
              const BlockInputs& inputs, std::vector<LayerMemory>& memory) const;

  /// Brings what layer `layer` remembered behind the block before to the ranks that begin this one, as a tensor of its
  /// own; and the gradient of that back again. All ranks must call them.
  Tensor take_over(Device& device, Communicator& communicator, std::size_t layer, const Tensor& state) const;
  Tensor give_back(Device& device, Communicator& communicator, std::size_t layer, const Tensor& gradient) const;

 private:
  struct Walk;  // what one forward pass hands around
  Var in_slices(const Walk& walk, std::vector<LayerMemory>& memory) const;
  /// Spatial stages from `first_layer` on that no temporal stage follows.
  Var last_stages(const Walk& walk, std::size_t first_layer, SplittingExchange& to_spatial) const;
  Var spatial_of_slice(const Walk& walk, std::size_t first_layer, std::size_t last_layer, std::size_t slice,
                       Var x) const;
  SpatialInput spatial_input(const Walk& walk, std::size_t layer, const Var& x, std::vector<LayerMemory>& memory) const;
  /// Whether the layer behind `layer` computes it again, every neighbour being an own row.
  bool repeated_by_next(std::size_t layer, const Exchange& halo) const;
  /// Layers from `layer` on in the model's joint form, where nothing lies between its stages; none otherwise.
  JointOutput whole_layers(const Walk& walk, std::size_t layer, const SpatialInput& input) const;
  Var temporal(const Walk& walk, std::size_t layer, const Var& x, LayerMemory& memory) const;
  Var step_by_step(const Walk& walk, std::size_t layer, const Var& x, LayerMemory& memory) const;
  Var zero_state(Tape& tape, const CellRows& cells, std::size_t layer) const;

  const FullBatchPlan& plan_;
  const BlockPlan& block_;
  bool last_;
  CellRows temporal_cells_;
  std::optional<Exchange> spatial_halo_, to_temporal_;  // of the block in one piece
  Exchange to_spatial_;
  SliceExchanges slice_halos_, slices_to_temporal_, slices_to_spatial_;  // [slices]
  std::vector<std::vector<Exchange>> handover_;                          // [layers][segments - 1]
  std::vector<std::optional<Exchange>> take_over_;  // [layers]; for what crosses ranks between blocks
  StepHalos step_halos_;
};

}  // namespace strobe
